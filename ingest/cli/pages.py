"""Pages that commands write: complete, and replaced only with --force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.files import output_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.reports.html import QuerySource
    from ingest.server.target import Target

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write an HTML page to this file."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def write_file(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, replacing an existing file, and report it.

    Raises:
        IngestError: it cannot be written.
    """
    with output_file(path, force=True, private=False) as file:
        file.write(text.encode())
    typer.echo(f"wrote {path}")


def source_of(
    target: Target, query: str, given: Mapping[str, str], dump: int
) -> QuerySource:
    """Describe the query of an answer, with a link to Neo4j Browser."""
    from ingest.queries.library import find
    from ingest.reports.html import QuerySource
    from ingest.server.target import browser_link

    found = find(query)
    cypher = found.with_values(found.bind(given, dump))
    known = target.browser_url is not None
    link = browser_link(target, "edit", cypher) if known else None
    return QuerySource(query, cypher, link)
