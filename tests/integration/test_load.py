"""Loads on a real server: what is in the graph is what was measured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from ingest.analysis.distances import ROOT, holding_roots
from ingest.analysis.metrics import analyse
from ingest.database import bolt, cleaner
from ingest.database.claims import Place, delete, unpublish
from ingest.database.connection import Database, connect
from ingest.database.dump_list import (
    find_dump,
    is_any_being_dropped,
    list_dumps,
    objects_to_remove,
)
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.errors import AccessRefused, ServerUnavailable, StoreError, UnknownDump
from ingest.heap.graph import RootKind
from ingest.heap.identity import Identity
from ingest.heap.read_options import ReadOptions
from ingest.readers.gclog.example import example_gclog
from ingest.server.target import Target
from ingest.system.process_names import this_process
from ingest.tables.heap_tables import HeapTables
from ingest.tables.schema import KEY_BITS, LABELS, LINKS, NEXT, RELATIONSHIPS, SIZES
from tests.cypher.heap import main_heap
from tests.dumps.gclog import large_gclog
from tests.dumps.nettrace import NetTrace
from tests.dumps.trace import graphs, live
from tests.heaps import measure
from tests.integration.commands import load_and_kill

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.server


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file of the same name with a tenth of its objects."""
    path = tmp_path / "example.gclog"
    path.write_bytes(large_gclog(300, 700))
    return path


