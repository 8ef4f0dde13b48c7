"""Layered layout of a small acyclic graph.

Source: Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical
System Structures (1981): layers by longest path, a dummy vertex in each layer that a
long edge crosses, order within a layer by barycentre.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Edge = tuple[int, int]

_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the vertices, by number; dummy vertices come after the given ones.

    Attributes:
        rows: Vertices of each layer from left to right, top layer first.
        x: Centre of each vertex, from 0, in the unit of the given widths.
        width: Width of the widest row, in the same unit.
        paths: For each edge, the vertices that it passes, including both ends.
    """

    rows: list[list[int]]
    x: list[float]
    width: float
    paths: list[list[int]]


def layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the layer of each vertex: its longest path from a source.

    Args:
        count: Number of vertices.
        edges: Pairs of vertices, from and to.

    Raises:
        ValueError: The edges form a cycle.
    """
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        below[start].append(end)
        waiting[end] += 1
    layer = [0] * count
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    for vertex in ready:
        for end in below[vertex]:
            layer[end] = max(layer[end], layer[vertex] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    if len(ready) < count:
        raise ValueError("the edges form a cycle")
    return layer


def layout(
    count: int, edges: Sequence[Edge], *, width: float, passing: float, gap: float
) -> Layout:
    """Place ``count`` vertices and their edges.

    Args:
        count: Number of vertices, numbered from 0.
        edges: Pairs of vertices, from and to, without cycles.
        width: Width of a vertex.
        passing: Width of an edge that crosses a layer.
        gap: Gap between two neighbours in a layer.
    """
    layer = layers(count, edges)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for vertex, row in enumerate(layer):
        rows[row].append(vertex)
    widths = [width] * count
    paths = []
    for start, end in edges:
        path = [start]
        for row in range(layer[start] + 1, layer[end]):
            rows[row].append(len(widths))
            path.append(len(widths))
            widths.append(passing)
        paths.append([*path, end])
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for path in paths:
        for one, next_ in pairwise(path):
            below[one].append(next_)
            above[next_].append(one)
    _order(rows, above, below)
    x = _place(rows, above, below, widths, gap)
    left = min((x[v] - widths[v] / 2 for row in rows for v in row), default=0.0)
    right = max((x[v] + widths[v] / 2 for row in rows for v in row), default=0.0)
    return Layout(rows, [at - left for at in x], right - left, paths)


def _order(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]]
) -> None:
    """Sort each row by the barycentre of its neighbours, downwards and upwards."""
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        beside = above if down else below
        at = {vertex: place for row in rows for place, vertex in enumerate(row)}
        for row in rows if down else reversed(rows):
            middle = {
                vertex: sum(at[other] for other in beside[vertex]) / len(beside[vertex])
                if beside[vertex]
                else at[vertex]
                for vertex in row
            }
            row.sort(key=middle.__getitem__)
            at.update({vertex: place for place, vertex in enumerate(row)})


def _place(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    widths: list[float],
    gap: float,
) -> list[float]:
    """Return x positions as close as possible to the neighbours above and below."""
    x = [0.0] * len(widths)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        beside = above if down else below
        for row in rows if down else reversed(rows):
            wanted = [
                sum(x[other] for other in beside[vertex]) / len(beside[vertex])
                if beside[vertex]
                else x[vertex]
                for vertex in row
            ]
            edge = float("-inf")
            for vertex, want in zip(row, wanted, strict=True):
                half = widths[vertex] / 2
                x[vertex] = max(want, edge + half)
                edge = x[vertex] + half + gap
            moved = sum(x[vertex] for vertex in row) - sum(wanted)
            for vertex in row:
                x[vertex] -= moved / len(row)
    return x
