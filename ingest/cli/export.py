"""``export``: a dump as files for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DumpFile,
    FoldObjects,
    HashTypes,
    Layout,
    MaxMemory,
    Own,
    Part,
    Redact,
    Strength,
    Strict,
    memory_limit,
    own_types,
    redaction_of,
)
from ingest.heap.read_options import Fold, ReadOptions, StrengthPolicy
from ingest.tables.export_format import ExportFormat
from ingest.text import printable


def export(
    dump: DumpFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")],
    kind: Annotated[
        ExportFormat,
        typer.Option(
            "--for",
            help="neo4j-admin: what imports it into a server of yours; "
            "parquet, csv-raw: tables for DuckDB, pandas, Spark; csv: the same for "
            "spreadsheets, with ' before text that they would compute.",
        ),
    ] = ExportFormat.PARQUET,
    name: Annotated[
        str | None, typer.Option(help="What to call the dump (neo4j-admin only).")
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Write into a folder with files, and read a compressed DUMP however "
            "much its content expands.",
        ),
    ] = False,
    strict: Strict = False,
    fold: FoldObjects = Fold.AUTO,
    part: Part = None,
    own: Own = None,
    strength: Strength = StrengthPolicy.STRONGEST,
    layout: Layout = None,
    redact: Redact = False,
    hash_types: HashTypes = None,
    max_memory: MaxMemory = None,
    as_json: AsJson = False,
) -> None:
    """Write a dump as tables, or as input of neo4j-admin. Needs no server.

    A README.md in DIR describes the columns, or has the import command.
    """
    from ingest import __version__
    from ingest.heap.identity import Identity
    from ingest.pipeline import measure
    from ingest.receipt import free_name, source_name
    from ingest.settings import settings
    from ingest.tables.export import ABOUT
    from ingest.tables.export import export as write
    from ingest.tables.heap_tables import HeapTables

    options = ReadOptions(
        strict, fold, part, own_types(own), strength, layout,
        redaction_of(redact, hash_types), memory_limit(max_memory), force,
    )  # fmt: skip
    with Bars() as progress:
        graph, metrics, sha256 = measure(dump, options, progress)
        files = write(
            HeapTables(graph, metrics, options.own),
            folder,
            kind,
            version=settings().neo4j_version,
            about={
                "name": name or free_name(dump, options),
                "source": source_name(dump, options),
                **asdict(Identity.of(sha256, graph.part)),
                "tool_version": __version__,
            },
            force=force,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "bytes": files}, indent=2))
        return
    typer.echo(f"{len(files)} files in {printable(str(folder))}")
    what = "how to import them" if kind is ExportFormat.NEO4J_ADMIN else "their columns"
    typer.echo(f"{what}: {printable(str(folder / ABOUT))}")
