"""``compare``: what changed between dumps, and what grew."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnyDumps,
    Connection,
    Output,
    Reading,
    keepers_of,
)
from ingest.compare.dimensions import Dimension
from ingest.errors import DumpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.changes import Comparison


class ComparisonFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    JSONL = "jsonl"


def compare(
    *,
    dumps: AnyDumps,
    by: Annotated[
        list[Dimension] | None,
        typer.Option("--by", help="What to compare. May be repeated. Default: all."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=1, max=10000, help="Maximum number of entries in each section."
        ),
    ] = 10,
    form: Annotated[
        ComparisonFormat,
        typer.Option("--format", "-f", help="JSON and JSONL contain all changes."),
    ] = ComparisonFormat.TEXT,
    output: Output,
    reading: Reading,
    connection: Connection,
) -> None:
    """Compare dumps of a program: what is new, gone or grown.

    Types, namespaces, dominator paths, root paths and suspects are matched by names and
    fingerprints, so that addresses do not matter. With three or more dumps, it also
    shows what grew in every one. Files and exports need no server.
    """
    output.check()
    from ingest.compare.changes import compare as compute
    from ingest.compare.dumps import with_objects_at_the_ends
    from ingest.dumps import Opener

    with Bars() as progress, keepers_of(connection, progress) as keepers:
        opener = Opener(
            options=reading.options(),
            keepers=keepers,
            origins=len(dumps) == 1,
            progress=progress,
        )
        found = with_objects_at_the_ends(opener.open_all(dumps))
        if len(found) < 2:
            raise DumpError(
                "one dump cannot be compared; name a second one",
                path=dumps[0],
            )
    chosen = list(dict.fromkeys(by or Dimension))
    comparison = compute(found)
    if output.html is not None:
        from ingest.reports.comparison_page import comparison_page

        text = comparison_page(comparison, chosen, top)
    else:
        text = _text(
            comparison, chosen, top, ComparisonFormat.JSON if output.as_json else form
        )
    output.write(text)


def _text(
    comparison: Comparison, by: Sequence[Dimension], top: int, form: ComparisonFormat
) -> str:
    from ingest.reports import comparison as written

    if form is ComparisonFormat.JSON:
        return json.dumps(written.as_json(comparison, by), indent=2) + "\n"
    if form is ComparisonFormat.JSONL:
        rows = written.as_rows(comparison, by)
        return "".join(json.dumps(row) + "\n" for row in rows)
    if form is ComparisonFormat.MARKDOWN:
        return written.as_markdown(comparison, by, top)
    return written.as_text(comparison, by, top)
