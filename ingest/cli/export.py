"""``export``: a dump as files for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AsJson, DumpFile, Reading
from ingest.tables.export_format import ExportFormat
from ingest.words.text import counted, printable


def export(
    *,
    dump: DumpFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")],
    kind: Annotated[
        ExportFormat,
        typer.Option(
            "--for",
            help="neo4j-admin: files to import into your own server; "
            "parquet, csv-raw: tables for DuckDB, pandas, Spark; csv: the same for "
            "spreadsheets, with ' before text that they would read as a formula.",
        ),
    ] = ExportFormat.PARQUET,
    name: Annotated[
        str | None, typer.Option(help="What to call the dump (neo4j-admin only).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder with files.")
    ] = False,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write a dump as tables, or as input of neo4j-admin. No server is needed.

    DIR/README.md describes the columns, or has the import command.
    """
    from ingest.api.calls import export as write
    from ingest.tables.export import ABOUT

    with Bars() as progress:
        files = write(
            dump,
            folder,
            kind=kind,
            name=name,
            force=force,
            progress=progress,
            **reading.given(),
        )
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "bytes": dict(files)}, indent=2))
        return
    typer.echo(f"{counted(len(files), 'files')} in {printable(str(folder))}")
    what = "how to import them" if kind is ExportFormat.NEO4J_ADMIN else "their columns"
    typer.echo(f"{what}: {printable(str(folder / ABOUT))}")
