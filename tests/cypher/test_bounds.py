"""An answer says where it was cut, and an empty one what was searched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ingest.database.questions import has_more
from ingest.errors import QueryTooLarge
from ingest.queries.bounds import bound, searched
from ingest.queries.library import library
from tests.cypher.conftest import drop_heap, load_heap
from tests.cypher.hard_heaps import plain_list, two_way_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from ingest.queries.library import Query
    from tests.cypher.conftest import Loaded

MORE = [query for query in library().values() if query.more]


@pytest.mark.parametrize("name", [q.name for q in library().values() if q.searched])
def test_what_is_searched_has_values_of_parameters(name: str) -> None:
    query = library()[name]
    names = {parameter.name for parameter in query.parameters}
    assert set(re.findall(r"\$(\w+)", query.searched + query.more)) <= names
    assert "$" not in (searched(query, query.defaults(1)) or "$")


@pytest.fixture(scope="module")
def lists(database: Database) -> Iterator[tuple[Loaded, Loaded]]:
    """One that no bound cuts, and one of 300 nodes that refer to one another."""
    found = (
        load_heap(database, plain_list(3), "short"),
        load_heap(database, two_way_list(300), "two-way"),
    )
    yield found
    for loaded in found:
        drop_heap(loaded)


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("query", MORE, ids=lambda query: query.name)
def test_nothing_is_said_where_all_was_searched(
    query: Query, lists: tuple[Loaded, Loaded]
) -> None:
    values = query.defaults(lists[0].number) | {"type": "App.Node"}
    assert bound(query, values, 1, has_more(lists[0].database, query, values)) is None


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        ("cycles", 5, "only searched: the 200 objects that retain most"),
        ("cycles", 20, "20 rows, the limit: there may be more (--param limit=N); only"),
        ("root-paths-of-type", 1, "only searched: the 200 instances that retain most"),
        ("type-histogram", 20, "20 rows, the limit: there may be more"),
        ("type-histogram", 19, None),
    ],
)
def test_an_answer_says_where_it_was_cut(
    name: str, rows: int, said: str | None, lists: tuple[Loaded, Loaded]
) -> None:
    query, loaded = library()[name], lists[1]
    values = query.defaults(loaded.number)
    values |= {"type": "App.Node", "instances": 200} if "root" in name else {}
    found = bound(query, values, rows, has_more(loaded.database, query, values))
    assert found is None if said is None else (found or "").startswith(said)


@pytest.mark.slow
@pytest.mark.server
def test_too_little_memory_is_said_at_once(database: Database) -> None:
    text = "UNWIND range(1, 1000000000) AS i RETURN size(collect($text + i))"
    with pytest.raises(QueryTooLarge, match="too little memory for this query") as got:
        database.read(text, {"text": "x" * 20_000})
    assert got.value.exit_code == 12
    assert "\n" not in str(got.value)
