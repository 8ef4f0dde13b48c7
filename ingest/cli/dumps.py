"""``load``, ``list``, ``drop``: the dumps of a database."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AllDumps,
    AsJson,
    Collection,
    DatabaseName,
    DumpFiles,
    DumpIndex,
    FoldObjects,
    LoadedDump,
    Password,
    Strict,
    Uri,
    Username,
    open_database,
    open_store,
)
from ingest.database.via import Via
from ingest.errors import DumpError
from ingest.readers.base import Fold, ReadOptions
from ingest.readers.source import STDIN
from ingest.text import printable

if TYPE_CHECKING:
    from ingest.pipeline import Receipt


LONGEST_NAME = 200


def load(
    dumps: DumpFiles,
    name: Annotated[
        str | None, typer.Option(help="What to call the dump (one DUMP only).")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Load again what is there under that name."),
    ] = False,
    via: Annotated[
        Via,
        typer.Option(
            help="bolt writes into the running server, bulk makes a new store "
            "(only the tool's own server); auto takes what is faster."
        ),
    ] = Via.AUTO,
    strict: Strict = False,
    fold: FoldObjects = Fold.AUTO,
    gc: Collection = None,
    dump_index: DumpIndex = None,
    all_dumps: AllDumps = False,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Load heap dumps into Neo4j.

    The same file twice is one dump: the second time nothing happens, exit 0.
    Exit 3: not a dump that we read. Exit 6, 7: the server. Exit 8: our own server.
    """
    if name is not None and len(dumps) > 1:
        raise typer.BadParameter("--name goes with one DUMP")
    if name is not None and not name.strip():
        raise typer.BadParameter("--name must not be empty")
    if name is not None and len(name) > LONGEST_NAME:
        raise typer.BadParameter(f"--name takes at most {LONGEST_NAME} characters")
    if all_dumps and (gc, dump_index) != (None, None):
        raise typer.BadParameter("--all-dumps takes all, --gc and --dump-index one")
    if all_dumps and STDIN in dumps:
        raise typer.BadParameter("--all-dumps reads a file more than once; not from -")
    from ingest.pipeline import every_part
    from ingest.pipeline import load as load_one
    from ingest.readers import probe

    for dump in dumps:
        probe(dump)  # before a server is started for something that is no dump
    receipts: list[Receipt] = []
    failed: list[DumpError] = []
    with (
        Bars() as progress,
        open_store(uri, username, password, database, progress) as (opened, server),
    ):
        chosen = ReadOptions(strict, fold, gc, dump_index)
        is_part = all_dumps or (gc, dump_index) != (None, None)
        wanted = [
            (dump, options)
            for dump in dumps
            for options in (
                every_part(dump, chosen, progress) if all_dumps else [chosen]
            )
        ]
        for dump, options in wanted:
            try:
                receipt = load_one(
                    dump,
                    opened,
                    server=server,
                    via=via,
                    name=name,
                    tell_part=is_part,
                    replace=replace,
                    options=options,
                    progress=progress,
                )
            except DumpError as error:
                if not all_dumps:
                    raise
                failed.append(error)
                continue
            finally:
                progress.close()
            receipts.append(receipt)
            if not as_json:
                _tell(dump, receipt)
    if as_json:
        typer.echo(json.dumps([asdict(receipt) for receipt in receipts], indent=2))
    if failed:
        for early in failed[:-1]:
            typer.echo(f"error: {printable(str(early))}", err=True)
        raise failed[-1]


def _tell(dump: str, receipt: Receipt) -> None:
    if not receipt.loaded:
        typer.echo(
            f"{printable(dump)} is loaded already, as {printable(receipt.name)}; "
            "--replace loads it again"
        )
        return
    typer.echo(
        f"{printable(receipt.name)}: {receipt.object_count:,} objects, "
        f"{receipt.reference_count:,} references"
    )
    for kind, count in receipt.warnings.items():
        hint = "; --all-dumps loads each" if kind == "other_heap_dump" else ""
        typer.echo(f"  warning: {kind.replace('_', ' ')}: {count:,}{hint}", err=True)


def list_(
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """List the loaded dumps, the newest first."""
    from ingest.database.dumps import list_dumps
    from ingest.queries.answer import Answer
    from ingest.reports.render import write_table

    with (
        Bars() as progress,
        open_database(uri, username, password, database, progress) as opened,
    ):
        found = [asdict(dump) for dump in list_dumps(opened)]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    if not found:
        typer.echo("no dump is loaded; load one: ingest load DUMP")
        return
    shown = ("name", "number", "object_count", "reference_count", "shallow_bytes")
    rows = tuple(
        (*(dump[column] for column in shown), str(dump["loaded_at"])[:16])
        for dump in found
    )
    heads = ("name", "number", "objects", "references", "bytes", "loaded")
    write_table(Answer(heads, rows))


def drop(
    name: LoadedDump,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Drop a loaded dump. Exit 9: there is none of that name."""
    from ingest.pipeline import drop as drop_one

    with (
        Bars() as progress,
        open_store(uri, username, password, database, progress) as (opened, server),
    ):
        found = drop_one(name, opened, server=server, progress=progress)
    if as_json:
        typer.echo(json.dumps({"dropped": found.name, "number": found.number}))
    else:
        typer.echo(f"dropped {printable(found.name)}")
