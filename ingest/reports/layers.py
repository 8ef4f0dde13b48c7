"""Where the vertices of a small acyclic graph stand when it is drawn in layers.

Source: Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical
System Structures (1981): layers by the longest way, long edges through vertices of
their own in each layer, order within a layer by barycentre.
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
    """Vertices by number; from the given count on, those that long edges pass.

    Attributes:
        rows: Vertices of each layer, in order, the first layer first.
        x: Middle of each vertex, from 0, in the unit of the given widths.
        width: Of the widest row.
        ways: For each edge, the vertices that it passes, both ends included.
    """

    rows: list[list[int]]
    x: list[float]
    width: float
    ways: list[list[int]]


def layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Layer of each of ``count`` vertices: the longest way from one without sources.

    Raises:
        ValueError: the edges make a circle.
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
        raise ValueError("the edges make a circle")
    return layer


def layout(
    count: int, edges: Sequence[Edge], *, width: float, passing: float, gap: float
) -> Layout:
    """Place ``count`` vertices and their edges.

    Args:
        count: Vertices, numbered from 0.
        edges: From one vertex to another; no circles.
        width: Of a vertex.
        passing: Of an edge that passes a layer.
        gap: Between two of either.
    """
    layer = layers(count, edges)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for vertex, row in enumerate(layer):
        rows[row].append(vertex)
    widths = [width] * count
    ways = []
    for start, end in edges:
        way = [start]
        for row in range(layer[start] + 1, layer[end]):
            rows[row].append(len(widths))
            way.append(len(widths))
            widths.append(passing)
        ways.append([*way, end])
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for way in ways:
        for one, next_ in pairwise(way):
            below[one].append(next_)
            above[next_].append(one)
    _order(rows, above, below)
    x = _place(rows, above, below, widths, gap)
    left = min((x[v] - widths[v] / 2 for row in rows for v in row), default=0.0)
    right = max((x[v] + widths[v] / 2 for row in rows for v in row), default=0.0)
    return Layout(rows, [at - left for at in x], right - left, ways)


def _order(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]]
) -> None:
    """Sort each row by the middle of its neighbours, downwards and upwards."""
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
    """Each vertex as near to its neighbours as those beside it allow."""
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
