"""Comparisons of small heaps whose difference is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from ingest.analysis.metrics import analyse
from ingest.compare.changes import Comparison, compare
from ingest.compare.dimensions import Change, Dimension
from ingest.compare.dumps import ComparedDump, of_dump, of_tables
from ingest.compare.growth import growth_of
from ingest.compare.paths import path_tree
from ingest.dumps import Opener
from ingest.errors import DumpError, IngestError
from ingest.heap.identity import Identity
from ingest.tables.export import export
from ingest.tables.export_format import ExportFormat
from ingest.tables.heap_tables import HeapTables
from ingest.tables.parquet import write_parquet
from tests.unit.analysis.test_fingerprints import moved
from tests.unit.graphs import graph_of, small_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

HOLDER, ARRAY, ITEM, PART, OTHER = range(5)


def held(
    items: int, *, holder: int = HOLDER, buffer: int = 100, others: int = 0
) -> HeapGraph:
    """A holder with an array of items, each with a part; a buffer; other objects.

    ::

        root -> 0 holder -> 1 array -> items -> parts
        root -> 2 buffer
        root -> others
    """
    first, rest = 3, 3 + 2 * items
    references: list[list[int]] = [[1], [first + i for i in range(items)], []]
    references += [[first + items + i] for i in range(items)]
    references += [[] for _ in range(items + others)]
    types = [holder, ARRAY, PART, *[ITEM] * items, *[PART] * items, *[OTHER] * others]
    sizes = [16, 16 + 8 * items, buffer, *[24] * items, *[40] * items, *[8] * others]
    return graph_of(
        *references,
        roots=[0, 2, *range(rest, rest + others)],
        types=[*types],
        sizes=sizes,
    )


def dump(graph: HeapGraph, name: str = "a", limit: int = 2000) -> ComparedDump:
    tables = HeapTables(graph, analyse(graph), path_limit=limit)
    return of_tables(name, tables, format_name=graph.format_name)


def changed(*graphs: HeapGraph) -> Comparison:
    names = "abcdefgh"
    return compare(
        [dump(graph, name) for graph, name in zip(graphs, names, strict=False)]
    )


def changes(found: Comparison, by: Dimension) -> dict[str, tuple[str, int, int]]:
    return {
        "/".join(row.steps or (row.name,)): (
            row.change.value,
            row.more_objects,
            row.more_bytes,
        )
        for row in found.of(by)
    }


def test_the_growing_objects_are_topmost_not_their_container() -> None:
    found = changed(held(3), held(10))

    (top,) = found.topmost(Dimension.DOMINATOR_PATH)
    assert top.steps == ("T0", "T1", "T2")
    assert (top.more_objects, top.more_bytes) == (7, 7 * 64)
    assert top.change is Change.GROWN
    assert top.object_count == (3, 10)
    (root_path,) = found.topmost(Dimension.ROOT_PATH)
    assert root_path.steps == ("local", "T0", "T1", "T2")
    assert changes(found, Dimension.DOMINATOR_PATH) == {
        "T0": ("grown", 0, 7 * 72),
        "T0/T1": ("grown", 0, 7 * 72),
        "T0/T1/T2": ("grown", 7, 7 * 64),
        "T0/T1/T2/T3": ("grown", 7, 7 * 40),
    }
    assert changes(found, Dimension.TYPE) == {
        "T0": ("grown", 0, 7 * 72),
        "T1": ("grown", 0, 7 * 72),
        "T2": ("grown", 7, 7 * 64),
        "T3": ("grown", 7, 7 * 40),
    }
    assert found.growing() == []


def test_a_buffer_that_grows_is_topmost_where_nothing_below_explains_it() -> None:
    found = changed(held(3), held(3, buffer=500))

    (top,) = found.topmost(Dimension.DOMINATOR_PATH)
    assert top.steps == ("T3",)
    assert (top.more_objects, top.more_shallow_bytes) == (0, 400)


def test_what_is_new_and_what_is_gone() -> None:
    one, other = held(3, others=4), held(0)

    found = changed(one, other)
    assert changes(found, Dimension.TYPE)["T4"] == ("gone", -4, -32)
    assert changes(found, Dimension.DOMINATOR_PATH)["T4"] == ("gone", -4, -32)
    found = changed(other, one)
    assert changes(found, Dimension.TYPE)["T4"] == ("new", 4, 32)
    row = next(row for row in found.of(Dimension.TYPE) if row.name == "T4")
    total = int(one.shallow_bytes.sum())
    assert row.share == pytest.approx(32 / total)


def test_a_path_that_moves_is_neither_new_nor_gone() -> None:
    found = changed(held(10), held(10, holder=OTHER))

    moves = {row.steps: row.moved_to for row in found.of(Dimension.DOMINATOR_PATH)}
    # The holder is of another type, and what it holds is the same.
    assert moves["T0", "T1", "T2"] == ("T4", "T1", "T2")
    below = next(
        row
        for row in found.of(Dimension.DOMINATOR_PATH)
        if row.steps == ("T4", "T1", "T2", "T3")
    )
    assert below.change is Change.MOVED
    tops = [row.steps for row in found.topmost(Dimension.DOMINATOR_PATH)]
    assert ("T4", "T1", "T2") not in tops


def test_growth_in_every_dump_has_a_slope_and_a_beginning() -> None:
    found = changed(held(0), held(10), held(20), held(30))

    (path,) = found.growing(Dimension.DOMINATOR_PATH)
    assert path.steps == ("T0", "T1", "T2")
    assert path.growth is not None
    assert path.growth.objects_per_dump == pytest.approx(10)
    assert path.growth.bytes_per_dump == pytest.approx(640)
    assert path.growth.fit == pytest.approx(1)
    assert path.growth.since == 1
    assert {row.name for row in found.growing(Dimension.TYPE)} == {"T1", "T2", "T3"}
    assert changed(held(10), held(20), held(15), held(30)).growing() == []


@pytest.mark.parametrize(
    ("counts", "since"),
    [
        ([1, 2, 3], 0),
        ([0, 5, 6], 1),
        ([0, 0, 1], None),
        ([1, 1, 2], None),
        ([3, 2, 1], None),
        ([0, 0, 0], None),
        ([1, 2], None),
        ([5, 0, 6, 7], None),
    ],
)
def test_what_grew_in_every_dump(counts: list[int], since: int | None) -> None:
    found = growth_of(counts, [10 * count for count in counts])

    assert (None if found is None else found.since) == since


def test_bytes_count_where_the_objects_are_as_many() -> None:
    found = growth_of([1, 1, 1], [10, 20, 40])

    assert found is not None
    assert found.objects_per_dump == 0
    assert found.bytes_per_dump == pytest.approx(15)
    assert found.fit == pytest.approx(np.corrcoef([0, 1, 2], [10, 20, 40])[0, 1] ** 2)


@pytest.mark.slow
@given(small_graphs(most=12))
def test_a_heap_whose_objects_moved_has_not_changed(graph: HeapGraph) -> None:
    found = changed(graph, moved(graph, 5))

    assert found.of(Dimension.TYPE) == ()
    assert found.of(Dimension.DOMINATOR_PATH) == ()


@pytest.mark.slow
@given(small_graphs(most=12), small_graphs(most=12))
def test_paths_add_up_in_each_dump(one: HeapGraph, other: HeapGraph) -> None:
    dumps = [dump(one), dump(other, "b")]
    for name in ("dominators", "root_paths"):
        tree = path_tree(dumps, name)

        assert (tree.parent < np.arange(len(tree.parent))).all()
        assert tree.is_known.all()
        below = tree.shallow_bytes.copy()
        for row in range(len(tree.parent) - 1, 0, -1):
            below[tree.parent[row]] += below[row]
        assert below.tolist() == tree.total_bytes.tolist()
        assert tree.total_bytes[0].tolist() == [d.reachable_bytes for d in dumps]


def test_a_path_that_may_be_among_those_left_out_is_not_new() -> None:
    first = dump(held(3), limit=3)
    assert first.paths.filter(tree="dominators").height == 3

    few, many = (
        compare([first, dump(held(3, others=others), "b")]) for others in (1, 50)
    )

    # 100 bytes, the buffer, were left out of the first dump at the top.
    assert few.of(Dimension.DOMINATOR_PATH) == ()
    assert changes(many, Dimension.DOMINATOR_PATH) == {"T4": ("new", 50, 400)}


def test_what_is_odd_about_the_dumps_is_said(tmp_path: Path) -> None:
    same = Identity("5a")
    graph = held(2)
    tables = HeapTables(graph, analyse(graph))
    dumps = [
        of_tables(name, tables, format_name=form, identity=same)
        for name, form in (("a", "hprof"), ("b", "gclog"))
    ]

    notes = compare(dumps).notes

    assert any("different formats (hprof, gclog)" in note for note in notes)
    assert any("a and b are the same dump" in note for note in notes)
    empty = dump(graph_of([], roots=[], types=[0]), "empty")
    assert any("empty has no reachable" in note for note in compare([empty] * 2).notes)
    with pytest.raises(IngestError, match="one dump cannot be compared"):
        compare(dumps[:1])


def test_the_nodes_of_a_map_are_not_further_maps() -> None:
    """A map has more nodes: what grew is what they refer to."""

    def maps(items: int) -> HeapGraph:
        nodes = range(2, 2 + items)
        graph = graph_of(
            [1],
            list(nodes),
            *([items + node] for node in nodes),
            *[[]] * items,
            roots=[0],
            types=[0, 1, *[2] * items, *[3] * items],
        )
        table = "java.util.HashMap$Node"
        names = ("java.util.HashMap", f"{table}[]", table, "App.Order")
        return replace(graph, type_names=names)

    found = changed(maps(2), maps(5))

    (top,) = found.topmost(Dimension.DOMINATOR_PATH)
    assert top.steps == ("java.util.HashMap", "App.Order")
    assert changes(found, Dimension.DOMINATOR_PATH)["java.util.HashMap"][:2] == (
        "grown",
        0,
    )


def test_an_export_is_compared_as_its_file(tmp_path: Path) -> None:
    graph = held(5)
    tables = HeapTables(graph, analyse(graph))
    export(
        tables,
        tmp_path / "out",
        ExportFormat.PARQUET,
        version="5",
        about={"sha256": "00"},
    )

    found = compare([of_dump(Opener().open(str(tmp_path / "out"))), dump(held(9))])

    assert changes(found, Dimension.TYPE)["T2"] == ("grown", 4, 4 * 64)
    assert [total.name for total in found.dumps] == ["out", "a"]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"no types\.parquet"):
        of_dump(Opener().open(str(tmp_path)))
    for name in ("types", "type_paths", "suspects"):
        (tmp_path / f"{name}.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DumpError, match=r"no manifest-parquet\.json"):
        of_dump(Opener().open(str(tmp_path)))


def as_exported(table: pl.LazyFrame, path: Path) -> None:
    """Replace a table of an export as if it had been written so."""
    manifest = path.with_name("manifest-parquet.json")
    about = json.loads(manifest.read_text("utf-8"))
    write_parquet(table, path, export_id=about["export"])
    about["bytes"][path.name] = path.stat().st_size
    manifest.write_text(json.dumps(about), encoding="utf-8")


def test_an_export_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    graph = held(5)
    tables = HeapTables(graph, analyse(graph))
    export(
        tables,
        tmp_path / "out",
        ExportFormat.PARQUET,
        version="5",
        about={"sha256": "00"},
    )
    path = tmp_path / "out" / "type_paths.parquet"
    table = pl.read_parquet(path).drop("fingerprint").lazy()
    as_exported(table, path)

    with pytest.raises(DumpError, match="type_paths has no column fingerprint"):
        of_dump(Opener().open(str(tmp_path / "out")))
