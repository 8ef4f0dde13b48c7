"""Every query of the library, on a real server: its rows are those of the tables."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from ingest.answers.asking import FUNCTIONS, answered
from ingest.database.needs import NEEDS, unmet
from ingest.database.questions import ask
from ingest.queries.library import library
from ingest.tables import mapping
from tests.cypher import trace_answers
from tests.cypher.asked_values import instances_by_end, some_values
from tests.cypher.cases import CASES, EACH, HEAPS, Given
from tests.cypher.conftest import drop_heap, load_heap, load_life
from tests.cypher.heap import ladder
from tests.cypher.random_heaps import questions, random_heap
from tests.deep import PROFILE
from tests.dumps.trace import live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.database.connection import Database
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

HEAPS_DRAWN, TRACES = (60, 6) if PROFILE == "deep" else (4, 1)
SOME = {"objects": 40, "ends": 4, "types": 1000}
if PROFILE != "deep":
    SOME = {"objects": 1, "ends": 1, "types": 1}

FITS: dict[str, Callable[[object], bool]] = {
    "STRING": lambda value: isinstance(value, str),
    "INTEGER": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "FLOAT": lambda value: isinstance(value, float),
    "BOOLEAN": lambda value: isinstance(value, bool),
    "ANY": lambda value: isinstance(value, str | int | float | bool),
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


def table_rows(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    """What the tables of the dump answer; of several dumps, what happened to them."""
    values = library()[query].bind(given, loaded.number)
    if query in FUNCTIONS:
        return list(answered(loaded.view, library()[query], values).rows)
    del values["dump"]
    return list(getattr(trace_answers, query.replace("-", "_"))(loaded.heap, **values))


def assert_same(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    """Both engines have the same rows; returns them."""
    rows, expected = (of(loaded, query, given) for of in (rows_of, table_rows))
    if query == "root-paths-of-type":  # any of several shortest paths is used
        assert instances_by_end(rows) == instances_by_end(expected), given
    elif query == "object" and loaded.heap.trace:  # other dumps are not in the tables
        assert [row[:-1] for row in rows] == [row[:-1] for row in expected], given
    else:
        assert rows == expected, (loaded.heap.name, given)
    return rows


def test_each_query_is_asked_and_answered_by_some_heap() -> None:
    """Those of several dumps are asked in `test_comparison` and `test_fleet_graph`."""
    several = ("Comparison", "Fleet")
    alone = {q.name for q in library().values() if q.group not in several}
    assert set(CASES) == alone
    assert {case.query for case in EACH if case.answered} == alone


@pytest.fixture(scope="module")
def random_heaps(database: Database) -> Iterator[list[Loaded]]:
    """Random heaps and the last dumps of random traces, side by side."""
    heaps = []
    for seed in range(HEAPS_DRAWN):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(mapping, "MAX_OF_MOST", 2 * (seed % 5))
            graph = random_heap(seed, most=30 if seed % 3 else 14)
            heaps.append(load_heap(database, graph, "random"))
    earlier = []
    for seed in range(TRACES):
        chance = Random(seed)
        life = live(seed, [0, *(chance.randrange(4) for _ in range(6)), 3])
        *others, last = load_life(database, life)
        heaps.append(last)
        earlier += others
    yield heaps
    for loaded in (*heaps, *earlier):
        drop_heap(loaded)


@pytest.mark.slow(every=8)
@pytest.mark.parametrize("query", sorted(CASES))
def test_both_engines_have_the_same_rows(
    query: str,
    loaded_heap: dict[str, Loaded],
    loaded_garbage: Loaded,
    random_heaps: list[Loaded],
    request: pytest.FixtureRequest,
) -> None:
    """Of known heaps, and of random ones; each beside dumps with the same addresses.

    ``make bench-queries`` shows how many rows were compared.
    """
    compared: Counter[int] = Counter()
    for case in EACH:
        if case.query != query:
            continue
        rows = assert_same(loaded_heap[case.heap], query, case.given)
        assert bool(rows) is case.answered, str(case)
        compared[loaded_heap[case.heap].number] += len(rows)
        if case.heap == "main":
            rows = assert_same(loaded_garbage, query, case.given)
            compared[loaded_garbage.number] += len(rows)
    if query in FUNCTIONS:
        taken = {parameter.name for parameter in library()[query].parameters}
        for loaded in loaded_heap.values():
            for given in some_values(loaded.view, taken, **SOME):
                compared[loaded.number] += len(assert_same(loaded, query, given))
    for at, loaded in enumerate(random_heaps):
        chance = Random(f"{query} {at}")
        for given in questions(chance, library()[query], loaded.heap.graph):
            compared[loaded.number] += len(assert_same(loaded, query, given))
    said = {"heaps": len(+compared), "rows": compared.total()}
    request.node.user_properties += said.items()


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


@pytest.mark.slow
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
