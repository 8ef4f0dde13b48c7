"""Every query of the library on random heaps, against the twin."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from ingest.queries.library import library
from ingest.tables import mapping
from tests.cypher.conftest import drop_heap, load_heap, load_life
from tests.cypher.random_heaps import questions, random_heap
from tests.cypher.test_reports import rows_of, twin_rows
from tests.cypher.twin import Ambiguous
from tests.deep import PROFILE
from tests.dumps.trace import live

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

HEAPS, TRACES = (60, 6) if PROFILE == "deep" else (6, 1)


@pytest.fixture(scope="module")
def random_heaps(database: Database) -> Iterator[list[Loaded]]:
    """Random heaps and the last dumps of random traces, side by side."""
    heaps = []
    for seed in range(HEAPS):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(mapping, "MAX_OF_MOST", 2 * (seed % 4))
            heaps.append(load_heap(database, random_heap(seed), "random"))
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


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, query in library().items()
        if query.group not in ("Comparison", "Fleet")
    ],
)
def test_a_query_answers_what_the_twin_does(
    name: str, random_heaps: list[Loaded]
) -> None:
    for at, loaded in enumerate(random_heaps):
        chance = Random(f"{name} {at}")
        for given in questions(chance, library()[name], loaded.heap.graph):
            try:
                expected = twin_rows(loaded, name, given)
            except Ambiguous:
                continue
            assert rows_of(loaded, name, given) == expected, f"heap {at}, {given}"
