"""Root paths before and after, to be drawn side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.compare.dimensions import Dimension
from ingest.reports.comparison_words import listed, moved_paths
from ingest.reports.drawing import Box, Network, Picture, folded, picture
from ingest.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.compare.changes import Difference
    from ingest.compare.paths import PathTree
    from ingest.reports.comparison_words import Wording

MOST_PAIRS = 6
"""Paths that are drawn, those that moved first."""

_WIDTH = 430.0


@dataclass(frozen=True, slots=True)
class PathPair:
    """One path in the first dump and in the last one.

    Attributes:
        title: What changed.
        sides: Of each of the two: the dump's name, and the drawing; ``None`` where the
            dump does not have the path.
    """

    title: str
    sides: tuple[tuple[str, Picture | None], tuple[str, Picture | None]]


def path_pairs(words: Wording, top: int) -> list[PathPair]:
    """The root paths that moved, and those on which objects accumulate."""
    by = Dimension.ROOT_PATH
    rows = [*moved_paths(words.comparison, by)[:top], *listed(words.comparison, by)]
    return [_pair(words, row) for row in rows[: min(top, MOST_PAIRS)]]


def _pair(words: Wording, found: Difference) -> PathPair:
    tree = words.comparison.trees[found.by]
    first, last = words.comparison.dumps[0], words.comparison.dumps[-1]
    before = tree.fingerprint.index(found.key)
    after = _row(tree, found.moved_to) if found.moved_to else before
    title = words.added(found)
    if found.moved_to:
        title = f"{words.short(found.name)} moved"
    return PathPair(
        title,
        (
            (printable(first.name), _drawn(words, tree, before, 0)),
            (printable(last.name), _drawn(words, tree, after, -1)),
        ),
    )


def _row(tree: PathTree, steps: Sequence[str]) -> int:
    """The row of the path with these steps."""
    return next(
        row
        for row, name in enumerate(tree.name)
        if name == steps[-1] and tree.steps(row) == tuple(steps)
    )


def _drawn(words: Wording, tree: PathTree, row: int, dump: int) -> Picture | None:
    """The steps of a path with the figures that they have in a dump."""
    if not tree.total_bytes[row, dump]:
        return None
    rows = list(_up(tree, row))[::-1]
    titles = words.steps(Dimension.ROOT_PATH, tree.steps(row))
    boxes = []
    for at, (step, title) in enumerate(zip(rows, titles, strict=True)):
        kind = "root" if not at else "subject" if step == row else "object"
        count = int(tree.object_count[step, dump])
        size = human_bytes(int(tree.total_bytes[step, dump]))
        objects = f"{count:,} object{'s' * (count != 1)} · " if at else ""
        full = f"{printable(tree.name[step])}, {objects}{size} on this path"
        boxes.append(Box(title, f"{objects}{size}", kind, full, title))
    arrows = dict.fromkeys(pairwise(range(len(boxes))), "")
    return picture(folded(Network(boxes, arrows)), _WIDTH)


def _up(tree: PathTree, row: int) -> Iterator[int]:
    while row > 0:
        yield row
        row = int(tree.parent[row])
