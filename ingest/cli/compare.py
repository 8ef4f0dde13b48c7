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
    usage_errors,
)
from ingest.compare.dimensions import Dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.api.calls import Compared


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
    from ingest.api.calls import compared

    with (
        Bars() as progress,
        keepers_of(connection, progress) as keepers,
        usage_errors(),
    ):
        found = compared(dumps, reading.given(), progress, keepers)
    if output.html is not None:
        text = found.page(by or (), top)
    else:
        chosen = ComparisonFormat.JSON if output.as_json else form
        text = _text(found, by or (), top, chosen)
    output.write(text)


def _text(
    found: Compared, by: Sequence[Dimension], top: int, form: ComparisonFormat
) -> str:
    if form is ComparisonFormat.JSON:
        return json.dumps(found.facts(by), indent=2) + "\n"
    if form is ComparisonFormat.JSONL:
        return "".join(json.dumps(row) + "\n" for row in found.rows(by))
    if form is ComparisonFormat.MARKDOWN:
        return found.markdown(by, top)
    return found.text(by, top)