@pytest.fixture
def _cleaned_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cleaner waits for its command to end: not for half a minute for the tests.

    Only the cleaner takes it for ended: else it would remove a load in progress.
    """
    ended = f"{this_process().rsplit(':', 2)[0]}:999999:1"
    start = cleaner.start

    def start_at_once(database: Database) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("ingest.database.cleaner.this_process", lambda: ended)
            start(database)

    monkeypatch.setattr(cleaner, "start", start_at_once)


def rows(database: Database, text: str, **values: object) -> list[tuple[object, ...]]:
    return database.read(text, values)[1]


def counts(database: Database) -> tuple[int, int]:
    (nodes,), *_ = rows(database, "MATCH (n) RETURN count(n)")
    (edges,), *_ = rows(database, "MATCH ()-[r]->() RETURN count(r)")
    return cast("int", nodes), cast("int", edges)


def test_every_node_and_relationship_is_what_was_measured(
    empty_database: Database, example: Path
) -> None:
    database = empty_database
    graph, metrics, sha256 = measure(str(example))

    receipt = Loader(Store(database)).load(str(example))

    number = receipt.number
    assert receipt.loaded
    assert counts(database) == (receipt.node_count, receipt.relationship_count)

    def key(index: int) -> int:
        return (number << KEY_BITS) + index

    n = len(graph.object_id)
    objects = rows(
        database,
        "MATCH (o:Object) RETURN o.key, o.dump, o.address, o.shallow_bytes, "
        "o.retained_bytes, o.retained_count, o.root_distance, o.missing, o.domain "
        "ORDER BY o.key",
    )
    assert graph.domain_index is not None
    assert objects == [
        (
            key(i),
            number,
            graph.address(i),
            graph.shallow_bytes[i],
            metrics.retained_bytes[i],
            metrics.retained_count[i],
            None if metrics.root_distance[i] < 0 else metrics.root_distance[i],
            True if i >= graph.object_count else None,
            graph.domain_index[i],
        )
        for i in range(n)
    ]
    references = rows(
        database, "MATCH (a:Object)-[:REFERENCES]->(b:Object) RETURN a.key, b.key"
    )
    assert Counter(references) == Counter(
        (key(i), key(int(j)))
        for i in range(n)
        for j in graph.ref_target[graph.ref_start[i] : graph.ref_start[i + 1]]
    )
    dominates = rows(
        database, "MATCH (a:Object)-[:DOMINATES]->(b:Object) RETURN a.key, b.key"
    )
    assert sorted(dominates) == sorted(
        (key(int(d)), key(i)) for i, d in enumerate(metrics.dominator) if d >= 0
    )
    top = rows(database, "MATCH (:Dump)-[:DOMINATES]->(o:Object) RETURN o.key")
    assert sorted(top) == [(key(i),) for i in range(n) if metrics.dominator[i] == ROOT]
    instances = rows(
        database, "MATCH (o)-[:INSTANCE_OF]->(t:Type) RETURN o.key, t.key, t.name"
    )
    assert sorted(instances) == [
        (key(i), key(int(graph.type_index[i])), graph.type_name(i))
        for i in range(graph.object_count)
    ]
    held = rows(
        database,
        "MATCH (d:Dump)-[:HAS_ROOT]->(r:Root)-[x]->(o:Object) "
        "OPTIONAL MATCH (r)-[:STATIC_IN]->(t:Type) "
        "RETURN r.key, r.kind, r.weak, r.pinned, type(x), o.key, t.name ORDER BY r.key",
    )
    holds = holding_roots(graph, metrics.strength)
    assert not holds.all()
    assert held == [
        (
            key(i),
            RootKind(graph.root_kind[i]).label,
            bool(graph.root_flags[i] & 2),
            bool(graph.root_flags[i] & 1),
            "REFERENCES" if holds[i] else "WEAKLY_REFERENCES",
            key(int(graph.root_object[i])),
            None if graph.root_type[i] < 0 else graph.type_names[graph.root_type[i]],
        )
        for i in range(len(graph.root_object))
    ]
    pairs = rows(
        database,
        "MATCH (a:Type)-[r:REFERENCES_TYPE]->(b:Type) "
        "RETURN a.key, b.key, r.reference_count",
    )
    assert sorted(pairs) == sorted(
        (key(int(a)), key(int(b)), c)
        for a, b, c in zip(
            metrics.pair_source, metrics.pair_target, metrics.pair_count, strict=True
        )
    )
    (dump,) = list_dumps(database)
    assert (dump.name, dump.sha256) == ("example", sha256)
    assert dump.reachable_bytes == metrics.reachable_bytes
    for name, percent in SIZES:
        enough = 100 * metrics.retained_bytes >= percent * metrics.reachable_bytes
        expected = {graph.address(i) for i in np.flatnonzero(enough).tolist()}
        found = rows(database, f"MATCH (o:Object:{name}) RETURN o.address")
        assert {address for (address,) in found} == expected != set(), name


@pytest.mark.slow
def test_what_is_written_is_what_the_schema_says(
    empty_database: Database, example: Path
) -> None:
    Loader(Store(empty_database)).load(str(example))
    # They have what the example has not: segments, collections, a trace.
    for number, heap in enumerate([main_heap(), *graphs(live(3, [0, 3, 0]))]):
        told = HeapTables(heap, analyse(heap))
        digest, title = Identity.of("0" * 64, heap.part), f"heap {number}"
        Store(empty_database).write(told, Place(title), source=title, identity=digest)

    for label in LABELS:
        declared = {column.name: column for column in label.properties}
        found = rows(
            empty_database,
            f"MATCH (n:{label.name}) UNWIND keys(n) AS k "
            "RETURN DISTINCT k, valueType(n[k])",
        )
        assert {name for name, _ in found} <= set(declared)
        for name, kind in found:
            expected = declared[cast("str", name)].dtype.cypher
            shown = str(kind).replace(" NOT NULL", "")
            # A list without elements has none of any type.
            assert shown.replace("<NOTHING>", "<STRING>") == expected, name
        required = {c.name for c in label.properties if not c.optional}
        assert required <= {name for name, _ in found}, label.name
    kinds = {
        (relation.start, relation.name, relation.end) for relation in RELATIONSHIPS
    }
    found_kinds = rows(
        empty_database,
        "MATCH (a)-[r]->(b) WITH [l IN labels(a) WHERE l IN $known] AS starts, r, "
        "[l IN labels(b) WHERE l IN $known] AS ends "
        "RETURN DISTINCT starts[0], type(r), ends[0]",
        known=[label.name for label in LABELS],
    )
    links = {(link.label, link.name, link.label) for link in LINKS}
    between_dumps = {(NEXT.label, NEXT.name, NEXT.label)}
    assert set(found_kinds) <= kinds | links | between_dumps
    assert set(found_kinds) & links == links


def test_each_dump_of_a_trace_is_one(empty_database: Database, tmp_path: Path) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    for number in (3, 4):
        trace.start(number)
        trace.roots([(0x100, 0, 0)])
        trace.nodes([(0x100 * i, 16, 0x7000, 0) for i in range(1, number)])
        trace.edges([])
        trace.end(number)
    path = tmp_path / "two.nettrace"
    path.write_bytes(trace.file())

    first = Loader(Store(empty_database)).load(str(path))
    second = Loader(Store(empty_database), options=ReadOptions(part=4)).load(str(path))
    again = Loader(Store(empty_database), options=ReadOptions(part=3)).load(str(path))

    assert (first.loaded, second.loaded, again.loaded) == (True, True, False)
    assert (first.object_count, second.object_count) == (2, 3)
    assert again.number == first.number != second.number


def test_the_same_file_twice_is_one_dump(
    empty_database: Database, small: Path, tmp_path: Path
) -> None:
    import lzma

    first = Loader(Store(empty_database)).load(str(small))
    before = counts(empty_database)
    packed = tmp_path / "other-name.gclog.xz"
    packed.write_bytes(lzma.compress(small.read_bytes()))

    again = Loader(Store(empty_database)).load(str(packed))

    assert not again.loaded
    assert (again.name, again.number) == (first.name, first.number)
    assert counts(empty_database) == before


def test_replace_loads_again_and_leaves_nothing_of_the_old(
    empty_database: Database, small: Path
) -> None:
    first = Loader(Store(empty_database)).load(str(small))
    before = counts(empty_database)

    again = Loader(Store(empty_database), replace=True).load(str(small))

    assert again.loaded
    assert again.name == first.name
    assert again.number != first.number
    assert counts(empty_database) == before


@pytest.mark.slow
def test_names(empty_database: Database, small: Path, tmp_path: Path) -> None:
    other = tmp_path / "sub" / "example.gclog"
    other.parent.mkdir()
    other.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")

    Loader(Store(empty_database)).load(str(small))
    second = Loader(Store(empty_database)).load(str(other))
    assert second.name == "example-2"
    third = tmp_path / "third.gclog"
    third.write_text("a 2 x\nt 1 T\no 1 1 20\nr 1 1 0\nc x\n", encoding="utf-8")
    with pytest.raises(StoreError, match="another dump is named 'example'"):
        Loader(Store(empty_database), name="example").load(str(third))
    Loader(Store(empty_database), name="example", replace=True).load(str(third))

    found = {dump.name: dump.object_count for dump in list_dumps(empty_database)}
    assert found == {"example": 1, "example-2": 1}
    assert find_dump(empty_database, None).name == "example"
    with pytest.raises(UnknownDump, match="loaded: example, example-2"):
        find_dump(empty_database, "none")


@pytest.mark.slow
def test_drop_leaves_nothing_and_touches_no_other_dump(
    empty_database: Database,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ingest.database.claims._STEP_KEYS", 2)
    other = tmp_path / "other.gclog"
    other.write_text("a 2 x\nt 1 T\no 1 1 10 1\nr 1 1 0\nc x\n", encoding="utf-8")
    Loader(Store(empty_database)).load(str(other))
    before = counts(empty_database)
    number = Loader(Store(empty_database)).load(str(small)).number

    unpublish(empty_database, number)
    assert [dump.name for dump in list_dumps(empty_database)] == ["other"]
    delete(empty_database, number)

    assert counts(empty_database) == before


@pytest.mark.slow
@pytest.mark.usefixtures("_cleaned_soon")
def test_a_large_dump_is_gone_at_once_and_removed_in_the_background(
    empty_database: Database, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Loader(Store(empty_database), name="a").load(str(small))
    monkeypatch.setattr("ingest.database.claims.WINDOW_KEYS", 2)

    Store(empty_database).drop("a")

    assert list_dumps(empty_database) == []
    again = Loader(Store(empty_database), name="a").load(str(small))
    assert (again.loaded, again.name) == (True, "a")
    deadline = time.monotonic() + 120
    while is_any_being_dropped(empty_database) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert objects_to_remove(empty_database) == 0
    _, rows = empty_database.read("MATCH (o:Object) RETURN count(o)", {})
    assert rows[0][0] == again.object_count


@pytest.mark.deep
@pytest.mark.usefixtures("_cleaned_soon")
def test_a_large_dump_that_is_dropped_leaves_its_neighbours_linked(
    empty_database: Database, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = example.read_text(encoding="utf-8")
    for name in "abc":  # the same program, but not the same file
        example.write_text(text.replace("c ", f"c {name} ", 1), encoding="utf-8")
        Loader(Store(empty_database), name=name).load(str(example))
    monkeypatch.setattr("ingest.database.claims.WINDOW_KEYS", 2)

    def pairs() -> list[tuple[object, ...]]:
        text = "MATCH (a:Dump)-[:NEXT]->(b:Dump) RETURN a.name, b.name"
        return sorted(empty_database.read(text, {})[1])

    assert pairs() == [("a", "b"), ("b", "c")]

    Store(empty_database).drop("b")

    assert ("a", "b") not in pairs()
    deadline = time.monotonic() + 120
    while pairs() != [("a", "c")] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert pairs() == [("a", "c")]


@pytest.mark.slow
def test_a_load_that_fails_is_never_seen_and_cleaned_by_the_next(
    empty_database: Database, example: Path
) -> None:
    def failing(stage: str, done: int, total: int | None) -> None:
        if stage == "write" and total and done > 3000:
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        Loader(Store(empty_database), progress=failing).load(str(example))
    assert counts(empty_database)[0] > 1000
    assert list_dumps(empty_database) == []

    receipt = Loader(Store(empty_database)).load(str(example))

    assert counts(empty_database) == (receipt.node_count, receipt.relationship_count)


@pytest.mark.deep
def test_a_load_of_another_machine_is_left_alone_while_it_lives(
    empty_database: Database, small: Path
) -> None:
    empty_database.write(
        "CREATE (:Dump {number: 7, name: 'theirs', state: 'loading', sha256: 'x', "
        "loader: 'elsewhere:1:1', loading_since: datetime(), heartbeat: datetime()})",
        {},
    )

    assert Loader(Store(empty_database)).load(str(small)).number == 8
    assert rows(empty_database, "MATCH (d:Dump {number: 7}) RETURN count(d)") == [(1,)]
    empty_database.write(
        "MATCH (d:Dump {number: 7}) SET d.heartbeat = datetime() - duration('PT1H')", {}
    )
    Loader(Store(empty_database), replace=True).load(str(small))
    assert rows(empty_database, "MATCH (d:Dump {number: 7}) RETURN count(d)") == [(0,)]


@pytest.mark.slow
def test_loads_at_the_same_moment_all_succeed(
    empty_database: Database, neo4j_target: Target, tmp_path: Path
) -> None:
    """Four files of one name by four processes: four dumps."""
    paths = [tmp_path / str(i) / "same-name.gclog" for i in range(4)]
    for i, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(f"a 2 x\nt 1 T\no 1 1 {i + 8:x}\nr 1 1 0\nc x\n")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "ingest", "load", str(path)],
            env=environment_for(neo4j_target),
            stderr=subprocess.PIPE,
            text=True,
        )
        for path in paths
    ]
    said = [process.communicate(timeout=120)[1] for process in running]

    assert [process.returncode for process in running] == [0] * 4, said
    dumps = list_dumps(empty_database)
    assert len({dump.name for dump in dumps}) == 4
    assert len({dump.number for dump in dumps}) == 4
    (written,), *_ = rows(empty_database, "MATCH (o:Object) RETURN count(o)")
    assert written == 4


def test_a_file_that_another_process_has_just_loaded_is_loaded_already(
    empty_database: Database, small: Path
) -> None:
    other = None

    def overtaken(stage: str, done: int, total: int | None) -> None:
        nonlocal other
        if stage == "analyse" and done == total and other is None:
            other = "taken"
            other = Loader(Store(empty_database)).load(str(small)).name

    receipt = Loader(Store(empty_database), name="mine", progress=overtaken).load(
        str(small)
    )

    assert other == "example"
    assert (receipt.loaded, receipt.name) == (False, "mine")
    assert receipt.renamed_from == "example"
    assert [dump.name for dump in list_dumps(empty_database)] == ["mine"]


def test_hostile_text_is_only_text(empty_database: Database, tmp_path: Path) -> None:
    name = "'}) DETACH DELETE n // \x1b[31m\x00 <script>alert(1)</script> $dump `x`"
    path = tmp_path / "hostile'}).gclog"
    path.write_text(f"a 2 {name}\nt 1 {name}\no 1 1 10\nr 1 4 0 1\nc {name}\n")

    Loader(Store(empty_database), name="'}) RETURN 1 //").load(str(path))

    assert rows(empty_database, "MATCH (t:Type) RETURN t.name") == [(name,)]
    assert find_dump(empty_database, "'}) RETURN 1 //").object_count == 1


@pytest.mark.slow
def test_long_names_go_in_messages_of_bounded_size(
    empty_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"N.{i}" + 100 * i * "x" for i in range(64)]
    path = tmp_path / "long.gclog"
    types = "".join(f"t {i + 1:x} {name}\n" for i, name in enumerate(names))
    path.write_text(f"a 2 x\n{types}o 1 1 10\nr 1 1 0\nc x\n")
    monkeypatch.setattr(bolt, "BATCH_TEXT_BYTES", 10_000)
    sent: list[int] = []
    write_one = Database.write

    def spied(self: Database, text: str, values: Mapping[str, object]) -> object:
        if "CREATE (n:Type " in text:
            sent.append(sum(map(len, cast("list[str]", values["name"]))))
        return write_one(self, text, values)

    monkeypatch.setattr(Database, "write", spied)

    Loader(Store(empty_database)).load(str(path))

    assert sum(sent) == sum(map(len, names))
    assert max(sent) <= 10_000 + max(map(len, names))
    found = rows(empty_database, "MATCH (t:Type) RETURN t.name ORDER BY t.key")
    assert found == [(name,) for name in names]


def test_wrong_password_and_a_server_that_is_down(neo4j_target: Target) -> None:
    wrong = Target(neo4j_target.uri, "neo4j", "not the password", "neo4j")
    if neo4j_target.password is None:
        pytest.skip("this server has no passwords")
    with pytest.raises(AccessRefused, match="refuses"), connect(wrong):
        pass
    down = Target("bolt://127.0.0.1:1", "neo4j", "x", "neo4j")
    with pytest.raises(ServerUnavailable, match="no Neo4j answers"), connect(down):
        pass
    nowhere = Target(neo4j_target.uri, "neo4j", neo4j_target.password, "nowhere")
    with pytest.raises(StoreError), connect(nowhere):
        pass


def environment_for(target: Target) -> dict[str, str]:
    """The environment of a command that uses ``target``."""
    return {
        **os.environ,
        "NEO4J_URI": target.uri,
        "NEO4J_USERNAME": target.username,
        "NEO4J_PASSWORD": target.password or "",
    }


@pytest.mark.slow
def test_a_loader_killed_in_mid_load(
    empty_database: Database, neo4j_target: Target, tmp_path: Path
) -> None:
    """Kill -9 of the tool: invisible, and the next load gives the right counts."""
    path = tmp_path / "heap.gclog"
    path.write_bytes(large_gclog(2_000, 5_000))
    graph, metrics, _ = measure(str(path))

    killed = load_and_kill(path, environment=environment_for(neo4j_target))

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert counts(empty_database)[0] > 1_000
    assert list_dumps(empty_database) == []

    receipt = Loader(Store(empty_database)).load(str(path))

    (dump,) = list_dumps(empty_database)
    assert (dump.object_count, dump.reference_count) == (2_000, 5_000)
    assert counts(empty_database) == (receipt.node_count, receipt.relationship_count)
    found = rows(
        empty_database,
        "MATCH (o:Object) RETURN count(o), sum(o.shallow_bytes), "
        "sum(o.retained_bytes), count(o.root_distance)",
    )
    assert found == [
        (
            2_000,
            int(graph.shallow_bytes.sum()),
            int(metrics.retained_bytes.sum()),
            metrics.reachable_count,
        )
    ]
