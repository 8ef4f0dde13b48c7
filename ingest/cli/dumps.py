"""``load``, ``list``, ``drop``: the dumps of a database."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AllDumps,
    AsJson,
    Connection,
    DumpFiles,
    LoadedDump,
    Reading,
)
from ingest.database.writing import Via
from ingest.errors import DumpError, UnknownDump
from ingest.system import interrupts
from ingest.words.command_line import command
from ingest.words.text import counted, human_bytes, human_seconds, local_time, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.database.loading import Loader, Receipt
    from ingest.tables.heap_tables import HeapTables


LONGEST_NAME = 200


def load(
    *,
    dumps: DumpFiles,
    name: Annotated[
        str | None, typer.Option(help="Name of the dump (one DUMP only).")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Load a loaded dump again, or replace the dump of that name.",
        ),
    ] = False,
    via: Annotated[
        Via,
        typer.Option(
            help="bolt writes to the running server; bulk imports into a new store "
            "(embedded server only); auto selects the faster one."
        ),
    ] = Via.AUTO,
    all_dumps: AllDumps = False,
    reading: Reading,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Load heap dumps into Neo4j.

    A dump that is already loaded is not loaded again (exit 0).
    Exit 3: not a readable dump. Exit 6, 7: the server. Exit 8: the embedded server.
    """
    if name is not None:
        _check_name(name, dumps)
    options = reading.options()
    if all_dumps and options.part is not None:
        raise typer.BadParameter("use only one of --all-dumps and --part")
    from ingest.database.loading import Loader
    from ingest.readers import probe
    from ingest.readers.digests import Digests

    for dump in dumps:
        probe(dump)  # before a server is started for a file that is no dump
    receipts: list[Receipt] = []
    failed: list[DumpError] = []
    try:
        with (
            interrupts.leaving("nothing more was loaded"),
            Bars() as progress,
            Digests(() if replace else dumps) as digests,
            connection.open(progress, for_dumps=False) as store,
        ):
            loader = Loader(
                store,
                via=via,
                name=name,
                replace=replace,
                options=options,
                digests=digests,
                progress=progress,
                analysed=partial(_write_suspects, progress, as_json=as_json),
            )
            for dump, found in _loaded(loader, dumps, all_parts=all_dumps):
                progress.close()
                if isinstance(found, DumpError):
                    failed.append(found)
                    continue
                receipts.append(found)
                if not as_json:
                    write_receipt(dump, found)
        if not as_json:
            _write_next(receipts, all_dumps=all_dumps)
    finally:
        # Dumps that have been loaded are reported, even if a later one failed.
        if as_json and (receipts or sys.exc_info()[0] is None):
            typer.echo(json.dumps([asdict(receipt) for receipt in receipts], indent=2))
    if failed:
        for early in failed[:-1]:
            typer.echo(f"error: {printable(str(early))}", err=True)
        raise failed[-1]


def _check_name(name: str, dumps: Sequence[str]) -> None:
    if len(dumps) > 1:
        raise typer.BadParameter("--name needs exactly one DUMP")
    if not name.strip():
        raise typer.BadParameter("--name must not be empty")
    if len(name) > LONGEST_NAME:
        raise typer.BadParameter(f"--name is limited to {LONGEST_NAME} characters")


def _write_suspects(
    progress: Bars, dump: str, tables: HeapTables, *, as_json: bool
) -> None:
    """Write what the analysis found, while the graph is still to be written."""
    from ingest.reports.summary import first_answer

    if not as_json:
        answer = first_answer(dump, tables.graph, tables.metrics, tables.findings)
        progress.close()
        typer.echo(answer)
        sys.stdout.flush()


def _loaded(
    loader: Loader, dumps: Iterable[str], *, all_parts: bool
) -> Iterator[tuple[str, Receipt | DumpError]]:
    """Load one file after another.

    Raises:
        DumpError: a file cannot be read; if only one of its parts cannot, that error
            is an outcome like the others.
    """
    for dump in dumps:
        for found in loader.load_all(dump) if all_parts else (loader.load(dump),):
            yield dump, found


