"""Roots of a ``.gcdump``: pseudo nodes between the graph's root and real objects.

A pseudo node has a name in brackets, no size and no address, and hangs from the
root by pseudo nodes only. What it refers to has a root; its name, or else that of
the node above, tells which kind: ``[static var Cache.Entries]``, ``[local vars]``,
``[Pinned handles]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import RootFlag, RootKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.gcdump.nodes import Nodes

_KINDS: tuple[tuple[str, RootKind, int], ...] = (
    ("", RootKind.INTERNAL, 0),
    (r"\[thread static var", RootKind.LOCAL, 0),
    (r"\[static var", RootKind.STATIC, 0),
    (r"\[pinned local var", RootKind.LOCAL, RootFlag.PINNED),
    (r"\[local var", RootKind.LOCAL, 0),
    (r"\[finalizer", RootKind.FINALIZER_QUEUE, 0),
    (r"\[(?:async ?)?pinn(?:ed|ing)", RootKind.HANDLE, RootFlag.PINNED),
    (r"\[dependent", RootKind.OTHER, 0),
    (r"\[com\b", RootKind.OTHER, 0),
    (r"\[.*handle", RootKind.HANDLE, 0),
    (r"\[(?:other|unknown)", RootKind.OTHER, 0),
)
"""How names begin, and what they mean; the first is meant where no name tells."""

_PATTERNS = [re.compile(pattern, re.IGNORECASE) for pattern, _, _ in _KINDS]
_STATIC = re.compile(r"\[(?:thread )?static var (.+)\]", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class PseudoNodes:
    """Pseudo nodes, and the roots that they stand for.

    Attributes:
        row: int64 (P,). The pseudo nodes' rows; empty where the root is a real one.
        target: int32 (R,). Nodes that have a root.
        source: int64 (R,). Their pseudo nodes.
        kind: uint8 (R,). `RootKind` values.
        flags: uint8 (R,). `RootFlag` bits.
    """

    row: NDArray[np.int64]
    target: NDArray[np.int32]
    source: NDArray[np.int64]
    kind: NDArray[np.uint8]
    flags: NDArray[np.uint8]


def find_pseudo_nodes(nodes: Nodes) -> PseudoNodes:
    """Walk down from the root as far as there are pseudo nodes."""
    meaning = np.array([_meaning(name) for name in nodes.type_names], np.int16)
    may_be = (meaning[nodes.type_index] >= 0) & (nodes.size_bytes == 0)
    may_be &= nodes.address == 0
    meant = np.zeros(nodes.count, np.int16)
    seen = np.zeros(nodes.count, np.bool_)
    levels: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    edges: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    sources: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    level = np.array([nodes.root], np.int64)
    if nodes.root < 0 or not may_be[nodes.root]:
        level = level[:0]
    seen[level] = True
    starts = nodes.ref_start()
    while len(level):
        levels.append(level)
        at, source = _edges_of(starts, level)
        child = nodes.ref_target[at]
        real = ~may_be[child]
        edges.append(at[real])
        sources.append(source[real])
        fresh = np.flatnonzero(~real & ~seen[child])
        below, first = np.unique(child[fresh], return_index=True)
        own = meaning[nodes.type_index[below]]
        meant[below] = np.where(own > 0, own, meant[source[fresh[first]]])
        seen[below] = True
        level = below.astype(np.int64)
    source = np.concatenate(sources)
    kinds = np.array([kind for _, kind, _ in _KINDS], np.uint8)
    flags = np.array([flag for _, _, flag in _KINDS], np.uint8)
    return PseudoNodes(
        np.concatenate(levels),
        nodes.ref_target[np.concatenate(edges)],
        source,
        kinds[meant[source]],
        flags[meant[source]],
    )


def _edges_of(
    ref_start: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the references of ``rows``, and which row each is of."""
    many = ref_start[rows + 1] - ref_start[rows]
    source = np.repeat(rows, many)
    before = np.repeat(np.cumsum(many) - many, many)
    return ref_start[source] + np.arange(len(source)) - before, source


def _meaning(name: str) -> int:
    """Row of `_KINDS` for a name in brackets; -1 for another one."""
    if not (name.startswith("[") and name.endswith("]")):
        return -1
    found = (row for row in range(1, len(_KINDS)) if _PATTERNS[row].match(name))
    return next(found, 0)


def static_of(name: str) -> tuple[str, str] | None:
    """Type and field that a pseudo node's name tells, if it is a static variable's.

    The field of a property has its own name in angle brackets, with dots perhaps.
    """
    match = _STATIC.fullmatch(name)
    if match is None:
        return None
    whole, depth = match[1], 0
    for at in range(len(whole) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(whole[at], 0)
        if whole[at] == "." and depth == 0:
            return whole[:at], whole[at + 1 :]
    return "", whole
