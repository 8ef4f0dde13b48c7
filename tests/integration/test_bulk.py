"""Bulk loads on the embedded server: the same graph as over Bolt, and nothing lost."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, cast
from unittest import mock

import polars as pl
import pytest

from ingest.analysis.fingerprints import RULE_VERSION
from ingest.analysis.metrics import analyse
from ingest.answers.asking import FUNCTIONS, answered
from ingest.answers.opened import OpenedHeap
from ingest.api import asked as asked_module
from ingest.api.asked import AskedStore
from ingest.database import bulk, claims
from ingest.database.claims import Place
from ingest.database.connection import connect
from ingest.database.dump_list import dump_nodes, list_dumps
from ingest.database.fleet_graph import drop_fleet_graph, write_fleet_graph
from ingest.database.importer import StartedImport
from ingest.database.indexes import ensure_needed
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.errors import EmbeddedError, StoreError
from ingest.heap.identity import Identity
from ingest.heap.read_options import ReadOptions
from ingest.queries.library import find
from ingest.readers.gclog.example import example_gclog
from ingest.server.embedded import target_of
from ingest.system import process_names
from ingest.system.process_names import this_process
from ingest.tables.column import DType
from ingest.tables.fleet_graph import FLEET_LABELS, FLEET_RELATIONSHIPS, fleet_label
from ingest.tables.heap_tables import HeapTables
from ingest.tables.import_files import write_import_files
from tests.conftest import embedded_only
from tests.cypher.heap import main_heap
from tests.cypher.heaps import OF_THE_NODE
from tests.dumps.dartheap import DartHeap, latin1, named, utf16
from tests.dumps.gclog import Gclog
from tests.dumps.hprof import CHAR, DOUBLE, INT, SYSTEM_CLASS, add_tasks, jdk
from tests.dumps.trace import graphs, live
from tests.heaps import measure
from tests.integration.content import content, rows
from tests.integration.test_trace_links import STEPS, links, true_links
from tests.integration.test_trace_links import put as put_part
from tests.waiting import is_tidy, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph
    from ingest.server.embedded import EmbeddedServer

pytestmark = [
    pytest.mark.server,
    embedded_only("only the embedded server's store can be made anew"),
]


@pytest.fixture
def server(own_server: EmbeddedServer) -> EmbeddedServer:
    return own_server


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[Database]:
    with connect(target_of(server.start()), server=server) as opened:
        ensure_needed(opened)
        yield opened


def hostile(path: Path) -> Path:
    """Names that would break a CSV file that is not written with care."""
    log = Gclog().domain('He said "no", 1;2', clock=5)
    for number, name in enumerate(
        [
            'a"b',
            "c,d",
            "'",
            "  e  ",
            "ü\u2028\U0001f600",
            "\\",
            '"',
            "null",
            "\x1f\x00",
        ],
        1,
    ):
        log.type(number, name)
    for number in range(1, 10):
        log.object(number, number, number * 8, [number % 9 + 1, 0xDEAD, number])
    log.object(0xFFFFFFFFFFFFFFFF, 0x99, 4)
    log.root(1, 4, 0, 3).root(2, 3, 2).root(0xBEEF, 3, 1).close("other", 7)
    log.domain("", clock=9).object(1, 1, 16, [2]).root(1).close("")
    path.write_bytes(log.bytes())
    return path


def hostile_dart(path: Path) -> Path:
    """The same in values, fields and the rest that only some formats tell."""
    heap = DartHeap(name="is\no")
    heap.cls("Root")
    heap.cls("Isolate", fields=["static\r\nfield", 'a "b"'])
    heap.cls("_OneByteString", "dart:core")
    heap.cls("_TwoByteString", "dart:core")
    heap.cls('na"me', "package:a,b/\n.dart", ["one\ntwo", ",", "", '"', "[0]"])
    texts = ["", " ", "a\nb", "c\r", '"', "\\", ",", "null", "\0", "'", "\x1f", "=1+1"]
    targets = range(4, 4 + len(texts))
    heap.obj("Root", 0, [2])
    heap.obj("Isolate", 0, [3, 3, 3], named("1"))
    heap.obj(5, 48, targets, named("\ufeffx\u2028"))
    for text in texts:
        heap.obj("_OneByteString", 16, data=latin1(text))
    heap.obj("_TwoByteString", 16, data=utf16("\ud800\U0001f600"))
    heap.outside(5, 2**40, 'pic\nture, "x"')
    heap.hashes = [0, 0, 2**32 - 1, *[0] * (len(texts) + 1)]
    path.write_bytes(heap.bytes())
    return path


def hostile_java(path: Path) -> Path:
    """The same in values of fields, and names and types of these."""
    dump = jdk()
    fields = {"status": DOUBLE, 'a:long,"`{b}\n': INT, "done": CHAR, "address": INT}
    dump.cls("shop/Twin", 0x8100, "java/lang/Object", fields)
    twins = [
        dump.obj(0x40000 + 0x100 * i, "shop/Twin", status=number, done=ord(text))
        for i, (number, text) in enumerate(
            [(2.5, ","), (1e300, "\n"), (float("-inf"), '"'), (1.0, "\x1f"), (0, "'")]
        )
    ]
    for task in [*add_tasks(dump, 0x20000), *twins]:
        dump.root(SYSTEM_CLASS, task)
    path.write_bytes(dump.bytes())
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.gclog"
    path.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    return path


class HostileFleet:
    """A fleet with names that would break a CSV file."""

    rule = RULE_VERSION
    _keys: ClassVar = ['a\n"b', "", ",;|'\\\r", "\x1f=1+1 \U0001f600"]

    def nodes(self, label: str) -> Iterator[list[tuple[object, ...]]]:
        others = fleet_label(label).properties[1:]
        yield [
            (self._keys[0], *(None if c.optional else _VALUES[c.dtype] for c in others))
        ]
        yield [(key, *(_VALUES[c.dtype] for c in others)) for key in self._keys[1:]]

    def relationships(self, name: str) -> Iterator[list[tuple[object, ...]]]:
        (entry,) = (one for one in FLEET_RELATIONSHIPS if one.name == name)
        values = [_VALUES[column.dtype] for column in entry.properties]
        yield [(a, b, *values) for a, b in pairwise(self._keys)]


_VALUES = {
    DType.TEXT: 'He said\r\n"no", 1;2',
    DType.INT64: 2**53 + 1,
    DType.FLOAT: 0.1,
    DType.TIME: datetime(2026, 11, 1, 15, 10, 0, 250_000),
}


def fleet_content(database: Database) -> tuple[list[object], list[object]]:
    """All nodes and relationships of fleets, and how many constraints they have."""
    labels = "|".join(entry.name for entry in FLEET_LABELS)
    nodes = rows(
        database,
        f"MATCH (n:{labels}) RETURN labels(n), properties(n) AS p "
        f"ORDER BY labels(n)[0], n.{', n.'.join({e.key for e in FLEET_LABELS})}",
    )
    edges = rows(
        database,
        f"MATCH (a:{labels})-[r]->(b) RETURN type(r) AS t, properties(a) AS p, "
        "properties(r), properties(b) ORDER BY t, a.key, a.name, a.fingerprint",
    )
    return [*nodes], [*edges]


def stored_tables_answer(database: Database, heaps: Mapping[str, HeapGraph]) -> None:
    """Loaded dumps answer as their heaps without their graphs being asked.

    Each query is asked of one of them.
    """
    store = Store(database)
    for at, (name, heap) in enumerate(heaps.items()):
        asked = AskedStore(store, store.select(name))
        assert asked.about.from_tables, name
        opened, tables = OpenedHeap(HeapTables(heap, analyse(heap)), {}), 0
        for query in map(find, sorted(FUNCTIONS)[at :: len(heaps)]):
            if any(one.required for one in query.parameters if one.name != "dump"):
                continue
            if query.name in OF_THE_NODE:
                continue
            given = {"min_bytes": "1"} if "min_bytes" in query.text else {}
            expected = answered(opened, query, query.bind(given, 0))
            with mock.patch.object(database, "read", side_effect=AssertionError):
                assert asked.ask(query, given).rows == expected.rows, query.name
                assert [*asked.rows(query, given)] == expected.dicts(), query.name
            tables += 1
        assert tables > 10, name


@pytest.mark.slow
@mock.patch.object(asked_module, "LARGE_OBJECTS", 1)
def test_a_bulk_load_gives_the_graph_of_a_bolt_load(
    server: EmbeddedServer, database: Database, tmp_path: Path
) -> None:
    # Arrange: two dumps over Bolt, and an index of the user's own
    first = Loader(Store(database), via=Via.BOLT, name="hostile").load(
        str(hostile(tmp_path / "hostile.gclog"))
    )
    clean = tmp_path / "clean.gclog"
    clean.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    assert Loader(Store(database), via=Via.BOLT).load(str(clean)).warnings == {}
    dart = str(hostile_dart(tmp_path / "dart.dartheap"))
    Loader(Store(database), via=Via.BOLT).load(dart)
    java = str(hostile_java(tmp_path / "java.hprof"))
    asked = ReadOptions(values=("shop.T*", "shop.Other"))
    Loader(Store(database), via=Via.BOLT, options=asked).load(java)
    heap = main_heap()

    Store(database).write(
        HeapTables(heap, analyse(heap)),
        Place("over Bolt", is_exact=True),
        via=Via.BOLT,
        source='main, "quoted".gclog',
        identity=Identity("ab" * 32),
    )
    life = live(7, STEPS)
    earliest = graphs(life)[0]
    numbers = [put_part(database, life, which) for which in range(3)]
    database.run("CREATE INDEX mine IF NOT EXISTS FOR (o:Object) ON (o.type_name)")
    write_fleet_graph(database, HostileFleet())
    fleet = fleet_content(database)
    loaded = "clean", "hostile", "dart", "java", "over Bolt", "dump 0", "dump 1"
    before = {name: content(database, name) for name in loaded}
    assert "field_status" in str(before["java"])
    for name, what in before.items():
        assert all(what), name

    # Act: one of a trace again, in bulk; the others are carried over
    put_part(database, life, 1, Via.BULK, (numbers[1],))

    # Assert
    with connect(target_of(server.start()), server=server) as after:
        assert {dump.name for dump in list_dumps(after)} == {*before, "dump 2"}
        stored_tables_answer(
            after, {"dart": measure(dart)[0], "over Bolt": heap, "dump 0": earliest}
        )
        for name, (nodes, edges) in before.items():
            found = content(after, name)
            assert found[0] == nodes
            assert found[1] == edges
        assert links(after) == true_links(life, {0, 1, 2})
        assert first.warnings
        assert fleet_content(after) == fleet
        assert [len(part) for part in fleet] == [
            4 * len(FLEET_LABELS),
            3 * len(FLEET_RELATIONSHIPS),
        ]
        names = {str(row[0]) for row in rows(after, "SHOW INDEXES YIELD name")}
        assert {"mine", "object_key", "object_dump_address"} <= names
        assert "fleetdump_dump_id" in names
        after.run("CALL db.awaitIndexes(60)")  # one fills after the receipt
        assert rows(after, "SHOW INDEXES YIELD state WHERE state <> 'ONLINE'") == []
    wait_until(lambda: is_tidy(server))


@pytest.mark.slow
def test_a_property_that_no_load_has_written_rules_out_a_bulk_load(
    server: EmbeddedServer, database: Database, tmp_path: Path
) -> None:
    del server
    java = str(hostile_java(tmp_path / "java.hprof"))
    asked = ReadOptions(values=("shop.T*",))
    Loader(Store(database), via=Via.BOLT, options=asked).load(java)

    before = bulk.plan(database, 1).obstacle
    database.run("MATCH (t:Type) SET t.field_mine = 1")
    meanwhile = bulk.plan(database, 1).obstacle
    database.run("MATCH (t:Type) REMOVE t.field_mine")

    assert before is None
    assert meanwhile == "somebody has added properties (field_mine)"
    assert bulk.plan(database, 1).obstacle is None


@pytest.mark.deep
def test_a_dump_whose_stored_tables_are_not_whole_is_not_written_again(
    server: EmbeddedServer, database: Database, tmp_path: Path, small: Path
) -> None:
    """It would be null where each dump has a value, such as its retained sizes."""
    path = hostile(tmp_path / "hostile.gclog")
    first = Loader(Store(database), via=Via.BOLT).load(str(small))
    retained = "MATCH (o:Object {dump: $dump}) RETURN sum(o.retained_bytes)"
    _, before = database.read(retained, {"dump": first.number})
    data = server.files.data
    (table,) = server.home.glob(f"dumps/{first.number}-*/objects.parquet")
    pl.read_parquet(table).drop("retained_bytes").write_parquet(table)

    with pytest.raises(StoreError, match=r"'small' .*has no column retained_bytes"):
        Loader(Store(database), via=Via.BULK).load(str(path))

    assert server.files.data == data
    assert Loader(Store(database), via=Via.AUTO).load(str(path)).loaded
    assert server.files.data == data
    _, after = database.read(retained, {"dump": first.number})
    assert [tuple(row) for row in after] == [tuple(row) for row in before] != [(0,)]
    for name in ("small", "hostile"):
        Store(database).drop(name)


@pytest.mark.deep
def test_dropping_the_only_dump_makes_a_new_store(
    server: EmbeddedServer,
    database: Database,
    tmp_path: Path,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Arrange: every dump is large; one beside another, then beside a node
    monkeypatch.setattr(claims, "WINDOW_KEYS", 2)
    path = hostile(tmp_path / "hostile.gclog")
    number = Loader(Store(database), via=Via.BOLT).load(str(path)).number
    before = content(database, "hostile")
    Loader(Store(database), via=Via.BOLT).load(str(small))
    assert not bulk.is_all(database, number)
    Store(database).drop("small")
    database.run("CREATE (:Note)")
    assert not bulk.is_all(database, number)
    database.run("MATCH (n:Note) DELETE n")
    database.run("CREATE (:Host {name: 'of a fleet'})")
    assert not bulk.is_all(database, number)
    drop_fleet_graph(database)
    database.run("CREATE INDEX mine IF NOT EXISTS FOR (o:Object) ON (o.type_name)")
    data = server.files.data

    # Act
    Store(database).drop("hostile")

    # Assert
    assert server.files.data != data
    wait_until(lambda: is_tidy(server))
    assert bulk.stored_dumps(server).listed() == []
    with connect(target_of(server.start()), server=server) as after:
        assert list_dumps(after) == []
        assert rows(after, "MATCH (n) RETURN count(n)") == [(0,)]
        names = {str(row[0]) for row in rows(after, "SHOW INDEXES YIELD name")}
        assert "mine" in names
        after.run("DROP INDEX mine")
        Loader(Store(after), via=Via.BOLT).load(str(path))
        assert content(after, "hostile") == before


@pytest.mark.deep
def test_a_bulk_load_leaves_out_what_another_process_is_deleting(
    server: EmbeddedServer,
    database: Database,
    tmp_path: Path,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody waits for the removal, which ends at its next step."""
    # Arrange: one dump of two is being deleted by a process that still lives
    monkeypatch.setattr(claims, "WINDOW_KEYS", 2)
    path = hostile(tmp_path / "hostile.gclog")
    dropped = Loader(Store(database), via=Via.BOLT).load(str(path)).number
    Loader(Store(database), via=Via.BOLT).load(str(small))
    before = content(database, "small")
    mine = this_process()
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    machine = mine.rpartition(":")[0].rpartition(":")[0]
    other = f"{machine}:{owner.pid}:{process_names._start(owner.pid)}"
    with mock.patch.object(claims, "this_process", return_value=other):
        claims.unpublish(database, dropped)
    remaining = """
    MATCH (o:Object {dump: $dump}) RETURN count(o), sum(COUNT { (o)-->() })
    """

    def left() -> tuple[object, ...]:
        return database.read(remaining, {"dump": dropped})[1][0]

    count, references = left()
    claims.delete(database, dropped)  # it is not this process's
    assert left() == (count, references)
    monkeypatch.setattr(claims, "_STEP_KEYS", 2)
    with mock.patch.object(claims, "beat", side_effect=[True, False]):
        claims.delete(database, dropped)
    fewer = left()
    assert fewer[0] == count
    assert 0 < cast("int", fewer[1]) < cast("int", references)

    # Act
    stopped: list[object] = []

    def stop_when_taken_over(stage: str, done: int, total: int | None) -> None:
        del done, total
        if stage == "stop deleting a dropped dump" and not stopped:
            stopped.append(claims.beat(database, dropped))
            owner.communicate(b"\n")

    tiny = tmp_path / "tiny.gclog"
    tiny.write_text("a 2 y\nt 1 T\no 1 1 20\nr 1 1 0\nc y\n", encoding="utf-8")
    Loader(Store(database), via=Via.BULK, progress=stop_when_taken_over).load(str(tiny))

    # Assert
    assert stopped == [True], "the dump is this process's now"
    assert {dump.name for dump in list_dumps(database)} == {"small", "tiny"}
    assert content(database, "small") == before
    assert left() == (0, 0)
    assert {name.split("-")[0] for name in bulk.stored_dumps(server).listed()} == {
        str(dump.number) for dump in list_dumps(database)
    }


