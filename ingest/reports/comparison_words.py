"""Names and words of a comparison of dumps, the same in all its forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compare.dimensions import Change, Dimension
from ingest.words.text import Captions, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.compare.changes import Comparison, Difference

TITLES = {
    Dimension.SUSPECT: "Leak suspects",
    Dimension.DOMINATOR_PATH: "Where objects accumulate: dominator paths",
    Dimension.ROOT_PATH: "Where objects accumulate: shortest root paths",
    Dimension.TYPE: "Types",
    Dimension.NAMESPACE: "Namespaces",
}
_NOT_KNOWN = "Not known, because a dump is incomplete."
_NOTHING = {
    Dimension.SUSPECT: "No dump has a suspect.",
    Dimension.DOMINATOR_PATH: "No path has more objects.",
    Dimension.ROOT_PATH: "No path has more objects.",
    Dimension.TYPE: "No type has more or fewer reachable objects.",
    Dimension.NAMESPACE: "No namespace has more or fewer reachable objects.",
}
HEADLINES = 3
"""The most paths of growth that a comparison begins with."""

MOST_BELOW = 4
"""The most types below a path that are named."""

_BARS = "▁▂▃▄▅▆▇█"
_ROOTS = "roots"


def sparkline(values: Sequence[int]) -> str:
    """Return a character for each value, the higher the larger the value."""
    most = max([*values, 1])
    return "".join(_BARS[min(7, 8 * value // (most + 1))] for value in values)


def more(count: int) -> str:
    """Format a difference with its sign."""
    return f"{count:+,}"


def more_bytes(count: int) -> str:
    """Format a difference of sizes in a suitable unit, with its sign."""
    return f"{'-' if count < 0 else '+'}{human_bytes(abs(count))}"


@dataclass(frozen=True, slots=True)
class Below:
    """Objects of one type that were added with those of a path.

    Attributes:
        name: Short name of the type.
        objects: How many more.
        size: How many more bytes.
    """

    name: str
    objects: int
    size: int


class Wording:
    """Names and sentences of one comparison.

    Attributes:
        comparison: The comparison.
        captions: Short names of its types.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        names: set[str] = set()
        for by in (Dimension.TYPE, Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
            for found in comparison.of(by):
                names.update((found.name, *found.steps))
        self._roots = frozenset(
            tree.name[row]
            for tree in comparison.trees.values()
            for row in np.flatnonzero(~tree.has_objects).tolist()
        )
        self.captions = Captions.of_types(sorted(names - self._roots))
        self._below = {
            by: _children(comparison.of(by))
            for by in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH)
        }

    def short(self, name: str) -> str:
        """Return the short name of a type; kinds and roles of roots as they are."""
        return printable(name if name in self._roots else self.captions.of(name))

    def steps(self, by: Dimension, steps: Sequence[str]) -> list[str]:
        """Return the short names of a path."""
        shown = [self.short(step) for step in steps]
        if by is Dimension.ROOT_PATH and shown:
            shown[0] = f"{steps[0].replace('_', ' ')} {_ROOTS}"
        return shown

    def path(self, by: Dimension, steps: Sequence[str]) -> str:
        """Return a path in one line."""
        return " → ".join(self.steps(by, steps))

    def below(self, found: Difference) -> list[Below]:
        """Return what else is more on paths that continue this one, by type."""
        sums: dict[str, list[int]] = {}
        waiting = [found.key]
        children = self._below[found.by]
        for key in waiting:
            for child in children.get(key, ()):
                entry = sums.setdefault(child.name, [0, 0])
                entry[0] += child.more_objects
                entry[1] += child.more_shallow_bytes
                waiting.append(child.key)
        listed = [
            Below(self.short(name), objects, size)
            for name, (objects, size) in sums.items()
            if objects > 0 or size > 0
        ]
        return sorted(listed, key=lambda one: (-one.size, -one.objects, one.name))

    def grown(self, by: Dimension, most: int) -> list[tuple[Difference, str]]:
        """Paths on which objects accumulate, the largest growth first, and a sentence.

        Args:
            by: The paths.
            most: The most paths.
        """
        rows = [row for row in listed(self.comparison, by) if row.more_objects > 0]
        return [
            (
                row,
                f"{self.added(row)} ({more_bytes(row.more_bytes)} retained, "
                f"{series(row.object_count)} objects): {self.path(by, row.steps)}",
            )
            for row in rows[:most]
        ]

    def headlines(self) -> list[str]:
        """The first sentences of a comparison: suspects that grew, and other paths."""
        first = self.comparison.dumps[0].name
        suspects = [
            one
            for one in listed(self.comparison, Dimension.SUSPECT)
            if one.object_count[-1] > one.object_count[0]
            and one.type_count[-1] > one.type_count[0]
        ]
        if not suspects or not self.comparison.is_complete:
            return self.paths_grown()
        found = [
            printable(f"{one.name} {growth_sentence(one.type_count, first)}")
            for one in suspects
        ]
        told = {one.type_name for one in suspects}
        found += [
            text
            for row, text in self.grown(Dimension.DOMINATOR_PATH, HEADLINES)
            if row.name not in told
        ]
        return found[:HEADLINES]

    def paths_grown(self) -> list[str]:
        """The paths that grew most, or a sentence that none did."""
        by, first = Dimension.DOMINATOR_PATH, self.comparison.dumps[0].name
        found = [text for _, text in self.grown(by, HEADLINES)]
        if self.comparison.is_complete:
            return found or [f"No path has more objects than in {printable(first)}."]
        return found or [_NOT_KNOWN]

    def added(self, found: Difference) -> str:
        """Return how many more objects of which type a path has."""
        name = self.short(found.name)
        if found.more_objects:
            return f"{more(found.more_objects)} {name}"
        return f"{more_bytes(found.more_shallow_bytes)} in {name}"


