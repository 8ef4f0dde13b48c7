"""The sites that allocated the nodes of a snapshot, if V8 tracked allocations.

``HeapProfiler.startTrackingHeapObjects`` with ``trackAllocations`` makes V8 keep a tree
of the calls that led to allocations. Snapshots then have ``trace_function_infos`` and
``trace_tree``, and each node allocated while tracking has the id of a call.

Source: v8/v8, src/profiler/allocation-tracker.h, and heap-snapshot-generator.cc,
SerializeTraceTree and SerializeTraceNodeInfos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.history import Allocations, History
from ingest.readers.v8.naming import label

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.readers.v8.document import Snapshot

MOST_FRAMES = 32
"""The most functions of a stack that are kept, since a tree may have any depth."""

_OUTERMOST = "(root)"
"""The function that V8 gives the root of the tree."""


def allocations(snapshot: Snapshot) -> History | None:
    """The allocations of nodes whose call is known; ``None`` if none was tracked."""
    tree = snapshot.tree
    nodes = np.flatnonzero(snapshot.trace)
    if not len(tree.id) or not len(nodes):
        return None
    order = np.argsort(tree.id, kind="stable")
    wanted, of = np.unique(snapshot.trace[nodes], return_inverse=True)
    at = order[np.minimum(np.searchsorted(tree.id[order], wanted), len(order) - 1)]
    known = tree.id[at] == wanted
    site = np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)[of]
    nodes, site = nodes[site >= 0], site[site >= 0]
    name = _functions(snapshot)
    return History(
        collections=(),
        allocations=Allocations(
            heap=np.zeros(len(nodes), np.int32),
            address=snapshot.id[nodes],
            site=site,
            allocated_ms=None,
            sites=tuple(_stack(snapshot, call, name) for call in at[known].tolist()),
        ),
    )


def _stack(
    snapshot: Snapshot, call: int, function_name: Callable[[int], str]
) -> tuple[str, ...]:
    """The functions from a call to the outermost one, without the tree's root."""
    tree, names = snapshot.tree, list[str]()
    while call >= 0 and len(names) < MOST_FRAMES:
        name = function_name(int(tree.function[call]))
        call = int(tree.parent[call])
        if call >= 0 or name != _OUTERMOST:
            names.append(name)
    return tuple(names)


def _functions(snapshot: Snapshot) -> Callable[[int], str]:
    """Names of functions with their places, each made once."""
    fields = snapshot.meta.function_fields
    name, script, line, column = map(
        fields.index, ("name", "script_name", "line", "column")
    )
    functions, text = snapshot.tree.functions, snapshot.strings.text
    known: dict[int, str] = {}

    def found(row: int) -> str:
        if row not in known:
            if not 0 <= row < len(functions):
                known[row] = f"<function {row}>"
            else:
                told = functions[row].tolist()
                known[row] = label(
                    text(told[name]), text(told[script]), told[line], told[column]
                )
        return known[row]

    return found
