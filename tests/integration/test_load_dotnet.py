"""Dumps of .NET programs in a real Neo4j: what only their formats tell is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from ingest.database.dump_list import find_dump
from ingest.database.questions import ask
from ingest.queries.library import find
from tests.conftest import use_server
from tests.dumps import gcdump, nettrace
from tests.integration.commands import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from ingest.server.target import Target

pytestmark = [pytest.mark.server, pytest.mark.slow]

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Asking:
    """One dump of the database."""

    database: Database
    number: int

    def __call__(self, query: str, *columns: str, **given: str) -> Rows:
        """Some columns of a query's answer."""
        answer = ask(self.database, find(query), given, self.number)
        return [tuple(row[column] for column in columns) for row in answer.dicts()]

    def rows(self, cypher: str) -> Rows:
        """The answer to a query about ``$dump``."""
        return self.database.read(cypher, {"dump": self.number})[1]


@pytest.fixture(scope="module")
def dumps(
    database: Database, neo4j_target: Target, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Asking]]:
    """A .gcdump, a sample of one, and a trace; loaded as a user does it."""
    folder = tmp_path_factory.mktemp("dotnet")
    sample = gcdump.program()
    sample.average = (4.0, 3.0)
    sample.by_type = [1.0] * 10 + [2.5, 1.0, 1.0, 10.0]
    files = {
        "program.gcdump": gcdump.program().file(),
        "sample.gcdump": sample.file(),
        "program.nettrace": nettrace.program().file(),
    }
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder / "home"))
        use_server(patch, neo4j_target)
        for file, data in files.items():
            (folder / file).write_bytes(data)
            output("load", str(folder / file), "--name", file)
            found[file] = Asking(database, find_dump(database, file).number)
        yield found
        for file in files:
            output("drop", file)


@pytest.fixture
def dump(dumps: dict[str, Asking]) -> Asking:
    return dumps["program.gcdump"]


@pytest.fixture
def trace(dumps: dict[str, Asking]) -> Asking:
    return dumps["program.nettrace"]


TYPES = ("type", "instance_count", "shallow_bytes", "reachable_bytes")
KINDS = ("kind", "root_count", "weak_count", "pinned_count", "object_count")
AGES = ("name", "object_count", "shallow_bytes", "reachable_bytes")
SEGMENTS = ("start", "end", "reserved_end", "kind", "object_count", "other_bytes")


def test_a_gcdump_has_its_types_and_what_is_alive(dump: Asking) -> None:
    assert dump("type-histogram", *TYPES) == [
        ("System.Object[]", 2, 20048, 20048),
        ("App.Cache", 2, 64, 32),
        ("System.String", 1, 24, 24),
    ]
    assert dump("dump", "root_count", "missing_count", "folded_count") == [(9, 1, 9)]
    assert dump("unreachable-types", "type", "unreachable_count") == [("App.Cache", 1)]
    assert dump("missing-references", "address", "alive") == [("0x7fff0000", True)]


def test_a_gcdump_has_the_kinds_of_its_roots(dump: Asking) -> None:
    assert sorted(dump("roots-by-kind", *KINDS)) == [
        ("finalizer_queue", 1, 0, 0, 1),
        ("handle", 1, 0, 1, 1),
        ("internal", 1, 0, 0, 1),
        ("local", 2, 0, 0, 2),
        ("other", 2, 0, 0, 2),
        ("static", 2, 0, 0, 2),
    ]


def test_a_gcdump_has_the_fields_of_its_statics(dump: Asking) -> None:
    statics = dump.rows(
        "MATCH (r:Root {kind: 'static'})-[:REFERENCES]->(o:Object) "
        "MATCH (r)-[:STATIC_IN]->(t:Type) WHERE r.dump = $dump "
        "RETURN t.name, r.field, o.address ORDER BY o.address"
    )
    field = "<App.ICache.Entries>k__BackingField"
    assert statics == [("App.Cache", field, "0x10010"), ("App.Cache", field, "0x12000")]
    assert dump("static-roots", "type", "root_count", "retained_bytes") == [
        ("App.Cache", 2, 80)
    ]


