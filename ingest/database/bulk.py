"""Writing a dump in bulk: a new store is made beside the running server, then swapped.

``neo4j-admin database import full`` can fill only a new store. So all loaded dumps are
imported again with the new one, from their stored tables, and the graphs of fleets with
them, read from the old store. The old store answers queries until the server is stopped
and started on the new one::

    tables -> import files -> import into data-* -> swap: stop, start on data-*,
    counts checked, indexes made, `store` names data-* -> old data folder removed

Nobody waits until indexes are populated. Dropping the only dump makes a new store, too:
that takes seconds, however large the dump was.

If the load is killed at any point, the next start uses either the old store or the
complete new one. A new store would lose everything else, such as nodes that a user has
added: if the server counts anything but dumps and fleets, no bulk load is possible.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, cast

import filelock

from ingest.database.claims import WrittenDump, is_left_over
from ingest.database.connection import connect
from ingest.database.dump_list import dump_nodes
from ingest.database.fleet_graph import read_fleet_graph
from ingest.database.importer import end_importers, started_import
from ingest.database.indexes import listed, make_all
from ingest.database.links import link_next, told_by_ids
from ingest.errors import Conflict, EmbeddedError, StoreError
from ingest.server.artifacts import disk_error
from ingest.server.embedded import target_of
from ingest.system import interrupts
from ingest.system.files import file_lock, remove_aside
from ingest.system.memory import beside
from ingest.tables.field_values import PREFIX, property_name
from ingest.tables.fleet_graph import FLEET_LABELS, FLEET_RELATIONSHIPS
from ingest.tables.import_files import DumpToImport, write_import_files
from ingest.tables.mapping import Counts, entity_estimate
from ingest.tables.object_tables import FIELD_VALUES
from ingest.tables.parquet import StoredDumps, write_tables
from ingest.tables.schema import (
    LABELS,
    LINKS,
    MOST,
    NEXT,
    RELATIONSHIPS,
    SIZES,
    constraint_statements,
    index_statements,
)
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from ingest.database.claims import NewDump
    from ingest.database.connection import Database
    from ingest.database.dump_list import DumpNode
    from ingest.database.importer import StartedImport
    from ingest.progress import Progress
    from ingest.server.embedded import EmbeddedServer
    from ingest.server.target import Endpoint
    from ingest.tables.mapping import DumpTables
    from ingest.tables.parquet import StoredTables

_DISK_BYTES = 100
"""Bytes on disk for each node or relationship while a store is made; measured: 71."""

_LEAST_DISK_BYTES = 50
"""Bytes on disk for each node or relationship in the smallest store of a dump."""

_START_US, _BULK_US, _BOLT_US = 8e6, 1.05, 30.0
"""Microseconds that a bulk load takes at least, then those for each node or
relationship in bulk and over Bolt, on two cores. Bulk was measured with 0.2, one and
ten million objects (9.1, 12.8 and 64 s). Over Bolt a server that has run for long takes
10, and one just started 18 to 28. Loaded dumps are imported again, and count."""

LEAST_ENTITIES = 700_000
"""A dump with fewer nodes and relationships is never worth a new store."""

_CLEANING_S = 10.0
"""Time for a process to remove what an interrupted load has left."""


def stored_dumps(server: EmbeddedServer) -> StoredDumps:
    """The tables beside a server's store."""
    return StoredDumps(server.home / "dumps")


def whole_tables(
    server: EmbeddedServer | None, number: int, sha256: str
) -> StoredTables | None:
    """The tables of a dump beside a server, if they are stored and whole."""
    found = server and stored_dumps(server).find(number, sha256)
    return None if not found or found.fault() else found


def _server_of(database: Database) -> EmbeddedServer:
    assert database.server is not None
    return database.server