@pytest.mark.deep
def test_a_removal_goes_on_after_the_bulk_load_for_which_it_was_stopped_fails(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "WINDOW_KEYS", 2)
    path, tiny = hostile(tmp_path / "hostile.gclog"), tmp_path / "tiny.gclog"
    large = Loader(Store(database), via=Via.BOLT).load(str(path)).number
    claims.unpublish(database, large, to_anybody=True)
    owners: list[object] = []
    monkeypatch.setattr(
        "ingest.database.cleaner.start", lambda _: owners.append(owner_of(large))
    )

    def owner_of(number: int) -> object:
        (node,) = (one for one in dump_nodes(database) if one.number == number)
        return node.state, node.properties["loader"]

    def fail(*_: object, **__: object) -> None:
        owners.append(owner_of(large))
        raise StoreError("no")

    tiny.write_text("a 2 z\nt 1 T\no 1 1 30\nr 1 1 0\nc z\n", encoding="utf-8")
    with (
        mock.patch.object(bulk, "write_import_files", side_effect=fail),
        pytest.raises(StoreError, match="no"),
    ):
        Loader(Store(database), via=Via.BULK).load(str(tiny))
    nobody = ("dropping", process_names.NOBODY)
    assert owners == [nobody, ("dropping", this_process()), nobody]


