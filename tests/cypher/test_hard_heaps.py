"""Every query ends on heaps whose trails are too many to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from neo4j import Query as Timed

from ingest.queries.library import library
from tests.bench.hard_queries import questions
from tests.cypher.conftest import drop_heap, load_heap
from tests.cypher.hard_heaps import SHAPES, hash_map, plain_list, weak_map
from tests.cypher.test_reports import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph
    from ingest.queries.library import Query
    from tests.cypher.conftest import Loaded

pytestmark = [pytest.mark.server, pytest.mark.deep]

MOST_S = 60.0
STEPS = 40_000


@pytest.fixture(scope="module")
def hard_heaps(database: Database) -> Iterator[list[Loaded]]:
    """All shapes side by side, so that a query is planned once."""
    found = [
        load_heap(database, make(size), "hard") for make, size, _ in SHAPES.values()
    ]
    yield found
    for loaded in found:
        drop_heap(loaded)


@pytest.mark.parametrize(
    "query",
    [query for query in library().values() if not query.is_of_fleet],
    ids=lambda query: query.name,
)
def test_a_query_ends(query: Query, hard_heaps: list[Loaded]) -> None:
    for loaded in hard_heaps:
        for given in questions(query, loaded.heap.graph):
            with loaded.database._session(default_access_mode="READ") as session:
                text = Timed(query.text, timeout=MOST_S)
                session.run(text, dict(query.bind(given, loaded.number))).consume()


@pytest.mark.parametrize(
    ("make", "keys"),
    [(weak_map, 6), (hash_map, 12_000)],
)
def test_keys_of_one_bucket_are_counted_once_each(
    database: Database, make: Callable[[int], HeapGraph], keys: int
) -> None:
    loaded = load_heap(database, make(keys), "map")
    try:
        [row] = rows_of(loaded, "colliding-keys", {})
    finally:
        drop_heap(loaded)
    assert (row[2], row[4], row[5]) == (keys, 1, keys)


def test_a_path_of_thousands_of_steps(database: Database) -> None:
    loaded = load_heap(database, plain_list(STEPS), "list")
    given = {"from": "0x1000", "to": hex(0x1000 + 16 * (STEPS - 1)), "limit": "50000"}
    try:
        rows = rows_of(loaded, "path-between", given)
    finally:
        drop_heap(loaded)
    assert [row[1] for row in rows] == list(range(STEPS))