def count(database: Database) -> Counts:
    """Nodes and relationships of a database, from its own counters.

    Nodes without a label are counted under an empty one. `SIZES`, `MOST`, `LINKS` and
    `NEXT` follow from the rest, and are not counted.
    """
    data = _counters(database)
    nodes = {
        cast("str", entry.get("label", "")): cast("int", entry["count"])
        for entry in data["nodes"]
    }
    for name in (MOST, *dict(SIZES)):  # labels of nodes that have another one
        nodes.pop(name, None)
    nodes[""] = 2 * nodes[""] - sum(nodes.values())  # nodes without a label
    related = {
        cast("str", entry["relationshipType"]): cast("int", entry["count"])
        for entry in data["relationships"]
        if "relationshipType" in entry and not entry.keys() & {"startLabel", "endLabel"}
    }
    for link in (*LINKS, NEXT):
        related.pop(link.name, None)
    return Counts() + Counts(nodes, related)


def _counters(database: Database) -> dict[str, list[dict[str, object]]]:
    _, rows = database.read("CALL db.stats.retrieve('GRAPH COUNTS')", {})
    return cast("dict[str, list[dict[str, object]]]", rows[0][1])


def _of_fleets(database: Database) -> Counts:
    """Nodes and relationships of the graphs of fleets."""
    data = _counters(database)
    labels = {entry.name for entry in FLEET_LABELS}
    nodes = {
        str(entry["label"]): cast("int", entry["count"])
        for entry in data["nodes"]
        if entry.get("label") in labels
    }
    ends = {entry.name: (entry.start, entry.end) for entry in FLEET_RELATIONSHIPS}
    related: dict[str, list[int]] = {name: [0, 0] for name in ends}
    for entry in data["relationships"]:
        name = str(entry.get("relationshipType"))
        for at, label in enumerate(("startLabel", "endLabel")):
            if name in ends and entry.get(label) == ends[name][at]:
                related[name][at] = cast("int", entry["count"])
    return Counts() + Counts(nodes, {name: min(two) for name, two in related.items()})


