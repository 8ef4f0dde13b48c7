"""An example of what accumulates: one object of a growing path, and what holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.runtime_types import type_classes
from ingest.analysis.suspect_paths import Paths
from ingest.gate.findings import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.analysis.metrics import HeapMetrics
    from ingest.gate.findings import Finding
    from ingest.heap.graph import HeapGraph

_SAMPLE = 2000
"""Objects of a type that are looked at."""


def with_examples(
    findings: Sequence[Finding],
    graph: HeapGraph,
    metrics: HeapMetrics,
    own: Sequence[str] = (),
) -> list[Finding]:
    """The findings, those of growth with a path to one of the objects.

    Args:
        findings: About the last dump.
        graph: That dump's heap.
        metrics: Its metrics.
        own: Globs of types that are the program's own.
    """
    classes = type_classes(graph.format_name, graph.type_names, own)
    paths = Paths(graph, metrics, classes)
    captions = [graph.captions.of(name) for name in graph.type_names]
    found = []
    for finding in findings:
        example: tuple[str, ...] = ()
        if finding.rule is Rule.GROWTH:
            rows = _objects_on(finding.path, captions, graph, metrics)
            if len(rows):
                kind = int(graph.type_index[rows[0]])
                if (held := paths.holder(kind, rows, -1)) is not None:
                    example, _ = paths.steps(held[0])
        found.append(replace(finding, example=example))
    return found


def _objects_on(
    path: Sequence[str],
    captions: Sequence[str],
    graph: HeapGraph,
    metrics: HeapMetrics,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Some objects whose shortest path from a root has these types."""
    kinds = [row for row, caption in enumerate(captions) if caption == path[-1]]
    rows = np.flatnonzero(
        np.isin(graph.type_index, kinds) & (metrics.root_distance > 0)
    )
    if len(rows) > _SAMPLE:
        rows = rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(int)]
    chosen = []
    for row in rows.tolist():
        above, wanted = row, list(path[1:])
        while above != ROOT and wanted:
            kind = int(graph.type_index[above])
            if kind >= 0 and captions[kind] == wanted[-1]:
                wanted.pop()
            above = int(metrics.path_parent[above])
        # The first step may be a static field or a thread.
        if not wanted or (above == ROOT and wanted == [path[1]]):
            chosen.append(row)
    return np.array(chosen, np.int64)
