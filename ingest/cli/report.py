"""``report``: the leak report of a dump."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DatabaseName,
    DumpName,
    Password,
    Uri,
    Username,
    open_database,
)
from ingest.errors import IngestError, UnknownDump


class ReportFormat(StrEnum):
    """How the report is written."""

    TEXT = "text"
    MARKDOWN = "markdown"


def report(
    dump: DumpName = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="How to write it.")
    ] = ReportFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Write the leak report: numbers, suspects with their paths, histogram, garbage.

    Each part names the query that made it.
    """
    from ingest.queries.library import find
    from ingest.reports.leaks import QUERIES, as_markdown, as_text
    from ingest.store.ask import ask
    from ingest.store.dumps import find_dump

    if output is not None and output.exists() and not force:
        raise IngestError(f"{output} is there already; --force overwrites it")
    if output is not None and not output.parent.is_dir():
        raise IngestError(f"{output} cannot be written (no folder {output.parent})")
    with (
        Bars() as progress,
        open_database(uri, username, password, database, progress) as opened,
    ):
        number = find_dump(opened, dump).number
        answers = {}
        for done, (name, given) in enumerate(QUERIES.items()):
            progress("ask", done, len(QUERIES))
            answers[name] = ask(opened, find(name), given, number)
        if not answers["dump"].rows:
            raise UnknownDump("the dump has just been dropped or replaced")
    if as_json:
        told = {name: answer.dicts() for name, answer in answers.items()}
        text = json.dumps(told, indent=2) + "\n"
    else:
        text = as_text(answers) if form is ReportFormat.TEXT else as_markdown(answers)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise IngestError(f"{output} cannot be written ({error.strerror})") from error
    typer.echo(f"wrote {output}")
