"""Real dumps, where they are at hand: exact figures, and igraph on every object."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import igraph
import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.cli import main
from ingest.heap.graph import HeapGraph
from ingest.heap.read_options import Fold, ReadOptions
from tests.heaps import measure
from tests.samples import SAMPLES, needs

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = SAMPLES / "gclog/sass.gclog.xz"
DART = SAMPLES / "dartheap/sass.dartheap.xz"
JDK6 = SAMPLES / "hprof/sun_jdk6_18_x64.hprof.xz"

pytestmark = needs(SAMPLE, DART)
EXPECTED = {
    "format": "gclog",
    "objects": 114990,
    "types": 1902,
    "references": 632670,
    "roots": 1,
    "missing_objects": 0,
    "reachable_objects": 85176,
    "reachable_bytes": 8730104,
}


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("packed", [True, False])
def test_the_figures_of_the_sample(
    packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = SAMPLE
    if not packed:
        path = tmp_path / "sass"
        path.write_bytes(lzma.decompress(SAMPLE.read_bytes()))

    with pytest.raises(SystemExit):
        main(["info", str(path), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in EXPECTED} == EXPECTED
    assert found["warnings"] == {}


def retained_by_igraph(graph: HeapGraph) -> tuple[list[int], list[float]]:
    """Retained bytes and distances of every object, all igraph's own work."""
    n = len(graph.object_id)
    sources = np.repeat(np.arange(n), np.diff(graph.ref_start))
    edges = np.concatenate(
        [
            np.stack([np.full(len(graph.root_object), n), graph.root_object], 1),
            np.stack([sources, graph.ref_target], 1),
        ]
    )
    oracle = igraph.Graph(n + 1, edges, directed=True)
    distances = oracle.distances(n)[0][:n]
    above = oracle.dominator(n)[:n]
    tree = igraph.Graph(
        n + 1, [(int(d), v) for v, d in enumerate(above) if d >= 0], directed=True
    )
    order, _, parents = tree.bfs(n)
    retained = [*graph.shallow_bytes.tolist(), 0]
    for v in reversed(order[1:]):
        retained[parents[v]] += retained[v]
    reached = set(order)
    return [retained[v] if v in reached else 0 for v in range(n)], distances


@pytest.mark.slow
def test_every_object_agrees_with_igraph() -> None:
    graph, metrics, _ = measure(str(SAMPLE))

    retained, distances = retained_by_igraph(graph)

    assert metrics.retained_bytes.tolist() == retained
    assert metrics.root_distance.tolist() == [
        -1 if d == float("inf") else int(d) for d in distances
    ]


def dart_info(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    with pytest.raises(SystemExit):
        main(["info", str(DART), "--json", *options])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_the_figures_of_the_dart_sample(capsys: pytest.CaptureFixture[str]) -> None:
    whole = dart_info(capsys, "--fold", "none")
    folded = dart_info(capsys)

    assert whole["format"] == folded["format"] == "dartheap"
    assert whole["objects"] == 114990
    assert whole["types"] == 1902
    assert whole["references"] == 632670
    assert whole["folded_objects"] == whole["folded_references"] == 0
    assert whole["shallow_bytes"] == folded["shallow_bytes"] == 9812552
    assert whole["reachable_objects"] == 85176
    assert whole["reachable_bytes"] == 8730104
    assert folded["objects"] + folded["folded_objects"] == 114990
    assert folded["folded_bytes"] == 0
    assert folded["reachable_bytes"] == whole["reachable_bytes"]
    assert folded["weak_only_bytes"] == whole["weak_only_bytes"]
    assert (
        folded["references"]
        + folded["null_references"]
        + folded["folded_references"]
        + folded["roots"]
        == 632670
    )


@pytest.mark.slow
def test_with_every_reference_strong_the_dart_sample_agrees_with_igraph() -> None:
    graph, _, _ = measure(str(DART), ReadOptions(fold=Fold.NONE))
    strong = replace(graph, ref_kind=None)
    metrics = analyse(strong)

    n = len(strong.object_id)
    sources = np.repeat(np.arange(n), np.diff(strong.ref_start))
    edges = np.stack([sources, strong.ref_target], 1)
    oracle = igraph.Graph(n, edges, directed=True).dominator(0)

    assert strong.object_id[0] == 1
    assert metrics.reachable_count == 85176
    assert metrics.reachable_bytes == 8730104
    assert metrics.root_distance.max() == 22 + 1  # the root itself is at 1
    reached = np.flatnonzero(metrics.root_distance > 1)
    assert metrics.dominator[reached].tolist() == [oracle[i] for i in reached.tolist()]


def test_statics_of_the_dart_sample_are_in_their_classes() -> None:
    graph, _, _ = measure(str(DART))
    assert graph.root_field is not None
    found = {
        (graph.type_names[graph.root_type[r]], graph.field_names[graph.root_field[r]])
        for r in np.flatnonzero(graph.root_type >= 0)
    }

    assert ("dart:async::Zone", "_current") in found
    assert ("dart:async::_ScheduleImmediate", "_closure") in found


@needs(JDK6)
def test_sizes_of_an_old_jvm_are_those_of_its_histogram() -> None:
    """Of each class in both; the histogram was made at another moment."""
    graph, _, _ = measure(str(JDK6))
    histogram = JDK6.with_name("sun_jdk6_18_x64.jmap-histo.txt").read_text("utf-8")
    kinds = graph.type_index[: graph.object_count]
    first = dict(zip(*np.unique(kinds, return_index=True), strict=True))
    ours = {
        name: int(graph.shallow_bytes[first[kind]])
        for kind, name in enumerate(graph.type_names)
        if kind in first
    }
    compared = 0
    for line in histogram.splitlines():
        count, size, name = line.split()
        # Class objects have static fields behind them; arrays have many lengths.
        if name in ours and name != "java.lang.Class":
            assert ours[name] * int(count) == int(size), name
            compared += 1
    assert compared == 121
    assert (
        "reference 8 bytes, alignment 8 bytes (fits 97.8% of the gaps between objects)"
        in graph.producer
    )


V8_SAMPLE = SAMPLES / "v8/farm-node20.heapsnapshot.gz"


@needs(V8_SAMPLE)
def test_the_figures_of_the_v8_sample() -> None:
    """Those that the script which made it, and the snapshot itself, tell."""
    graph, _, _ = measure(str(V8_SAMPLE))

    assert graph.object_count + graph.folded.object_count == 39_877
    references = graph.reference_count + graph.folded.reference_count
    assert references + len(graph.root_object) == 180_829
    assert graph.shallow_bytes.sum() + graph.folded.shallow_bytes == 3_022_403
    counts = dict(zip(graph.type_names, np.bincount(graph.type_index), strict=True))
    # V8 calls 181 nodes so: the prototype is one of them.
    assert counts["Animal"] == 180
    assert analyse(graph).reachable_count == graph.object_count
    assert graph.irregularities == ()
