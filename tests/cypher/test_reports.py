"""Every query of the library, on a real server, against the twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.needs import NEEDS, unmet
from ingest.database.questions import ask
from ingest.queries.library import library
from tests.cypher import (
    answers,
    dart_answers,
    dotnet_answers,
    jvm_answers,
    more_answers,
    place_answers,
    python_answers,
    trace_answers,
    v8_answers,
)
from tests.cypher.cases import CASES, EACH, HEAPS, Case, Given
from tests.cypher.conftest import drop_heap, load_heap
from tests.cypher.heap import ladder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingest.database.connection import Database
    from ingest.queries.library import Value
    from tests.cypher.conftest import Loaded
    from tests.cypher.twin import Heap

pytestmark = pytest.mark.server

FITS: dict[str, Callable[[object], bool]] = {
    "STRING": lambda value: isinstance(value, str),
    "INTEGER": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "FLOAT": lambda value: isinstance(value, float),
    "BOOLEAN": lambda value: isinstance(value, bool),
    "LIST<STRING>": lambda value: (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    ),
    "LIST<INTEGER>": lambda value: (
        isinstance(value, list) and all(isinstance(item, int) for item in value)
    ),
}


def rows_of(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    """The server's answer, with columns and types held against the header."""
    answer = ask(loaded.database, library()[query], given, loaded.number)
    columns = library()[query].columns
    assert list(answer.columns) == [column.name for column in columns]
    for row in answer.rows:
        for column, value in zip(columns, row, strict=True):
            fits = value is None or FITS[column.type](value)
            assert fits, f"{column.name}: {value!r} is no {column.type}"
    return list(answer.rows)


def twin_rows(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    return twin_of(loaded.heap, query, library()[query].bind(given, loaded.number))


def twin_of(
    heap: Heap, query: str, bound: Mapping[str, Value]
) -> list[tuple[object, ...]]:
    """What the twin answers to a query of one heap."""
    values = {name: value for name, value in bound.items() if name != "dump"}
    name = query.replace("-", "_")
    rooms = (
        answers,
        more_answers,
        dart_answers,
        place_answers,
        dotnet_answers,
        jvm_answers,
        trace_answers,
        v8_answers,
        python_answers,
    )
    twin = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return list(twin(heap, **values))


def test_each_query_is_asked_and_answered_by_some_heap() -> None:
    """Those of several dumps are asked in `test_comparison` and `test_fleet_graph`."""
    several = ("Comparison", "Fleet")
    alone = {q.name for q in library().values() if q.group not in several}
    assert set(CASES) == alone
    assert {case.query for case in EACH if case.answered} == alone


@pytest.mark.parametrize("case", EACH, ids=str)
def test_a_query_answers_what_the_twin_does(
    case: Case, loaded_heap: dict[str, Loaded]
) -> None:
    """Beside a second dump with the same addresses and types."""
    loaded = loaded_heap[case.heap]
    expected = twin_rows(loaded, case.query, case.given)
    assert bool(expected) is case.answered
    assert rows_of(loaded, case.query, case.given) == expected


@pytest.mark.parametrize(
    "case",
    {case.query: case for case in reversed(EACH) if case.heap == "main"}.values(),
    ids=lambda case: case.query,
)
def test_the_second_dump_of_the_same_heap_has_the_same_answers(
    case: Case, loaded_heap: dict[str, Loaded]
) -> None:
    copy = loaded_heap["copy"]
    expected = twin_rows(copy, case.query, case.given)
    assert rows_of(copy, case.query, case.given) == expected


LACKING = {
    "main": {"dart", "fields", "texts", "external", "owners", "sites", "lifetimes"},
    "dart": {"dotnet", "segments", "generations", "handles", "finalizers", "pinned"},
    "trace": {"dart", "fields", "texts", "segments", "statics"},
}


@pytest.mark.parametrize("heap", HEAPS)
def test_a_heap_meets_the_needs_of_the_queries_that_it_answers(
    heap: str, loaded_heap: dict[str, Loaded]
) -> None:
    loaded = loaded_heap[heap]
    lacking = unmet(loaded.database, list(NEEDS), loaded.number)
    answered = {case.query for case in EACH if case.heap == heap and case.answered}

    assert {q for q in answered if lacking.intersection(library()[q].needs)} == set()
    assert lacking >= LACKING.get(heap, set())


def test_every_need_is_met_by_a_heap(loaded_heap: dict[str, Loaded]) -> None:
    needed = {word for query in library().values() for word in query.needs}
    unmet_by_all = needed - {"fleet"}
    for heap in HEAPS:
        loaded = loaded_heap[heap]
        unmet_by_all &= unmet(loaded.database, list(NEEDS), loaded.number)

    assert unmet_by_all == set()


def test_paths_of_hundreds_of_steps(database: Database) -> None:
    # The queries go up a hundred steps at a time, or by the distances of all objects.
    loaded = load_heap(database, ladder(205), "ladder")
    rows = loaded.heap.graph.object_id.tolist()
    pairs = [(0x1000 + 32 * rung, 0x1010 + 32 * rung) for rung in range(205)]
    first = [min(pair, key=rows.index) for pair in pairs]

    def path(query: str, given: Given) -> list[object]:
        address = [column.name for column in library()[query].columns].index("address")
        return [row[address] for row in rows_of(loaded, query, given)]

    try:
        for rung in (1, 2, 98, 99, 100, 101, 199, 200, 201, 204):
            target = pairs[rung][1]
            above = [*map(hex, first[:rung]), hex(target)]
            assert path("shortest-root-path", {"address": hex(target)}) == [
                None,
                *above,
            ]
            given = {"from": "0x1000", "to": hex(target)}
            assert path("path-between", given) == ["0x1000", *above[1:]]
    finally:
        drop_heap(loaded)
