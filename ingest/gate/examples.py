"""An example of what accumulates: one object of a growing path, and what holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.gate.findings import TREE, Rule
from ingest.runtimes import named
from ingest.suspects.holders import Paths

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from numpy.typing import NDArray

    from ingest.gate.findings import Finding
    from ingest.tables.heap_tables import HeapTables

_SAMPLE = 2000
"""Objects of a path that are looked at."""


def with_examples(findings: Sequence[Finding], tables: HeapTables) -> list[Finding]:
    """The findings, those of growth with a path to one of the objects.

    Args:
        findings: About the last dump.
        tables: Of that dump, by which it was judged; with the path of each object.
    """
    grown = {one.fingerprint for one in findings if one.rule is Rule.GROWTH}
    if not grown:
        return list(findings)
    graph, metrics = tables.graph, tables.metrics
    classes = named(graph.runtime).type_classes(graph.type_names, tables.own)
    paths = Paths(graph, metrics, classes)
    objects = _objects_on(grown, tables)
    found = []
    for finding in findings:
        example: tuple[str, ...] = ()
        rows = objects.get(finding.fingerprint)
        if rows is not None and len(rows):
            kind = int(graph.type_index[rows[0]])
            if (held := paths.holder(kind, rows, -1)) is not None:
                example, _ = paths.steps(held[0])
        found.append(replace(finding, example=example))
    return found


def _objects_on(
    wanted: Container[str], tables: HeapTables
) -> dict[str, NDArray[np.int64]]:
    """Some of the objects at the end of each path, by its fingerprint."""
    graph, metrics = tables.graph, tables.metrics
    tree = tables.merged[TREE]
    assert tree.row is not None
    keys = tables.type_paths["fingerprint"].to_list()
    found: dict[str, NDArray[np.int64]] = {}
    for path, (key, above) in enumerate(zip(keys, tree.parent.tolist(), strict=True)):
        # The nodes and tables of a collection are on the same path, below it.
        if key in wanted and key not in found and keys[above] != key:
            on_path = (tree.row == path) & (metrics.root_distance > 0)
            # Rows of paths that are left out are those of the nearest path above.
            on_path &= graph.type_index == tree.type_index[path]
            rows = np.flatnonzero(on_path)
            at = np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(int)
            found[key] = rows[at]
    return found
