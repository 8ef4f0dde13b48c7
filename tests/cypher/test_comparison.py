"""Queries about two dumps and more, against the comparison of their tables."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import pytest

from ingest.analysis.fingerprints import RULE_VERSION
from ingest.compare.changes import Comparison, compare
from ingest.compare.dimensions import Change, Dimension
from ingest.compare.dumps import of_tables, with_objects_at_the_ends
from ingest.database.links import ReadyDump, chains, link_next
from ingest.database.loaded_dumps import GraphTables
from ingest.database.needs import unmet, why_empty
from ingest.database.questions import ask
from ingest.dumps import Opener
from ingest.queries.library import library
from ingest.readers.gclog.example import example_gclog
from tests.cypher.conftest import drop_heap, load_heap
from tests.heaps import measure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.database.connection import Database
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.slow

LEVELS = (2, 8, 16, 24)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("levels")
    for levels in LEVELS:
        text = example_gclog(levels)
        (folder / f"level{levels}.gclog").write_text(text, encoding="utf-8")
    return [folder / f"level{levels}.gclog" for levels in LEVELS]


@pytest.fixture(scope="module")
def moments(database: Database, files: list[Path]) -> Iterator[list[Loaded]]:
    """A program at four moments, and no other dumps of it before."""
    graphs = [measure(str(path), origins=False)[0] for path in files]
    loaded = [load_heap(database, graph, "moment") for graph in graphs]
    yield loaded
    for one in loaded:
        drop_heap(one)


@pytest.fixture(scope="module")
def found(files: list[Path]) -> Comparison:
    """All four, from the files."""
    return compared(*files)


def compared(*files: Path) -> Comparison:
    named = [str(path) for path in files]
    return compare(with_objects_at_the_ends(Opener().open_all(named)))


def last_two(files: list[Path]) -> Comparison:
    return compared(*files[-2:])


def rows(loaded: Loaded, query: str, **given: str) -> list[dict[str, Any]]:
    known = library()[query]
    answer = ask(loaded.database, known, {"limit": "1000"} | given, loaded.number)
    assert list(answer.columns) == [column.name for column in known.columns]
    return cast("list[dict[str, Any]]", answer.dicts())


@pytest.mark.server
def test_loaded_dumps_are_compared_as_their_files(
    moments: list[Loaded], found: Comparison
) -> None:
    loaded = [
        of_tables(total.name, GraphTables(one.database, one.number))
        for total, one in zip(found.dumps, moments, strict=True)
    ]

    assert compare(loaded).differences == found.differences


@pytest.mark.server
def test_types_that_differ(moments: list[Loaded], files: list[Path]) -> None:
    expected = {
        row.name: (row.more_objects, row.object_count[-1], row.more_bytes)
        for row in last_two(files).of(Dimension.TYPE)
    }
    found = rows(moments[-1], "compare-types")

    assert {
        row["type"]: (
            row["more_objects"],
            row["object_count"],
            row["more_retained_bytes"],
        )
        for row in found
    } == expected
    assert {row["earlier"] for row in found} == {moments[-2].heap.name}
    sizes = [abs(row["more_retained_bytes"]) for row in found]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.server
@pytest.mark.parametrize(
    ("tree", "by"),
    [
        ("dominators", Dimension.DOMINATOR_PATH),
        ("root_paths", Dimension.ROOT_PATH),
    ],
)
def test_paths_on_which_objects_accumulated(
    tree: str, by: Dimension, moments: list[Loaded], files: list[Path]
) -> None:
    expected = {
        row.key: (row.more_objects, row.object_count[-1], row.more_bytes)
        for row in last_two(files).topmost(by)
        if row.more_objects
    }

    found = rows(moments[-1], "compare-paths", tree=tree)

    assert expected
    assert {
        row["fingerprint"]: (
            row["more_objects"],
            row["object_count"],
            row["more_bytes"],
        )
        for row in found
    } == expected


@pytest.mark.server
def test_growth_over_all_moments(moments: list[Loaded], found: Comparison) -> None:
    expected = {
        row.key: (list(row.object_count), row.growth.objects_per_dump)
        for row in found.growing(Dimension.DOMINATOR_PATH)
        if row.growth and row.growth.objects_per_dump and row.growth.since == 0
    }

    answer = {row["fingerprint"]: row for row in rows(moments[-1], "growth", dumps="4")}

    assert expected
    assert answer.keys() == expected.keys()
    for key, (counts, slope) in expected.items():
        assert answer[key]["object_counts"] == counts
        assert answer[key]["objects_per_dump"] == pytest.approx(slope)
    assert rows(moments[-1], "growth", dumps="2") == []


@pytest.mark.server
@pytest.mark.parametrize(("query", "at"), [("new-suspects", -1), ("gone-suspects", 0)])
def test_suspects_that_came_or_went(
    query: str, at: int, moments: list[Loaded], files: list[Path]
) -> None:
    """Suspects of one fingerprint are one in a comparison, and a row each here."""
    found = compared(files[0], files[-1]).of(Dimension.SUSPECT)
    new = {r.key: r.object_count[-1] for r in found if r.change is Change.NEW}
    gone = {r.key: r.object_count[0] for r in found if r.change is Change.GONE}
    assert new
    here, other = moments[at], moments[-1 - at]
    opposite = {"new-suspects": "gone-suspects", "gone-suspects": "new-suspects"}

    for name, expected in ((query, new), (opposite[query], gone)):
        counts: Counter[str] = Counter()
        for row in rows(here, name, earlier=other.heap.name):
            counts[row["fingerprint"]] += row["object_count"]
        assert counts == expected


@pytest.mark.server
def test_dumps_of_two_rules_are_not_compared(moments: list[Loaded]) -> None:
    """Neither dump would have any leak or path of the other one."""
    first, last = moments[0], moments[-1]
    change = """
    MATCH (n:TypePath|Suspect) WHERE n.dump = $dump OR (:Dump {number: $dump})-->(n)
    SET n.fingerprint = $rule + '-' + split(n.fingerprint, '-')[1]
    """
    queries = ("new-suspects", "gone-suspects", "compare-paths")
    database, values = first.database, {"dump": first.number}
    assert unmet(database, ["fingerprints"], last.number) == set()
    database.write(change, values | {"rule": "1"})
    try:
        for name in queries:
            assert rows(last, name, earlier=first.heap.name) == [], name
            said = why_empty(database, library()[name], last.number)
            assert said is not None
            assert "--replace" in said
        assert all(
            len(row["object_counts"]) == len(LEVELS) - 1 for row in rows(last, "growth")
        )
    finally:
        database.write(change, values | {"rule": str(RULE_VERSION)})
    assert any(rows(last, name, earlier=first.heap.name) for name in queries)


@pytest.mark.server
def test_dumps_of_a_program_follow_one_another(moments: list[Loaded]) -> None:
    database = moments[0].database

    def pairs() -> set[tuple[object, ...]]:
        text = "MATCH (a:Dump)-[:NEXT]->(b:Dump) RETURN a.number, b.number"
        return set(database.read(text, {})[1])

    numbers = [one.number for one in moments]
    before = pairs()
    assert set(pairwise(numbers)) <= before

    link_next(database)

    assert pairs() == before
    assert unmet(database, ["earlier"], numbers[-1]) == set()
    first = next(
        (a for a, b in before if b == numbers[0]), None
    )  # another test may have loaded the same program
    if first is None:
        said = why_empty(database, library()["compare-types"], numbers[0])
        assert said is not None
        assert "no earlier dump of this program" in said


def test_chains_are_of_one_program_and_in_the_order_of_time() -> None:
    def dump(
        number: int, paths: str, trace: str | None = None, at: int | None = None
    ) -> ReadyDump:
        return ReadyDump(number, trace or str(number), at, frozenset(paths))

    assert chains([]) == []
    assert chains([dump(3, "abc"), dump(1, "abd"), dump(2, "xyz"), dump(4, "xy")]) == [
        (1, 3),
        (2, 4),
    ]
    # Dumps of a trace are loaded in any order, and may have nothing in common.
    traced = [dump(2, "ab", "t", 30), dump(3, "ab", "t", 10), dump(4, "cd", "t", 40)]
    assert chains([*traced, dump(5, "cd"), dump(1, "ab")]) == [
        (1, 3),
        (3, 2),
        (2, 4),
        (4, 5),
    ]
    assert chains([dump(1, ""), dump(2, "")]) == []
