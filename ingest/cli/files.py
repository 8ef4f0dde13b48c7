"""Files that commands write: never over another one unasked, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.reports.html import Source
    from ingest.store.connection import Target

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write it as a page to this file."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse early what `write_file` could not do.

    Raises:
        IngestError: there is a file already, or no folder for it.
    """
    if path.exists() and not force:
        raise IngestError(f"{path} is there already; --force overwrites it")
    if not path.parent.is_dir():
        raise IngestError(f"{path} cannot be written (no folder {path.parent})")


def write_file(path: Path, text: str) -> None:
    """Put ``text`` into ``path`` as a whole, and say so.

    Raises:
        IngestError: it cannot be written.
    """
    # What a link leads to, not the link; a device takes no file in its place.
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise IngestError(f"{path} cannot be written ({error.strerror})") from error
    typer.echo(f"wrote {path}")


def _replace(path: Path, text: str) -> None:
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(path.stat().st_mode if path.exists() else 0o666 & ~mask)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def source_of(
    target: Target, query: str, given: Mapping[str, str], dump: int
) -> Source:
    """What a page says of where an answer came from."""
    from ingest.queries.library import find
    from ingest.reports.html import Source
    from ingest.store.connection import browser_link

    found = find(query)
    cypher = found.with_values(found.bind(given, dump))
    known = target.browser_url is not None
    link = browser_link(target, "edit", cypher) if known else None
    return Source(query, cypher, link)
