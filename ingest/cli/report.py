"""``report``: the leak report of a dump."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnsweredFrom,
    Connection,
    DumpName,
    InFile,
    Output,
    Reading,
    asked_dump,
)
from ingest.errors import IngestError


class ReportFormat(StrEnum):
    """How the report is written."""

    TEXT = "text"
    MARKDOWN = "markdown"


def report(
    *,
    dump: DumpName = None,
    in_file: InFile = None,
    source: AnsweredFrom = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Output format.")
    ] = ReportFormat.TEXT,
    output: Output,
    reading: Reading,
    connection: Connection,
) -> None:
    """Write the leak report of a dump.

    Totals, suspects with root paths, histogram, garbage. Each section names its
    query. --html writes a self-contained page with the dominator tree to explore, and
    tables to sort and filter. With --in, the report comes from a file, and no server is
    started; without, --redact refuses a dump that was not loaded with it.
    """
    output.check()
    from ingest.api.shown import Report

    # For a loaded dump, --redact only requires that it has no values.
    options = reading if in_file else replace(reading, redact=False)
    with (
        Bars() as progress,
        asked_dump(
            dump, in_file, options, connection, progress, _import_answers, source
        ) as asked,
    ):
        if reading.redact and not asked.is_redacted:
            raise IngestError(
                f"{asked.about.dump} was loaded with its values; load its file again "
                "with --redact, and report on that dump"
            )
        found = Report(asked)
        if output.html is not None:
            text = found.page()
        elif output.as_json:
            text = json.dumps(found.facts(), indent=2) + "\n"
        else:
            text = str(found) if form is ReportFormat.TEXT else found.markdown()
    output.write(text)


def _import_answers() -> None:
    """Import what the first answers need, while a new server plans its first query."""
    import ingest.answers.stored
    import ingest.reports.leaks  # noqa: F401