def check_disk(server: EmbeddedServer, entities: int) -> None:
    """Refuse a load at once that would fill the disk after minutes.

    Args:
        server: The server that gets the dump.
        entities: About how many nodes and relationships the dump has.

    Raises:
        EmbeddedError: the disk has less space than the smallest store takes.
    """
    free, least = shutil.disk_usage(server.home).free, entities * _LEAST_DISK_BYTES
    if free < least:
        raise EmbeddedError(
            f"the disk of {server.home} is too full for this dump, which needs more "
            f"than {human_bytes(least)}, and {human_bytes(free)} are free: free some "
            "space, or set INGEST_HOME to a folder on another disk"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bulk load of one more dump would be.

    Attributes:
        obstacle: Why it is not possible; ``None`` if it is.
        is_faster: Whether it is estimated to be faster than Bolt.
        entity_count: About how many nodes and relationships the new store has.
    """

    obstacle: str | None
    is_faster: bool = False
    entity_count: int = 0


def plan(database: Database, entities: int, replaced: Container[int] = ()) -> Plan:
    """Estimate a bulk load into the present store.

    Args:
        database: The database of the embedded server.
        entities: About how many nodes and relationships the new dump has.
        replaced: Numbers of dumps that will be removed.
    """
    server, present = _server_of(database), dump_nodes(database)
    if any(dump.state != "ready" and not is_left_over(dump) for dump in present):
        return Plan("another load or drop is in progress")
    if obstacle := _would_be_lost(database, present):
        return Plan(obstacle)
    stored, carried = stored_dumps(server), entities + _of_fleets(database).total
    for dump in present:
        tables = stored.find(dump.number, dump.identity.sha256)
        is_carried = dump.number not in replaced and not is_left_over(dump)
        if tables is not None and is_carried:
            carried += tables.counts().total
    free, needed = shutil.disk_usage(server.home).free, carried * _DISK_BYTES
    if free < needed:
        return Plan(
            f"it needs {human_bytes(needed)} on the disk, and {human_bytes(free)} are "
            "free"
        )
    is_faster = _START_US + carried * _BULK_US < entities * _BOLT_US
    return Plan(None, is_faster, carried)


def _would_be_lost(database: Database, present: Sequence[DumpNode]) -> str | None:
    """What a new store would lose; ``None`` if nothing.

    Any part of a dump that is being dropped may still be there.
    """
    stored, expected = stored_dumps(_server_of(database)), _of_fleets(database)
    most = expected
    for dump in present:
        tables = stored.find(dump.number, dump.identity.sha256)
        name = dump.properties["name"]
        if tables is None and is_left_over(dump):
            most += Counts({"Dump": 1})  # nothing is written before they are stored
            continue
        if tables is None:
            return f"the tables of {name!r} are not stored"
        if fault := tables.fault():
            return (
                f"the stored tables of {name!r} are not whole ({fault}); load it again "
                "with --replace"
            )
        most += tables.counts()
        if not is_left_over(dump):
            expected += tables.counts()
    if not expected <= count(database) <= most:
        return "the database holds more than dumps and fleets, which would be lost"
    known = {column.name for entry in LABELS for column in entry.properties}
    known |= {column.name for entry in RELATIONSHIPS for column in entry.properties}
    of_fleets = (*FLEET_LABELS, *FLEET_RELATIONSHIPS)
    known |= {column.name for entry in of_fleets for column in entry.properties}
    _, rows = database.read("CALL db.propertyKeys()", {})
    others = {str(row[0]) for row in rows} - known
    if fields := [name for name in others if name.startswith(PREFIX)]:
        # Names that dropped dumps had stay known, though no node has them.
        others.difference_update(fields)
        others |= _in_use(database, {*fields} - _of_fields(stored, present))
    if others:
        named = ", ".join(sorted(others)[:3])
        return f"somebody has added properties ({named})"
    return None


def _of_fields(stored: StoredDumps, present: Sequence[DumpNode]) -> set[str]:
    """The properties that dumps have for values of fields."""
    found = set[str]()
    for dump in present:
        if (tables := stored.find(dump.number, dump.identity.sha256)) is not None:
            fields = tables.lazy(FIELD_VALUES.name).select("field").unique()
            found.update(map(property_name, fields.collect()["field"].to_list()))
    return found


def _in_use(database: Database, names: set[str]) -> set[str]:
    """Those properties that a node or relationship has; all of them are read."""
    found = set[str]()
    for pattern in ("(x)", "()-[x]->()") if names else ():
        text = f"MATCH {pattern} UNWIND $names AS name WITH * WHERE x[name] IS NOT NULL"
        _, rows = database.read(f"{text} RETURN DISTINCT name", {"names": [*names]})
        found |= {str(row[0]) for row in rows}
    return found


def is_all(database: Database, number: int) -> bool:
    """Whether the embedded server's store has nothing but this ready dump."""
    present = dump_nodes(database)
    return (
        [(dump.number, dump.state) for dump in present] == [(number, "ready")]
        and not _of_fleets(database).total
        and _would_be_lost(database, present) is None
    )


def start_over(database: Database, progress: Progress) -> None:
    """Swap in an empty store, which takes less time than to delete a large dump.

    Call it within `exclusive`, once this process has unpublished the only dump.

    Raises:
        EmbeddedError: it does not start; the old store is unchanged.
    """
    server = _server_of(database)
    indexes, constraints = _of_user(database)
    data, old = server.files.new_data(), server.files.data
    data.mkdir()
    stored = stored_dumps(server)
    listed = stored.listed()  # no other load can begin

    def finish(endpoint: Endpoint) -> None:
        with connect(target_of(endpoint)) as fresh:
            make_all(fresh, indexes, constraints)

    try:
        server.swap(data, finish, progress)
    except Exception:
        if server.files.data != data:
            shutil.rmtree(data, ignore_errors=True)
        raise
    stored.prune(listed, [])
    remove_aside(old)


@contextmanager
def exclusive(server: EmbeddedServer) -> Iterator[None]:
    """Hold the right to load in bulk, with the remains of earlier loads removed.

    Raises:
        StoreError: another process has it.
    """
    lock = file_lock(server.home / "bulk.lock")
    try:
        lock.acquire(timeout=_CLEANING_S)
    except filelock.Timeout as error:
        raise StoreError("another bulk load is in progress; wait for it") from error
    try:
        end_importers(server.home)
        for folder in [*server.home.glob("bulk-*/"), *server.files.stale_data()]:
            shutil.rmtree(folder, ignore_errors=True)
        yield
    finally:
        lock.release()


@contextmanager
def storing(
    server: EmbeddedServer, tables: DumpTables, progress: Progress
) -> Iterator[Callable[[int, str], StoredTables]]:
    """Store the tables of a dump while the block runs, which gives it its number.

    Args:
        server: The server; the tables are stored beside its store.
        tables: The dump.
        progress: Receives how far this is, once the block waits for it.

    Yields:
        A function that waits until the tables are stored, and puts them in their place
        under the dump's number and digest. It raises `EmbeddedError` if the disk is
        full.

    Raises:
        EmbeddedError: the disk is full, or soon would be.
    """
    check_disk(server, entity_estimate(tables))
    stored, stopped, awaited = stored_dumps(server), Event(), Event()

    def report(stage: str, done: int, total: int | None) -> None:
        if stopped.is_set():
            raise _Stopped
        if awaited.is_set():
            progress(stage, done, total)

    with ExitStack() as stack:
        with _on_disk_of(server):
            folder = stack.enter_context(stored.staged())
        written = stack.enter_context(
            beside(lambda: write_tables(folder, tables, report))
        )

        def put(number: int, sha256: str) -> StoredTables:
            awaited.set()
            with _on_disk_of(server):
                written()
                return stored.put(folder, number, sha256)

        stack.callback(stopped.set)  # before the other thread is waited for
        yield put


class _Stopped(Exception):
    """The tables that are being stored are not needed any more."""


@contextmanager
def _on_disk_of(server: EmbeddedServer) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise disk_error(error, server.home) from error


def prune(database: Database) -> None:
    """Remove the stored tables of dumps that no longer exist."""
    if database.server is None:
        return
    stored = stored_dumps(database.server)
    listed = stored.listed()
    stored.prune(listed, _stored(dump_nodes(database)))


def _stored(dumps: Iterable[DumpNode]) -> list[tuple[int, str]]:
    return [(dump.number, dump.identity.sha256) for dump in dumps]


@dataclass(frozen=True, slots=True)
class NewStore:
    """A store that is being made.

    Attributes:
        work: Folder of its input.
        data: Its data folder.
        importer: Neo4j's import, which waits for its input.
    """

    work: Path
    data: Path
    importer: StartedImport


@dataclass(frozen=True, slots=True)
class _OldStore:
    """What the present store contains.

    Attributes:
        counts: Counts of everything.
        dumps: By number.
        of_fleets: Counts of the graphs of fleets.
        indexes, constraints: Statements that make the user's own, by name.
    """

    counts: Counts
    dumps: list[DumpNode]
    of_fleets: Counts
    indexes: dict[str, str]
    constraints: dict[str, str]


class BulkWriter:
    """Makes a new store with all dumps, fleets and the new dump, and swaps it in."""

    is_exclusive = True

    def __init__(self, database: Database, progress: Progress) -> None:
        self._database = database
        self._server = _server_of(database)
        self._progress = progress
        self._new: NewStore | None = None
        self._there: _OldStore | None = None

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Begin to make a new store, so that Java starts while its input is made.

        Raises:
            StoreError: another process loads in bulk.
            EmbeddedError: no Java or Neo4j is available, or the disk is full.
        """
        server = self._server
        with exclusive(server), _on_disk_of(server):
            data = server.files.new_data()
            work = server.home / data.name.replace("data", "bulk", 1)
            try:
                work.mkdir()
                with started_import(server, work, data, self._progress) as importer:
                    self._new = NewStore(work, data, importer)
                    yield
            except Exception:  # slow, so after Ctrl-C the cleaner does it
                shutil.rmtree(work, ignore_errors=True)
                if server.files.data != data:
                    shutil.rmtree(data, ignore_errors=True)
                raise

    def look(self) -> None:
        """Look up what the database contains, the claimed dump included."""
        database = self._database
        self._there = _OldStore(
            count(database),
            sorted(dump_nodes(database), key=lambda node: node.number),
            _of_fleets(database),
            *_of_user(database),
        )

    def write(self, dump: NewDump) -> WrittenDump:
        """Write a claimed dump whose tables are stored; call it within `ready`.

        Raises:
            StoreError: the database was changed during the load, or the new store is
                incomplete; the old one is unchanged.
            EmbeddedError: the import or a start failed, or the disk is full; likewise.
        """
        database, server, progress = self._database, self._server, self._progress
        new, number, name = self._new, dump.number, dump.place.name
        there = self._there
        assert new is not None
        assert there is not None
        present = [
            node
            for node in there.dumps
            if node.number not in dump.place.numbers and not is_left_over(node)
        ]
        if name in {node.properties["name"] for node in present}:
            if dump.place.is_exact:
                raise Conflict(f"another dump has been named {name!r}")
            name = f"{name}-{number}"
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        ready = dump.properties | {"name": name, "state": "ready", "loaded_at": now}
        ready |= dict.fromkeys(("loader", "heartbeat", "exclusive"))
        stored, dumps, expected = stored_dumps(server), [], there.of_fleets
        fleet = read_fleet_graph(database) if expected.total else None
        for node in present:
            tables = _whole(stored, node)
            values = node.properties | (ready if node.number == number else {})
            dumps.append(DumpToImport(node.number, values, tables))
            expected += tables.counts()
        old = server.files.data
        try:
            arguments = write_import_files(new.work, dumps, progress, fleet=fleet)
            progress("import", 0, 100)
            new.importer.run(
                arguments, lambda share: progress("import", int(100 * share), 100)
            )
            if count(database) != there.counts:
                raise StoreError(
                    "the database was changed during the bulk load, so the new store "
                    "has been discarded: load again, or use --via bolt"
                )

            def finish(endpoint: Endpoint) -> None:
                progress("index", 0, None)
                indexes = index_statements() | there.indexes
                constraints = constraint_statements() | there.constraints
                with (
                    connect(target_of(endpoint)) as fresh,
                    beside(lambda: make_all(fresh, indexes, constraints)) as made,
                ):
                    if (found := count(fresh)) != expected:
                        raise StoreError(
                            f"the new store has {found.total:,} nodes and "
                            f"relationships instead of {expected.total:,}, and has "
                            "been discarded: load with --via bolt"
                        )
                    if len(dumps) > 1:
                        link_next(fresh)
                    made()

            endpoint = server.swap(new.data, finish, progress, made=new.importer.finish)
        except Exception:
            if running := server.running():  # the old store, perhaps with a new process
                database.move(target_of(running))
            raise
        with interrupts.leaving(f"{name} is loaded"):
            database.move(target_of(endpoint))
            database.note_stored(*(one.number for one in dumps), is_new=True)
            told = told_by_ids(database, dump)
            stored.prune(stored.listed(), _stored(present))
            remove_aside(new.work, old)
        return WrittenDump(name, *told)


def _whole(stored: StoredDumps, node: DumpNode) -> StoredTables:
    """The stored tables of a dump.

    Raises:
        StoreError: they are missing, or not whole.
    """
    tables = stored.find(node.number, node.identity.sha256)
    if tables is None:
        raise StoreError(f"the tables of dump {node.number} are missing; load it again")
    if fault := tables.fault():
        raise StoreError(
            f"the stored tables of dump {node.number} are not whole ({fault}); load it "
            "again with --replace"
        )
    return tables


def _of_user(database: Database) -> tuple[dict[str, str], dict[str, str]]:
    """Statements that make the indexes and constraints of the user, by name."""
    known = index_statements().keys() | constraint_statements().keys()
    others = [
        one
        for one in listed(database)
        if one.name not in known and one.kind != "LOOKUP"
    ]
    indexes = {one.name: one.statement for one in others if one.constraint is None}
    if len(indexes) == len(others):  # each constraint of this edition has an index
        return indexes, {}
    _, rows = database.read(
        "SHOW CONSTRAINTS YIELD name, createStatement RETURN name, createStatement", {}
    )
    made = {str(name): str(text) for name, text in rows if name not in known}
    return indexes, made
