"""What tests of several binary readers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.metrics import analyse
from ingest.heap.graph import RefKind, RootFlag, RootKind

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


class Pieces:
    """A source that comes in pieces."""

    name = "test"
    truncated = False

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = data, size

    def expect_values(self) -> None:
        """Nothing is compressed here."""

    def chunks(self, _progress: object, _size: int = 0) -> list[bytes]:
        size = self._size
        return [self._data[i : i + size] for i in range(0, len(self._data), size)]


def by_id(graph: HeapGraph) -> dict[int, int]:
    """Rows by address."""
    return {int(number): row for row, number in enumerate(graph.object_id)}


def targets(graph: HeapGraph, row: int) -> list[int]:
    """Addresses of what an object refers to."""
    begin, end = graph.ref_start[row], graph.ref_start[row + 1]
    return [int(graph.object_id[t]) for t in graph.ref_target[begin:end]]


def references(graph: HeapGraph, ident: int) -> list[tuple[int, str | None]]:
    """Addresses and fields of what an object refers to."""
    row = by_id(graph)[ident]
    return [
        (int(graph.object_id[graph.ref_target[at]]), graph.field_name(at))
        for at in range(graph.ref_start[row], graph.ref_start[row + 1])
    ]


def value(graph: HeapGraph, ident: int) -> str | None:
    assert graph.values is not None
    return graph.values.pick(np.array([by_id(graph)[ident]]))[0]


def root_names(graph: HeapGraph, ident: int) -> list[str]:
    row = by_id(graph)[ident]
    found = np.flatnonzero(graph.root_object == row).tolist()
    return [graph.root_name(at) for at in found]


def weak(graph: HeapGraph, at: int) -> bool:
    return graph.ref_kind is not None and bool(graph.ref_kind[at] == RefKind.WEAK)


def alive(graph: HeapGraph) -> set[int]:
    """Addresses of what is strongly reachable."""
    metrics = analyse(graph)
    reached = metrics.root_distance > 0
    if metrics.strength is not None:
        reached &= metrics.strength == RefKind.STRONG
    return {int(graph.object_id[row]) for row in np.flatnonzero(reached)}


def roots(graph: HeapGraph) -> list[tuple[int, str, str]]:
    """Address, kind with flags, and ``Type.field`` of each root."""
    found = []
    for r in range(len(graph.root_object)):
        kind = RootKind(graph.root_kind[r]).label
        bits = [f.name.lower() for f in RootFlag if graph.root_flags[r] & f]
        name = ""
        if graph.root_type[r] >= 0:
            name = graph.type_names[graph.root_type[r]]
        if graph.root_field is not None and graph.root_field[r] >= 0:
            name += "." + graph.field_names[graph.root_field[r]]
        address = int(graph.object_id[graph.root_object[r]])
        found.append((address, " ".join([kind, *bits]), name))
    return found


def warnings(graph: HeapGraph) -> dict[str, int]:
    return {found.kind: found.count for found in graph.irregularities}


def same(one: HeapGraph, two: HeapGraph) -> bool:
    """Whether two graphs have the same objects, references and roots."""
    columns = (
        "object_id", "type_index", "shallow_bytes", "ref_start", "ref_target",
        "root_object", "root_kind", "root_flags", "root_type",
    )  # fmt: skip
    return (
        all(np.array_equal(getattr(one, name), getattr(two, name)) for name in columns)
        and one.type_names == two.type_names
        and one.irregularities == two.irregularities
    )
