"""Several dumps in one database: none costs, changes or hides another."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from ingest.database.claims import delete, unpublish
from ingest.database.dump_list import find_dump, list_dumps
from ingest.database.loading import Loader
from ingest.database.questions import ask
from ingest.database.store import Store
from ingest.queries.library import Query, library
from ingest.reports.report_panels import report_queries
from tests.bench.queries import arguments, subjects
from tests.deep import PROFILE
from tests.dumps.gclog import large_gclog

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.database.connection import Database

pytestmark = pytest.mark.server

DUMPS = 10 if PROFILE == "deep" else 3
ASKED, REPLACED, DROPPED = 0, 1, 2
SLACK, A_FEW = 1.05, 8
"""A plan may look a dump or a type up in another way when there are more of them."""

OF_ONE_DUMP = [q for q in library().values() if q.group not in ("Comparison", "Fleet")]
"""Queries whose answers do not change with other dumps."""

State = dict[str, object]


def objects_of(i: int) -> int:
    """Of the dump with this number, 500 to 1,400."""
    return 500 + 900 * i // (DUMPS - 1)


@pytest.fixture(scope="module")
def heaps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Heaps of 500 to 1,400 objects; System.String is a hub and a type in each."""
    folder = tmp_path_factory.mktemp("heaps")
    paths = []
    for i in range(DUMPS):
        path = folder / f"heap-{i:02}.gclog"
        objects = objects_of(i)
        path.write_bytes(large_gclog(objects, objects * 3, seed=i + 1))
        paths.append(path)
    return paths


def load_all(database: Database, paths: list[Path]) -> None:
    for path in paths:
        Loader(Store(database)).load(str(path))


def state(database: Database, name: str, queries: list[Query]) -> State:
    """All of one dump: nodes by label, relationships by type, answers."""
    number = find_dump(database, name).number
    found: State = {}
    found["nodes"] = database.read(
        "MATCH (n) WHERE n.dump = $dump RETURN labels(n)[0] AS label, count(n), "
        "sum(n.key) ORDER BY label",
        {"dump": number},
    )[1]
    found["relationships"] = database.read(
        "MATCH (n)-[r]->(m) WHERE (n.dump = $dump OR n.number = $dump) "
        "AND type(r) <> 'NEXT' "
        "RETURN type(r) AS type, count(r), sum(m.key) ORDER BY type",
        {"dump": number},
    )[1]
    known = subjects(database, number)
    for query in queries:
        given = arguments(query, known)
        found[query.name] = ask(database, query, given, number)
    return found


def hits(database: Database, query: Query, given: dict[str, str], number: int) -> int:
    """Records and properties that the server touched to answer."""
    values = query.bind(given, number)
    _, summary = database.write(f"PROFILE {query.text}", values)

    def below(plan: dict[str, object]) -> int:
        own = cast("dict[str, int]", plan.get("args", {})).get("DbHits", 0)
        children = cast("list[dict[str, object]]", plan.get("children", []))
        return own + sum(map(below, children))

    assert summary.profile is not None
    return below(summary.profile)


def all_hits(database: Database, number: int) -> dict[str, int]:
    """Of each query, on one dump."""
    known = subjects(database, number)
    database.run("CALL db.prepareForReplanning(60)")
    return {
        query.name: hits(database, query, arguments(query, known), number)
        for query in OF_ONE_DUMP
    }


@pytest.mark.deep
def test_no_query_pays_for_other_dumps_and_none_changes_with_them(
    empty_database: Database, heaps: list[Path], tmp_path: Path
) -> None:
    """Load one, then the others; drop one and replace another."""
    database, names = empty_database, [path.stem for path in heaps]
    Loader(Store(database)).load(str(heaps[-1]))
    number = find_dump(database, names[-1]).number
    alone = all_hits(database, number)
    load_all(database, heaps[:-1])
    among = all_hits(database, number)
    paying = {
        name: (alone[name], among[name])
        for name in alone
        if among[name] > SLACK * alone[name] + A_FEW
    }
    assert paying == {}

    shown = [library()[name] for name in report_queries(page=False)]
    asked = dict.fromkeys(names, shown) | {names[ASKED]: OF_ONE_DUMP}
    before = {name: state(database, name, asked[name]) for name in names}

    _drop_one(database, names[DROPPED])
    left = [name for name in names if name != names[DROPPED]]
    assert {dump.name for dump in list_dumps(database)} == set(left)
    for name in left:
        assert state(database, name, asked[name]) == before[name], name
    nodes = sum(_nodes(before[name]) for name in left) + len(left)
    assert database.read("MATCH (n) RETURN count(n)", {})[1] == [(nodes,)]

    other = tmp_path / "other.gclog"
    other.write_bytes(large_gclog(700, 1500, seed=99))
    Loader(Store(database), name=names[REPLACED], replace=True).load(str(other))
    assert find_dump(database, names[REPLACED]).reference_count == 1500
    assert {dump.name for dump in list_dumps(database)} == set(left)
    for name in set(left) - {names[REPLACED]}:
        assert state(database, name, shown) == only(before[name], shown), name
    unchanged = set(range(DUMPS)) - {DROPPED, REPLACED}
    objects = sum(map(objects_of, unchanged)) + 700
    assert database.read("MATCH (n:Object) RETURN count(n)", {})[1] == [(objects,)]


def _drop_one(database: Database, name: str) -> None:
    number = find_dump(database, name).number
    unpublish(database, number)
    delete(database, number)


def _nodes(found: State) -> int:
    return sum(row[1] for row in cast("list[tuple[str, int, int]]", found["nodes"]))


def only(found: State, queries: list[Query]) -> State:
    names = {"nodes", "relationships", *(query.name for query in queries)}
    return {name: value for name, value in found.items() if name in names}
