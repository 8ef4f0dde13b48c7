"""``fleet load``, ``fleet graph``: dumps of a fleet, or all of it, in Neo4j."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from dataclasses import replace as replace_fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    Connection,
)
from ingest.database.writing import Via
from ingest.heap.read_options import ReadOptions
from ingest.system import interrupts
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.database.loading import Loader, Receipt

FleetDir = Annotated[Path, typer.Argument(metavar="DIR", help="The fleet's folder.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options that choose dumps of a fleet."""

    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DUMP...]",
            help="Dumps, by address, file name or id.",
            show_default=False,
        ),
    ] = None
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="A condition on the columns of dumps, such as \"version = '2.3'\".",
        ),
    ] = None
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of dumps.")] = 10

    def chosen(self, folder: Path) -> Sequence[Mapping[str, object]]:
        """Rows of ``dumps``, one for each that is chosen.

        Raises:
            BadParameter: none is named, or there are more than the limit.
            UnknownDump: there is none.
        """
        from ingest.errors import UnknownDump
        from ingest.fleet.questions import Fleet

        if not self.names and self.where is None:
            raise typer.BadParameter("name dumps, or choose some with --where")
        found = Fleet(folder).choose(self.names or (), self.where)
        if not found:
            raise UnknownDump(f"no complete dump of the fleet matches {self.where}")
        if len(found) > self.limit:
            raise typer.BadParameter(
                f"{len(found):,} dumps are chosen; --limit {len(found)} loads them all"
            )
        return found


def load(
    *,
    folder: FleetDir,
    choice: Choice,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Load dumps again that are already loaded."),
    ] = False,
    read: Annotated[
        bool,
        typer.Option(
            "--read",
            help="Read the file of a dump if the fleet does not have all its tables.",
        ),
    ] = False,
    via: Annotated[
        Via, typer.Option(help="How to write them, as with ingest load.")
    ] = Via.AUTO,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Load dumps of a fleet into Neo4j without reading their files.

    That needs all their tables, as ingest fleet add --table all keeps them.
    Exit 5: the condition is wrong. Exit 9: there is no such dump.
    """
    from ingest.cli.dumps import write_receipt
    from ingest.database.loading import Loader
    from ingest.fleet.stored import FleetTables, are_kept, require_all
    from ingest.fleet.workplace import FleetFolder

    chosen = choice.chosen(folder)
    fleet = FleetFolder(folder)
    dumps = []
    for about in chosen:
        if not read:
            require_all(about)
        dumps.append(FleetTables(fleet, about) if are_kept(about) else None)
    receipts = []
    with (
        interrupts.leaving("nothing more was loaded"),
        Bars() as progress,
        connection.open(progress, for_dumps=False) as store,
    ):
        loader = Loader(store, via=via, replace=replace, progress=progress)
        for about, tables in zip(chosen, dumps, strict=True):
            source = cast("str", about["source"])
            if tables is None:
                receipt = _load_file(loader, about)
            else:
                receipt = loader.load_tables(tables, tables.identity, source)
            progress.close()
            receipts.append(receipt)
            if not as_json:
                write_receipt(source, receipt)
    if as_json:
        typer.echo(json.dumps([asdict(receipt) for receipt in receipts], indent=2))
    else:
        typer.echo(f"next: {command('report', dump=receipts[-1].name)}")


def _load_file(loader: Loader, about: Mapping[str, object]) -> Receipt:
    """Load a dump of a fleet from its file, local or remote."""
    from ingest.errors import DumpError
    from ingest.fleet.sources import FleetSource, local_copy

    source = FleetSource(
        cast("str", about["source"]),
        cast("int", about["source_bytes"]),
        cast("str", about["source_version"]),
    )
    part = cast("int | None", about["part"])
    loader = replace_fields(loader, options=ReadOptions(part=part))
    try:
        with (
            TemporaryDirectory(prefix="ingest-") as folder,
            local_copy(source, Path(folder)) as path,
        ):
            return loader.load(str(path))
    except OSError as error:
        raise DumpError(f"{source.address}: cannot be read ({error})") from error


def graph(
    *,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="The fleet's folder.", show_default=False),
    ] = None,
    program: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this program's dumps.")
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Remove the graphs of all fleets instead.")
    ] = False,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Write the fleet itself into Neo4j: dumps, versions, leaks, types.

    After an interrupted run, repeat the command: nothing is written twice. To list
    the queries for it: ingest queries fleet.
    """
    from ingest.database.fleet_graph import drop_fleet_graph, write_fleet_graph
    from ingest.fleet.questions import Fleet, FleetGraphRows
    from ingest.words.text import counted, human_seconds

    if (folder is None) is not drop:
        raise typer.BadParameter("name the fleet's folder, or --drop, not both")
    fleet = None if folder is None else Fleet(folder, program)
    if fleet is not None:
        fleet.rule()  # fails, before a server is started, if it cannot be written
    begun = time.monotonic()
    with (
        Bars() as progress,
        connection.open(progress, for_dumps=drop) as store,
    ):
        if fleet is None:
            removed = drop_fleet_graph(store.database, progress)
        else:
            counts = write_fleet_graph(store.database, FleetGraphRows(fleet), progress)
    if fleet is None:
        typer.echo(
            json.dumps({"removed": removed})
            if as_json
            else f"removed {counted(removed, 'nodes')}"
        )
    elif as_json:
        typer.echo(json.dumps(asdict(counts), indent=2))
    else:
        nodes = ", ".join(
            counted(counts.nodes.get(label, 0), what) for label, what in _COUNTED
        )
        seconds = human_seconds(time.monotonic() - begun)
        related = sum(counts.relationships.values())
        links = counted(related, "relationships")
        typer.echo(f"{nodes}\n{links}, written in {seconds}")
        typer.echo(f"next: {command('query', 'fleet-leaks')}")


_COUNTED = (
    ("FleetDump", "dumps"),
    ("Program", "programs"),
    ("Version", "versions"),
    ("Host", "hosts"),
    ("Fingerprint", "leaks"),
    ("FleetType", "types"),
)
