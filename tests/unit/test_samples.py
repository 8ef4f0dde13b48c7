"""Real dumps, where they are at hand: exact figures, and igraph on every object."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import igraph
import numpy as np
import pytest

from ingest.cli import main
from ingest.graph import HeapGraph
from ingest.pipeline import measure

SAMPLE = Path(__file__).parents[3] / "shared/samples/gclog/sass.gclog.xz"

pytestmark = pytest.mark.skipif(
    not SAMPLE.exists(), reason=f"NOT RUN: the sample {SAMPLE.name} is not at hand"
)
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


def test_every_object_agrees_with_igraph() -> None:
    graph, metrics, _ = measure(str(SAMPLE))

    retained, distances = retained_by_igraph(graph)

    assert metrics.retained_bytes.tolist() == retained
    assert metrics.root_distance.tolist() == [
        -1 if d == float("inf") else int(d) for d in distances
    ]
