"""``fleet load``: dumps of a fleet into Neo4j."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import typer

from ingest import interrupts
from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DatabaseName,
    Password,
    Uri,
    Username,
    open_store,
)
from ingest.database.via import Via
from ingest.text import printable

FleetDir = Annotated[Path, typer.Argument(metavar="DIR", help="The fleet's folder.")]


def load(
    folder: FleetDir,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DUMP...]",
            help="Dumps: their addresses, names of their files, or ids.",
            show_default=False,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="A condition on the columns of dumps, such as \"version = '2.3'\".",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Dumps at most.")] = 10,
    replace: Annotated[
        bool, typer.Option("--replace", help="Load again what is loaded.")
    ] = False,
    via: Annotated[
        Via, typer.Option(help="How to write them, as with ingest load.")
    ] = Via.AUTO,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Load dumps of a fleet into Neo4j without reading their files.

    The fleet needs all their tables: ingest fleet add --table all.
    Exit 5: the condition is wrong. Exit 9: there is no such dump.
    """
    from ingest.cli.dumps import write_receipt
    from ingest.errors import UnknownDump
    from ingest.fleet.questions import Fleet
    from ingest.fleet.stored import FleetTables
    from ingest.fleet.workplace import FleetFolder
    from ingest.pipeline import Loader

    if not names and where is None:
        raise typer.BadParameter("name dumps, or choose some with --where")
    chosen = Fleet(folder).choose(names or (), where)
    if not chosen:
        raise UnknownDump(f"no complete dump of the fleet fits {where}")
    if len(chosen) > limit:
        raise typer.BadParameter(
            f"{len(chosen):,} dumps are chosen; --limit {len(chosen)} loads them all"
        )
    fleet = FleetFolder(folder)
    dumps = [FleetTables(fleet, about) for about in chosen]
    receipts = []
    with (
        interrupts.leaving("this dump is not loaded"),
        Bars() as progress,
        open_store(uri, username, password, database, progress, for_dumps=False) as (
            opened,
            server,
        ),
    ):
        loader = Loader(
            opened, server=server, via=via, replace=replace, progress=progress
        )
        for about, tables in zip(chosen, dumps, strict=True):
            source = cast("str", about["source"])
            receipt = loader.load_tables(tables, tables.identity, source)
            progress.close()
            receipts.append(receipt)
            if not as_json:
                write_receipt(source, receipt)
    if as_json:
        typer.echo(json.dumps([asdict(receipt) for receipt in receipts], indent=2))
    else:
        name = shlex.quote(printable(receipts[-1].name))
        typer.echo(f"next: ingest report --dump {name}")