def nothing(comparison: Comparison, by: Dimension) -> str:
    """The text for a dimension in which nothing is listed."""
    return _NOTHING[by] if comparison.is_complete else _NOT_KNOWN


def _children(rows: Iterable[Difference]) -> dict[str, list[Difference]]:
    found: dict[str, list[Difference]] = {}
    for row in rows:
        if row.parent is not None:
            found.setdefault(row.parent, []).append(row)
    return found


def listed(comparison: Comparison, by: Dimension) -> list[Difference]:
    """The entries that a report lists in a dimension, the largest growth first."""
    rows = comparison.of(by)
    if by in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
        return [row for row in rows if row.is_topmost]
    if by is Dimension.SUSPECT:
        order = list(Change)
        return sorted(rows, key=lambda row: order.index(row.change))
    # What shrank most is as telling as what grew.
    return sorted(rows, key=lambda row: (-abs(row.more_bytes), row.key))


def moved_paths(comparison: Comparison, by: Dimension) -> list[Difference]:
    """Paths that disappeared while one with as many objects appeared."""
    return [row for row in comparison.of(by) if row.moved_to]


def gone_paths(comparison: Comparison, by: Dimension) -> list[Difference]:
    """Paths that disappeared, without those below another such path."""
    gone = {row.key: row for row in comparison.of(by) if row.change is Change.GONE}
    return sorted(
        (row for row in gone.values() if row.parent not in gone),
        key=lambda row: (row.more_bytes, row.key),
    )


def series(counts: Iterable[int]) -> str:
    """Counts of one dump after the other."""
    return " → ".join(f"{count:,}" for count in counts)


def growth_sentence(counts: Sequence[int], before: str) -> str:
    """How the objects of a type became more from dump to dump.

    Args:
        counts: Objects of the type in each dump.
        before: Name of the first dump.
    """
    more = f"{grew:,} more" if (grew := counts[-1] - counts[0]) > 0 else "no more"
    return (
        f"The whole program has {more} objects of this type than in {before}: "
        f"{series(counts)}."
    )
