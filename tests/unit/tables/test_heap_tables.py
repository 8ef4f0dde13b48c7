"""Tables against the graph that they were made of, and against the schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.suspects.find import find_suspects
from ingest.tables.heap_tables import HeapTables
from ingest.tables.mapping import counts, relationships
from ingest.tables.schema import LABELS, RELATIONSHIPS, TABLES, tables_markdown
from ingest.tables.series import addresses
from tests.cypher.dart_heap import dart_heap
from tests.cypher.dotnet_heap import dotnet_heap
from tests.cypher.heap import main_heap, two_domains
from tests.unit.graphs import Held, small_graphs

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


def tables_of(graph: HeapGraph) -> HeapTables:
    return HeapTables(graph, analyse(graph))


@given(small_graphs(), st.integers(1, 7))
def test_references_in_slices_are_those_of_the_graph(
    graph: HeapGraph, step: int
) -> None:
    tables = tables_of(graph)
    found = [
        (source, target)
        for begin in range(0, graph.reference_count, step)
        for source, target, *_ in tables.part(
            "references", begin, min(begin + step, graph.reference_count)
        ).rows()
    ]
    assert found == [
        (i, int(j))
        for i in range(len(graph.object_id))
        for j in graph.ref_target[graph.ref_start[i] : graph.ref_start[i + 1]]
    ]


@pytest.mark.slow
@given(small_graphs())
def test_what_is_counted_is_what_the_graph_has(graph: HeapGraph) -> None:
    tables = tables_of(graph)
    metrics = tables.metrics
    merged = tables.merged.values()
    held = Held(graph)
    holding = len(held.roots) + len(held.references)
    all_references = len(graph.root_object) + graph.reference_count
    expected = {
        "HAS_DOMAIN": len(graph.domains),
        "HAS_ROOT": len(graph.root_object),
        "REFERENCES": holding,
        "WEAKLY_REFERENCES": all_references - holding,
        "STATIC_IN": int((graph.root_type >= 0).sum()),
        "INSTANCE_OF": graph.object_count,
        "DOMINATES": int((metrics.dominator >= -1).sum()),
        "REFERENCES_TYPE": len(metrics.pair_count),
        "HAS_PATH": 2,
        "CONTAINS": sum(len(tree.parent) - 1 for tree in merged),
        "OF_TYPE": sum(int((tree.type_index >= 0).sum()) for tree in merged)
        + len(tables.suspects),
        **dict.fromkeys(("HAS_SUSPECT", "SUSPECTS", "ACCUMULATES_IN"),
                        len(tables.suspects)),
    }  # fmt: skip
    found = counts(tables)
    assert found.relationships == {k: n for k, n in expected.items() if n}
    assert found.nodes.get("Object", 0) == len(graph.object_id)
    assert found.nodes["Dump"] == 1


@pytest.mark.parametrize("graph", [main_heap(), two_domains()], ids=["main", "two"])
def test_a_table_that_is_streamed_is_its_parts(graph: HeapGraph) -> None:
    tables = tables_of(graph)
    for entry in TABLES:
        whole = tables.part(entry.name, 0, tables.rows(entry.name))
        assert tables.lazy(entry.name).collect().equals(whole)
        assert whole.schema == entry.schema
        halves = [0, tables.rows(entry.name) // 2, tables.rows(entry.name)]
        parts = [tables.part(entry.name, a, b) for a, b in pairwise(halves)]
        assert pl.concat(parts).equals(whole)


def test_placeholders_have_no_type() -> None:
    graph = two_domains()
    assert graph.missing_count
    objects = tables_of(graph).part("objects", 0, len(graph.object_id))
    last = objects.tail(graph.missing_count)
    assert last["type"].to_list() == [None] * graph.missing_count
    assert set(last["type_name"]) == {"<missing>"}
    assert set(last["missing"]) == {True}
    assert objects["missing"].null_count() == graph.object_count


@given(small_graphs())
def test_weakly_referenced_is_what_a_weak_reference_sees(graph: HeapGraph) -> None:
    tables = tables_of(graph)
    objects = tables.part("objects", 0, len(graph.object_id))
    references = tables.part("references", 0, graph.reference_count)
    seen = set(references.filter(pl.col("strength").is_not_null())["target"])
    assert set(objects.filter("weakly_referenced")["object"]) == seen
    assert objects["weakly_referenced"].null_count() == len(objects) - len(seen)


@given(small_graphs())
def test_the_top_of_a_type_is_the_largest_that_only_the_roots_dominate(
    graph: HeapGraph,
) -> None:
    tables = tables_of(graph)
    metrics = tables.metrics
    found = tables.part("types", 0, len(graph.type_names))["top_address"].to_list()
    for kind, address in enumerate(found):
        top = [
            i
            for i in range(graph.object_count)
            if graph.type_index[i] == kind and metrics.dominator[i] == -1
        ]
        largest = max(top, key=lambda i: (metrics.retained_bytes[i], -i), default=None)
        assert address == (None if largest is None else graph.address(largest))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_addresses_are_what_hex_writes(ids: list[int]) -> None:
    assert addresses(np.array(ids, np.uint64)).to_list() == [hex(i) for i in ids]


def test_relationships_are_made_of_columns_that_exist() -> None:
    labels = {label.name: label for label in LABELS}
    for relation in RELATIONSHIPS:
        assert set(relation.columns) <= set(relation.table.schema.names())
        for name in (relation.start, relation.end):
            assert labels[name].table is not None or name == "Dump"


@pytest.mark.parametrize(
    "graph",
    [main_heap(), two_domains(), dart_heap(), dotnet_heap()],
    ids=["main", "two", "dart", "dotnet"],
)
def test_null_is_in_optional_columns_only_and_everywhere_in_absent_ones(
    graph: HeapGraph,
) -> None:
    tables = tables_of(graph)
    for entry in TABLES:
        whole = tables.part(entry.name, 0, tables.rows(entry.name))
        absent = tables.absent(entry.name)
        for column in entry.columns:
            nulls = whole[column.name].null_count()
            assert column.optional or not nulls, column.name
            assert column.name not in absent or nulls == len(whole), column.name


def test_only_the_columns_that_are_asked_for_are_made() -> None:
    tables = tables_of(main_heap())
    tables.lazy("types").select("name").collect()
    assert "top_addresses" not in vars(tables)
    chosen = tables.part("types", 0, 2, ["namespace", "name"])
    assert chosen.columns == ["namespace", "name"]
    shown = tables.lazy("types").filter(pl.col("instance_count") > 1).select("name")
    every = tables.lazy("types").collect().filter(pl.col("instance_count") > 1)
    assert shown.collect().equals(every.select("name"))


def test_the_readme_of_an_export_has_units_and_what_may_be_null() -> None:
    text = tables_markdown("parquet")
    assert "## objects.parquet" in text
    assert "| `retained_bytes` | Int64, bytes | bytes freed if it is freed" in text
    assert "| `root_distance` | Int32, may be null |" in text


def test_the_tree_hangs_from_the_dump() -> None:
    graph = main_heap()
    tables = tables_of(graph)
    dominates = [r for r in RELATIONSHIPS if r.name == "DOMINATES"]
    pairs: Counter[tuple[int | None, int]] = Counter()
    for relation in dominates:
        frame = relationships(relation, tables.lazy("dominator_tree")).collect()
        pairs.update(frame.rows())
    assert pairs == Counter(
        (None if d < 0 else int(d), i)
        for i, d in enumerate(tables.metrics.dominator.tolist())
        if d >= -1
    )


@pytest.mark.parametrize(
    "graph",
    [main_heap(), dart_heap(), dotnet_heap()],
    ids=["main", "dart", "dotnet"],
)
def test_suspects_have_their_objects_types_and_words(graph: HeapGraph) -> None:
    tables = tables_of(graph)
    found = find_suspects(graph, tables.metrics).suspects

    frame = tables.part("suspects", 0, tables.rows("suspects"))

    assert frame["object"].to_list() == [s.object_index for s in found]
    assert frame["type"].to_list() == [s.type_index for s in found]
    assert frame["container"].to_list() == [s.container_index for s in found]
    assert frame["path"].to_list() == [list(s.path) for s in found]
    assert frame["rank"].to_list() == list(range(1, len(found) + 1))
    metadata_bytes = find_suspects(graph, tables.metrics).metadata_bytes
    assert tables.dump()["metadata_bytes"] == metadata_bytes


def test_types_with_one_short_name_keep_their_namespaces() -> None:
    graph = main_heap()
    names = ["Web.Session" if n == "App.Node" else n for n in graph.type_names]
    tables = tables_of(replace(graph, type_names=tuple(names)))

    types = tables.part("types", 0, len(names))
    shown = dict(types.select("name", "caption").rows())
    used = tables.part("objects", 0, graph.object_count)["type_name"].unique()

    assert len(set(shown.values())) == len(shown)
    assert shown["App.Session"] == "App.Session"
    assert shown["App.UI.Window"] == "Window"
    assert {"App.Session", "Web.Session", "Window"} <= set(used)