@pytest.mark.deep
@pytest.mark.parametrize(
    "what", [(StartedImport, "finish"), (bulk, "make_all"), (bulk, "link_next")]
)
def test_a_new_store_that_is_no_good_is_discarded(
    server: EmbeddedServer,
    database: Database,
    tmp_path: Path,
    small: Path,
    what: tuple[object, str],
) -> None:
    """The server, which has ended by then, is started again on the old store."""
    Loader(Store(database), via=Via.BOLT).load(str(small))
    before, data = content(database, "small"), server.files.data
    tiny = tmp_path / "tiny.gclog"
    tiny.write_text("a 2 z\nt 1 T\no 1 1 30\nr 1 1 0\nc z\n", encoding="utf-8")

    with (
        mock.patch.object(*what, side_effect=EmbeddedError("no")),
        pytest.raises(EmbeddedError, match="no"),
    ):
        Loader(Store(database), via=Via.BULK).load(str(tiny))

    assert server.files.data == data
    assert is_tidy(server)
    assert content(database, "small") == before
    assert [dump.name for dump in list_dumps(database)] == ["small"]
    Loader(Store(database), via=Via.BOLT).load(str(tiny))  # in the same process


@pytest.mark.deep
def test_a_row_that_the_importer_leaves_out_is_missed(
    server: EmbeddedServer, database: Database, small: Path, tmp_path: Path
) -> None:
    """Whatever the importer tolerates, the counts are those of what was written."""
    Loader(Store(database), via=Via.BOLT).load(str(small))
    before, data = content(database, "small"), server.files.data
    dropped = []

    def without_a_row(folder: Path, *given: object, **more: object) -> list[str]:
        arguments = write_import_files(folder, *given, **more)  # type: ignore[arg-type]
        parts = folder.glob("Object-REFERENCES-Object-*.csv")
        path = max(parts, key=lambda path: path.stat().st_size)
        first, last, *rows = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([first, *rows]))
        dropped.append(last)
        return arguments

    other = tmp_path / "other.gclog"
    other.write_text(example_gclog(8), encoding="utf-8")
    with (
        mock.patch.object(bulk, "write_import_files", without_a_row),
        pytest.raises(StoreError, match="and has been discarded") as said,
    ):
        Loader(Store(database), via=Via.BULK).load(str(other))

    assert len(dropped) == 1
    found, expected = map(int, re.findall(r"\d+", str(said.value).replace(",", "")))
    assert found == expected - 1
    assert server.files.data == data
    assert is_tidy(server)
    assert content(database, "small") == before