def write_receipt(dump: str, receipt: Receipt) -> None:
    """Say what was loaded, what was left out of it and why, and what to do next."""
    name = printable(receipt.name)
    if receipt.renamed_from is not None:
        before = printable(receipt.renamed_from)
        typer.echo(f"{printable(dump)} is already loaded; its new name is {name}")
        typer.echo(f"  its old name was {before}; --replace loads it again")
    elif not receipt.loaded:
        typer.echo(
            f"{printable(dump)} is already loaded as {name}; --replace loads it again"
        )
    else:
        typer.echo(
            f"{name}: {counted(receipt.object_count, 'objects')}, "
            f"{counted(receipt.reference_count, 'references')}, "
            f"{human_bytes(receipt.shallow_bytes)}, "
            f"loaded in {human_seconds(receipt.seconds)}"
        )
    if receipt.incomplete:
        typer.echo(f"  it is incomplete: {receipt.incomplete}")
    for replaced in receipt.replaced:
        if replaced != receipt.name:
            typer.echo(f"  it replaces {printable(replaced)}, the same dump")
    if receipt.folded_count:
        typer.echo(
            f"  left out: {counted(receipt.folded_count, 'objects')} of the runtime "
            "itself "
            f"({human_bytes(receipt.folded_bytes)}); --fold none loads them"
        )
    if receipt.linked:
        names = printable(", ".join(receipt.linked))
        typer.echo(f"  of one process with {names}, by its ids: objects are linked")
    elif receipt.not_linked:
        typer.echo(
            "  its objects are not looked for in other dumps: nothing shows that ids "
            "are of one numbering (V8 begins anew once an inspector has disconnected)"
        )
    for kind, count in receipt.warnings.items():
        hint = "; --all-dumps loads each" if kind == "other_heap_dump" else ""
        typer.echo(f"  warning: {kind.replace('_', ' ')}: {count:,}{hint}", err=True)


def _write_next(receipts: Sequence[Receipt], *, all_dumps: bool) -> None:
    """Suggest the next command, for the dump that was loaded last."""
    if not receipts:
        return
    last = receipts[-1]
    if all_dumps and last.left_out:
        typer.echo(
            f"of process {printable(last.process)} only; the file has dumps of "
            f"{printable(', '.join(last.left_out))} too: --part N loads one of them",
            err=True,
        )
    typer.echo(f"next: {command('report', dump=last.name)}")


def list_(
    *,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """List the loaded dumps, the newest first."""
    from ingest.database.dump_list import NO_DUMP, objects_to_remove
    from ingest.queries.answer import Answer
    from ingest.reports.render import write_table

    found: list[dict[str, Any]] = []
    left = 0
    with (
        suppress(UnknownDump),
        Bars() as progress,
        connection.open(progress) as store,
    ):
        found = [asdict(dump) for dump in store.dumps()]
        left = objects_to_remove(store.database)
    if left:
        typer.echo(
            f"a dropped dump is being removed: {counted(left, 'objects')} left",
            err=True,
        )
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    if not found:
        typer.echo(NO_DUMP)
        return
    shown = ["name", "number", "object_count", "shallow_bytes"]
    heads = ["name", "number", "objects", "size"]
    if any(dump["part"] is not None for dump in found):
        shown.append("part")
        heads.append("part")
    if any(dump["incomplete"] for dump in found):
        shown.append("incomplete")
        heads.append("incomplete")
    rows = tuple(
        (
            *(
                human_bytes(dump[column]) if column.endswith("_bytes") else dump[column]
                for column in shown
            ),
            local_time(dump["loaded_at"]),
        )
        for dump in found
    )
    write_table(Answer((*heads, "loaded"), rows))


def drop(
    *,
    name: LoadedDump,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Drop a loaded dump. Exit 9: no such dump."""
    with (
        Bars() as progress,
        connection.open(progress) as store,
    ):
        found = store.drop(name, progress)
    if as_json:
        typer.echo(json.dumps({"dropped": found.name, "number": found.number}))
    else:
        typer.echo(f"dropped {printable(found.name)}")
