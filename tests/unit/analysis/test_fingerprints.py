"""Fingerprints: equal for the same path of another run, and only for that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.fingerprints import (
    fingerprint,
    is_inside_collection,
    normalised_owner,
    normalised_reference,
    normalised_type,
    of_suspect,
    of_tree,
)
from ingest.analysis.metrics import analyse
from ingest.heap.graph import RootKind
from ingest.heap.read_options import ReadOptions
from ingest.readers.gclog.example import example_gclog
from ingest.tables.heap_tables import HeapTables
from tests.heaps import measure
from tests.unit.graphs import graph_of

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

SAME = [
    (
        "System.Collections.Generic.Dictionary<System.String,App.Order>",
        "System.Collections.Generic.Dictionary`2[System.String,App.Order]",
        "System.Collections.Generic.Dictionary`2[[System.String, mscorlib, "
        "Version=4.0.0.0],[App.Order, App, Version=1.2.0.0]]",
    ),
    (
        "System.Collections.Generic.Dictionary+Entry<System.String,App.Order[]>[]",
        "System.Collections.Generic.Dictionary+Entry<System.String,App.Order[]>[] "
        "(Ptrs,ElemSize=24)",
        "System.Collections.Generic.Dictionary+Entry`2[System.String,App.Order[]][]",
    ),
    ("App.Grid[,]", "App.Grid[,]"),
    ("App.Main+<>c__DisplayClass3_0", "App.Main+<>c__DisplayClass12_1"),
    ("App.Main+<Run>d__4", "App.Main+<Run>d__17"),
    ("App.Main+<Run>g__Local|3_0", "App.Main+<Run>g__Local|5_1"),
    ("<>f__AnonymousType3`1[App.A]", "<>f__AnonymousType4<App.A>"),
    ("Farm$$Lambda$1/0x00007fc83d002800", "Farm$$Lambda$14/1234", "Farm$$Lambda"),
    ("java.lang.invoke.LambdaForm$MH/0x00007fc8", "java.lang.invoke.LambdaForm$MH"),
    ("jdk.proxy2.$Proxy12", "jdk.proxy1.$Proxy3"),
    ("App$$EnhancerBySpringCGLIB$$1a2b3c", "App$$EnhancerBySpringCGLIB$$ffffff"),
    ("jdk.internal.reflect.GeneratedMethodAccessor7",
        "jdk.internal.reflect.GeneratedMethodAccessor12"),
    ("<type 0x7ffe1234>", "<type 0x7ffe9999>"),
    ("[CCW for App.Proxy RefCnt: 1]", "[CCW for App.Proxy RefCnt: 7]"),
    ("_Foo@123456", "_Foo@99"),
]  # fmt: skip

APART = [
    ("App.Farm$1", "App.Farm$2"),
    ("App.Node<App.A>", "App.Node<App.B>"),
    ("App.A[]", "App.A"),
    ("App.A[]", "App.A[][]"),
    ("App.Model.User", "App.View.User"),
    ("App.Vector2", "App.Vector3"),
    ("App.List`1[App.A[]]", "App.List`1[App.A]"),
]


@pytest.mark.parametrize("names", SAME, ids=lambda names: names[0])
def test_spellings_of_one_type_are_the_same(names: tuple[str, ...]) -> None:
    assert len({normalised_type(name) for name in names}) == 1


@pytest.mark.parametrize("names", APART, ids=lambda names: names[0])
def test_two_types_stay_two(names: tuple[str, str]) -> None:
    assert normalised_type(names[0]) != normalised_type(names[1])


@pytest.mark.parametrize("name", ["[", "]", "A[B", "A]]", "[[[", "A<[,", "", "A[" * 9])
def test_a_name_with_odd_brackets_is_normalised_once(name: str) -> None:
    once = normalised_type(name)

    assert normalised_type(once) == once


def test_indexes_and_numbers_of_threads_do_not_count() -> None:
    assert normalised_reference("[17]") == normalised_reference("[3]") == "[]"
    assert normalised_reference("items[3]") != normalised_reference("other[3]")
    assert normalised_owner("pool-1-thread-7") == "pool-#-thread-#"


@pytest.mark.parametrize(
    ("name", "is_inside"),
    [
        ("java.util.HashMap$Node[]", True),
        ("java.util.HashMap$TreeNode", True),
        ("java.util.concurrent.ConcurrentHashMap$TreeBin", True),
        ("java.util.Hashtable$Entry", True),
        ("System.Collections.Hashtable+bucket[]", True),
        ("System.Collections.Generic.Dictionary`2[A,B]+Entry[]", True),
        ("System.Collections.Concurrent.ConcurrentDictionary+Node<A,B>[]", True),
        ("Entry[System.String,App.A][]", True),
        ("clojure.lang.PersistentHashMap$INode[]", True),
        ("clojure.lang.PersistentHashMap$BitmapIndexedNode", True),
        ("scala.collection.concurrent.INode", True),
        ("clojure.lang.PersistentHashMap", False),
        ("java.util.HashMap", False),
        ("java.util.LinkedList$Node", False),
        ("App.Node", False),
        ("App.Cache+Entry", False),
        ("System.Collections.Generic.Dictionary<A,B>", False),
    ],
)
def test_what_is_inside_a_map(name: str, is_inside: bool) -> None:
    assert is_inside_collection(normalised_type(name)) == is_inside


def test_a_map_that_grows_a_tree_has_the_same_paths() -> None:
    def paths(*steps: str) -> str:
        names = ["", "static", "java.util.HashMap", "java.util.HashMap$Node[]", *steps]
        names.append("App.Order")
        above = list(range(-1, len(names) - 1))
        kinds = ["", "root", *[""] * (len(names) - 2)]
        return of_tree("root_paths", above, names, kinds)[-1]

    listed = paths("java.util.HashMap$Node")

    assert listed == paths("java.util.HashMap$TreeNode")
    assert listed == paths("java.util.HashMap$Node", "java.util.HashMap$TreeNode")
    assert listed != paths("java.util.HashMap$Node", "App.Customer")


def test_steps_have_bounds() -> None:
    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"])
    assert fingerprint([]) == "2-cae66941d9efbd404e4d88758ea67670"  # of an empty text


def test_of_a_suspect_the_holder_the_reference_and_the_type_count() -> None:
    given = {
        "holder": "App.Cache",
        "reference": "items",
        "root_kind": "static",
        "root_type": None,
        "root_owner": None,
        "target": "System.Collections.Generic.List`1[App.Order]",
        "type_name": "App.Order",
    }
    found = of_suspect(**given)  # type: ignore[arg-type]

    for name in ("root_kind", "root_owner"):
        other = given | {name: "other"}
        assert of_suspect(**other) == found  # type: ignore[arg-type]
    for name in ("holder", "reference", "target", "type_name"):
        other = given | {name: "other"}
        assert of_suspect(**other) != found  # type: ignore[arg-type]
    without = given | {"holder": None}
    for name in ("root_kind", "root_type", "root_owner"):
        other = without | {name: "other"}
        assert of_suspect(**other) != of_suspect(**without)  # type: ignore[arg-type]


def moved(graph: HeapGraph, seed: int) -> HeapGraph:
    """The same heap of another run: other addresses, order and numbers of types."""
    random = np.random.default_rng(seed)
    n, count = graph.object_count, len(graph.object_id)
    order = np.arange(count, dtype=np.int64)
    order[:n] = random.permutation(n)
    at = np.argsort(order).astype(np.int32)
    size = np.diff(graph.ref_start)
    of = np.concatenate(
        [np.arange(graph.ref_start[i], graph.ref_start[i + 1]) for i in order]
        or [np.empty(0, np.int64)]
    ).astype(np.int64)
    types = random.permutation(len(graph.type_names))
    kind_at = np.append(np.argsort(types), -1).astype(np.int32)
    roots = random.permutation(len(graph.root_object))
    return replace(
        graph,
        object_id=random.permutation(count).astype(np.uint64) * 8 + 4096,
        type_index=kind_at[graph.type_index[order]],
        shallow_bytes=graph.shallow_bytes[order],
        ref_start=np.append(0, np.cumsum(size[order])),
        ref_target=at[graph.ref_target[of]],
        ref_kind=None if graph.ref_kind is None else graph.ref_kind[of],
        ref_field=None if graph.ref_field is None else graph.ref_field[of],
        root_object=at[graph.root_object[roots]],
        root_kind=graph.root_kind[roots],
        root_flags=graph.root_flags[roots],
        root_type=kind_at[graph.root_type[roots]],
        root_field=None if graph.root_field is None else graph.root_field[roots],
        root_owner=None if graph.root_owner is None else graph.root_owner[roots],
        type_names=tuple(graph.type_names[i] for i in types),
        type_domain=graph.type_domain[types],
        domain_index=(
            None if graph.domain_index is None else graph.domain_index[order]
        ),
        values=None,
        length=None,
        external=None,
        identity_hash=None,
        generation=None,
        segment_index=None,
        segments=(),
        sampling=None,
        history=None,
    )


def paths_of(graph: HeapGraph) -> dict[str, dict[str, int]]:
    """Bytes by fingerprint, of each tree; and of the suspects."""
    tables = HeapTables(graph, analyse(graph, origins=False))
    found: dict[str, dict[str, int]] = {"dominators": {}, "root_paths": {}}
    for row in tables.type_paths.iter_rows(named=True):
        tree = found[row["tree"]]
        key = row["fingerprint"]
        tree[key] = tree.get(key, 0) + row["shallow_bytes"]
    found["suspects"] = {
        suspect.fingerprint: suspect.retained_bytes for suspect in tables.suspects
    }
    return found


def test_the_same_program_has_the_same_fingerprints_wherever_objects_lie(
    tmp_path: Path,
) -> None:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    graph, _, _ = measure(str(path), ReadOptions(), origins=False)
    found = paths_of(graph)

    assert len(found["suspects"]) == 2
    for seed in (1, 2):
        other = paths_of(moved(graph, seed))

        assert other["dominators"] == found["dominators"]
        assert other["suspects"] == found["suspects"]
        # Of several shortest paths the first is taken, which depends on the order.
        same = found["root_paths"].keys() & other["root_paths"].keys()
        assert len(same) > 0.95 * len(found["root_paths"])


def test_static_fields_and_threads_are_steps_of_a_root_path() -> None:
    graph = replace(
        graph_of([], [], [], [], [], roots=range(5), types=[0] * 5),
        type_names=("App.Order",),
        field_names=("open", "closed"),
        owners=("worker 1", "worker 22"),
        root_kind=np.full(5, RootKind.STATIC, np.uint8),
        root_type=np.array([0, 0, -1, -1, -1], np.int32),
        root_field=np.array([0, 1, -1, -1, -1], np.int32),
        root_owner=np.array([-1, -1, 0, 1, -1], np.int32),
    )
    tables = HeapTables(graph, analyse(graph, origins=False))

    paths = tables.type_paths.filter(tree="root_paths")
    steps = tables.type_paths["name"]
    ends = paths.filter(name="Order")
    found = {
        steps[parent]: count
        for parent, count in ends.select("parent", "object_count").iter_rows()
    }
    assert found == {
        "open in Order": 1, "closed in Order": 1, "worker #": 2, "static": 1
    }  # fmt: skip
    assert ends["fingerprint"].n_unique() == 4


def test_the_example_s_fingerprints_are_those_of_every_machine(tmp_path: Path) -> None:
    """A change of these is a change of the rule, which needs a new version."""
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    graph, _, _ = measure(str(path), ReadOptions(), origins=False)

    assert list(paths_of(graph)["suspects"]) == [
        "2-44bf4b607b8788944c62f1f64ab11267",
        "2-ffa39ce5be6787e181021367c048878b",
    ]