def test_a_gcdump_has_generations_and_segments(dump: Asking) -> None:
    assert dump("generation-histogram", *AGES) == [
        ("gen 0", 1, 24, 24),
        ("gen 1", 1, 48, 48),
        ("gen 2", 2, 64, 32),
        ("large objects", 1, 20000, 20000),
    ]
    assert dump("segments", *SEGMENTS) == [
        ("0x10000", "0x20000", None, "ephemeral", 3, 65432),
        ("0x30000", "0x38000", None, "gen2", 1, 32736),
        ("0x40000", "0x50000", None, "loh", 1, 45536),
        ("0x60000", "0x70000", None, "poh", 0, 65536),
    ]
    assert dump("pinned-fragmentation", "kind", "pinned_count", "types") == [
        ("loh", 1, ["Object[]"])
    ]


def test_only_a_sample_is_estimated(dumps: dict[str, Asking]) -> None:
    columns = ("type", "instance_count", "estimated_count", "estimated_bytes")
    whole = ("object_count", "shallow_bytes", "estimated_count", "estimated_bytes")
    sample = dumps["sample.gcdump"]

    assert sample("type-histogram", *columns) == [
        ("System.Object[]", 2, 2, 20048),
        ("App.Cache", 2, 5, 160),
        ("System.String", 1, 10, 240),
    ]
    assert sample("dump", *whole) == [(5, 20136, 20, 60408)]
    for name in ("program.gcdump", "program.nettrace"):
        other = dumps[name]
        assert {row[2:] for row in other("type-histogram", *columns)} == {(None, None)}
        assert {row[2:] for row in other("dump", *whole)} == {(None, None)}


def test_a_trace_has_its_types_and_what_is_alive(trace: Asking) -> None:
    assert trace("type-histogram", *TYPES) == [
        ("<type 0x7005>", 1, 9000, 9000),
        ("System.String", 2, 48, 48),
        ("App.Entry[]", 1, 48, 48),
        ("App.Cache`1[System.String]", 1, 32, 32),
    ]
    assert trace("dump", "root_count", "weak_root_count", "missing_count") == [
        (11, 2, 1)
    ]


def test_a_trace_has_the_kinds_of_its_roots(trace: Asking) -> None:
    assert sorted(trace("roots-by-kind", *KINDS)) == [
        ("finalizer_queue", 1, 0, 0, 1),
        ("handle", 3, 1, 1, 1),
        ("local", 2, 0, 0, 2),
        ("other", 3, 1, 0, 2),
        ("static", 1, 0, 0, 1),
        ("thread_static", 1, 0, 0, 1),
    ]


def test_a_trace_has_the_fields_of_statics_also_of_threads(trace: Asking) -> None:
    assert trace("static-roots", "type", "largest_address") == [("instance", "0x10010")]
    assert trace("thread-statics", "field", "type", "largest_address") == [
        ("current", None, "0x1f000")
    ]


def test_a_trace_has_generations_and_segments(trace: Asking) -> None:
    assert trace("generation-histogram", *AGES) == [
        ("gen 0", 1, 24, 24),
        ("gen 2", 2, 80, 80),
        ("large objects", 1, 9000, 9000),
    ]
    assert trace("segments", *SEGMENTS) == [
        ("0x10000", "0x13000", "0x20000", "gen2", 2, 12208),
        ("0x18000", "0x20000", "0x20000", "ephemeral", 1, 32744),
        ("0x40000", "0x50000", "0x60000", "loh", 1, 56536),
        ("0x60000", "0x70000", "0x70000", "poh", 0, 65536),
    ]


def test_a_trace_has_what_dependent_handles_keep(trace: Asking) -> None:
    columns = ("key_type", "value_type", "handle_count", "live_key_count")
    assert trace("dependent-handles", *columns, "largest_address") == [
        ("App.Cache`1[System.String]", "System.String", 1, 1, "0x13000")
    ]
    assert trace("dominated-by", "address", address="0x10010") == [("0x13000",)]


def test_a_trace_has_its_collections(trace: Asking) -> None:
    assert trace("gc-timeline", "number", "generation", "reason", "is_dump") == [
        (1, 0, "small objects allocated", False),
        (2, 2, "induced", True),
        (3, 2, "induced", False),
    ]
    followed = trace.rows(
        "MATCH (:Dump {number: $dump})-[:HAS_COLLECTION]->(a)-[:FOLLOWED_BY]->(b) "
        "RETURN a.number, b.number ORDER BY a.number"
    )
    assert followed == [(1, 2), (2, 3)]
