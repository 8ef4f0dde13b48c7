"""Roots of a ``.gcdump``: pseudo nodes between the graph's root and real objects.

A pseudo node has a name in brackets, no size and no address, and is reached from the
root through pseudo nodes only. The objects that it refers to are roots. Their kind
follows from its name, or else from that of its parent: ``[static var Cache.Entries]``,
``[local vars]``, ``[Pinned handles]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.spans import rows_in
from ingest.errors import MalformedDump
from ingest.heap.graph import RootFlag, RootKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.gcdump.nodes import Nodes

_KINDS: tuple[tuple[str, RootKind, int], ...] = (
    ("", RootKind.INTERNAL, 0),
    (r"\[thread static var", RootKind.THREAD_STATIC, 0),
    (r"\[static var", RootKind.STATIC, 0),
    (r"\[pinned local var", RootKind.LOCAL, RootFlag.PINNED),
    (r"\[local var", RootKind.LOCAL, 0),
    (r"\[finalizer", RootKind.FINALIZER_QUEUE, 0),
    (r"\[(?:async ?)?pinn(?:ed|ing)", RootKind.HANDLE, RootFlag.PINNED),
    (r"\[dependent", RootKind.DEPENDENT_HANDLE, 0),
    (r"\[com\b", RootKind.OTHER, 0),
    (r"\[.*handle", RootKind.HANDLE, 0),
    (r"\[(?:other|unknown)", RootKind.OTHER, 0),
)
"""Prefixes of names, root kinds and flags; the first is for other names."""

_THREAD_STATIC_VAR, _STATIC_VAR = 1, 2

_ROOTS_PER_NODE, _FREE_ROOTS = 4, 1 << 20

_PATTERNS = [re.compile(pattern, re.IGNORECASE) for pattern, _, _ in _KINDS]
_STATIC = re.compile(r"\[(?:thread )?static var (.+)\]", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class PseudoNodes:
    """Pseudo nodes, and the roots that they represent.

    Attributes:
        row: int64 (P,). Rows of the pseudo nodes; empty if the root is a real object.
        target: int32 (R,). Rows of the nodes that are roots.
        source: int64 (R,). Rows of their pseudo nodes.
        kind: uint8 (R,). `RootKind` values.
        flags: uint8 (R,). `RootFlag` bits.
    """

    row: NDArray[np.int64]
    target: NDArray[np.int32]
    source: NDArray[np.int64]
    kind: NDArray[np.uint8]
    flags: NDArray[np.uint8]


def find_pseudo_nodes(nodes: Nodes, name: str) -> PseudoNodes:
    """Search breadth-first from the root, through pseudo nodes only.

    Raises:
        MalformedDump: the dump called ``name`` has many more roots than objects. They
            take a byte each in the file, and much more here.
    """
    most = _ROOTS_PER_NODE * nodes.count + _FREE_ROOTS
    type_kind = np.array([_kind_of(name) for name in nodes.type_names], np.int16)
    is_pseudo = (type_kind[nodes.type_index] >= 0) & (nodes.size_bytes == 0)
    is_pseudo &= nodes.address == 0
    kind = np.zeros(nodes.count, np.int16)
    seen = np.zeros(nodes.count, np.bool_)
    levels: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    edges: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    sources: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    level = np.array([nodes.root], np.int64)
    if nodes.root < 0 or not is_pseudo[nodes.root]:
        level = level[:0]
    seen[level] = True
    starts = nodes.ref_start()
    while len(level):
        levels.append(level)
        most -= int((starts[level + 1] - starts[level]).sum())
        if most < 0:
            raise MalformedDump(
                "it has many more roots than objects; collect it again", path=name
            )
        at, source = _edges_of(starts, level)
        child = nodes.ref_target[at]
        is_object = ~is_pseudo[child]
        edges.append(at[is_object])
        sources.append(source[is_object])
        unseen = np.flatnonzero(~is_object & ~seen[child])
        found, first = np.unique(child[unseen], return_index=True)
        own, above = type_kind[nodes.type_index[found]], kind[source[unseen[first]]]
        # ``[thread static vars]`` has ``[static var ...]``, too.
        is_above = (own == 0) | ((own == _STATIC_VAR) & (above == _THREAD_STATIC_VAR))
        kind[found] = np.where(is_above, above, own)
        seen[found] = True
        level = found.astype(np.int64)
    source = np.concatenate(sources)
    root_kinds = np.array([root_kind for _, root_kind, _ in _KINDS], np.uint8)
    root_flags = np.array([flags for _, _, flags in _KINDS], np.uint8)
    return PseudoNodes(
        np.concatenate(levels),
        nodes.ref_target[np.concatenate(edges)],
        source,
        root_kinds[kind[source]],
        root_flags[kind[source]],
    )


def _edges_of(
    ref_start: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indexes of the references of ``rows``, and the row that each belongs to."""
    count = ref_start[rows + 1] - ref_start[rows]
    return rows_in(ref_start[rows], count), np.repeat(rows, count)


def _kind_of(name: str) -> int:
    """Row of `_KINDS` for a name in brackets; -1 for other names."""
    if not (name.startswith("[") and name.endswith("]")):
        return -1
    found = (row for row in range(1, len(_KINDS)) if _PATTERNS[row].match(name))
    return next(found, 0)


def static_of(name: str) -> tuple[str, str] | None:
    """Type and field in the name of a static variable's pseudo node, or ``None``.

    The backing field of a property has its name in angle brackets, perhaps with dots.
    """
    match = _STATIC.fullmatch(name)
    if match is None:
        return None
    path, depth = match[1], 0
    for at in range(len(path) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(path[at], 0)
        if path[at] == "." and depth == 0:
            return path[:at], path[at + 1 :]
    return "", path
