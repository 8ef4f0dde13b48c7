"""The merged paths of several dumps, one row for each fingerprint."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.fingerprints import normalised_type
from ingest.heap.graph import MISSING_TYPE_NAME

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump
    from ingest.words.text import Captions

    Flags = NDArray[np.bool_]

TWIN = 0.9
"""A new path may be one that disappeared if the smaller of two counts is at least this
share of the larger."""

FEWEST_MOVED = 3
"""With fewer objects below, a path is not looked for elsewhere."""

_SUMS = ("object_count", "shallow_bytes", "total_bytes", "rest_bytes")


@dataclass(frozen=True, slots=False, eq=False)
class PathTree:
    """The G paths of one tree in D dumps; parents come first, row 0 is the top.

    Attributes:
        fingerprint: Fingerprint of each path.
        name: Full name of the type at its end, or the kind or role of the root; empty
            at the top.
        parent: int32 (G,). Row of the path that it continues; -1 at the top.
        object_count, shallow_bytes: int64 (G, D). Objects at the end of the path, and
            their bytes.
        total_bytes: int64 (G, D). Bytes of those objects and of all on paths below; in
            the tree of dominators, what they retain.
        is_known: bool (G, D). False if a dump does not list the path but lists only its
            larger paths, so that it may have this one, too.
        levels: Rows by their number of steps, the top first.
    """

    fingerprint: tuple[str, ...]
    name: tuple[str, ...]
    parent: NDArray[np.int32]
    object_count: NDArray[np.int64]
    shallow_bytes: NDArray[np.int64]
    total_bytes: NDArray[np.int64]
    is_known: Flags
    levels: tuple[slice, ...]

    def steps(self, row: int) -> tuple[str, ...]:
        """The names from the top to a path's end."""
        found: list[str] = []
        while row > 0:
            found.append(self.name[row])
            row = int(self.parent[row])
        return tuple(reversed(found))

    def captions(self, row: int, captions: Captions) -> tuple[str, ...]:
        """The steps to a path's end with the short names of types."""
        found: list[str] = []
        while row > 0:
            name = self.name[row]
            found.append(captions.of(name) if self.has_objects[row] else name)
            row = int(self.parent[row])
        return tuple(reversed(found))

    @cached_property
    def has_objects(self) -> Flags:
        """Bool (G,): whether a path ends in a type, not in a kind or role of roots."""
        return np.asarray((self.object_count > 0).any(axis=1))

    @cached_property
    def is_compared(self) -> Flags:
        """Bool (G,): whether a path is known in all dumps."""
        return np.asarray(self.is_known.all(axis=1))

    def is_above(self, flagged: Flags) -> Flags:
        """Bool (G,): whether a path above this one is flagged."""
        found = np.zeros(len(flagged), np.bool_)
        for rows in self.levels[1:]:
            above = self.parent[rows]
            found[rows] = found[above] | flagged[above]
        return found

    def is_below(self, flagged: Flags) -> Flags:
        """Bool (G,): whether a path below this one is flagged."""
        found = np.zeros(len(flagged), np.bool_)
        for rows in reversed(self.levels[1:]):
            found[self.parent[rows][found[rows] | flagged[rows]]] = True
        return found

    @cached_property
    def stays(self) -> Flags:
        """Bool (G,): whether a path has equally many objects in every dump."""
        count = self.object_count
        return np.asarray(self.has_objects & (count == count[:, :1]).all(axis=1))

    def is_explained(self, flagged: Flags) -> Flags:
        """Bool (G,): whether a flagged path above explains the growth of this one.

        A flagged path explains nothing if objects in between are equally many in every
        dump: what accumulates below these is not part of what accumulates above.
        """
        found = np.zeros(len(flagged), np.bool_)
        for rows in self.levels[1:]:
            above = self.parent[rows]
            found[rows] = (found[above] | flagged[above]) & ~self.stays[rows]
        return found

    @cached_property
    def explained_bytes(self) -> NDArray[np.int64]:
        """int64 (G,): by how much ``total_bytes`` grew from the first dump to the last.

        Growth below objects that are equally many in every dump is not counted.
        """
        more = self.total_bytes[:, -1] - self.total_bytes[:, 0]
        others = np.zeros(len(more), np.int64)
        for rows in reversed(self.levels[1:]):
            left_out = np.where(self.stays[rows], more[rows], others[rows])
            np.add.at(others, self.parent[rows], left_out)
        return np.asarray(more - others)

    def topmost(self, more_objects: Flags, more_bytes: Flags) -> Flags:
        """Bool (G,): the topmost paths on which objects accumulate.

        A container that grows because it has more in it does not count: the number of
        containers is as before. A buffer that grows counts if nothing below it explains
        the growth.

        Args:
            more_objects: Paths with more objects.
            more_bytes: Paths whose objects have more bytes.
        """
        buffers = more_bytes & ~more_objects & ~self.is_below(more_objects)
        grown = more_objects | buffers
        return grown & ~self.is_above(grown)


def path_tree(dumps: Sequence[ComparedDump], tree: str) -> PathTree:
    """Join the paths of all dumps by fingerprint.

    Args:
        dumps: The dumps.
        tree: ``dominators``, ``root_paths`` or ``owner_paths``.
    """
    frames = [_by_fingerprint(dump.paths.filter(tree=tree)) for dump in dumps]
    keys = (
        pl.concat(
            [frame.select("fingerprint", "above", "name", "depth") for frame in frames]
        )
        .group_by("fingerprint", maintain_order=True)
        .agg(
            pl.first("above", "name"),
            pl.n_unique("name").alias("names"),
            pl.min("depth"),
        )
        .sort("depth", maintain_order=True)
        .pipe(_with_common_names)
    )
    columns: dict[str, list[NDArray[np.int64]]] = {name: [] for name in _SUMS}
    present = []
    for frame in frames:
        joined = keys.select("fingerprint").join(
            frame, on="fingerprint", how="left", maintain_order="left"
        )
        present.append(joined["name"].is_not_null().to_numpy())
        for name in _SUMS:
            columns[name].append(joined[name].fill_null(0).to_numpy())
    fingerprints = keys["fingerprint"].to_list()
    row_of = {key: row for row, key in enumerate(fingerprints)}
    parent = np.array(
        [-1 if key is None else row_of[key] for key in keys["above"].to_list()],
        np.int32,
    )
    depth = keys["depth"].to_numpy()
    begins = np.searchsorted(depth, np.unique(depth)).tolist()
    levels = tuple(starmap(slice, pairwise([*begins, len(depth)])))
    stacked = {
        name: np.stack(values, axis=1).astype(np.int64)
        for name, values in columns.items()
    }
    return PathTree(
        tuple(fingerprints),
        tuple(keys["name"].to_list()),
        parent,
        stacked["object_count"],
        stacked["shallow_bytes"],
        stacked["total_bytes"],
        _known(parent, levels, np.stack(present, axis=1), stacked),
        levels,
    )


def _with_common_names(rows: pl.DataFrame) -> pl.DataFrame:
    """The names of paths; a path with several names gets their common part.

    Lambdas, for example, have numbers that differ from run to run.

    Args:
        rows: Rows with ``names``, the number of each path's names, which is removed.
    """
    names = [
        normalised_type(name) if several else name
        for name, several in zip(rows["name"], rows["names"] > 1, strict=True)
    ]
    return rows.with_columns(pl.Series("name", names, pl.String)).drop("names")


def _by_fingerprint(paths: pl.DataFrame) -> pl.DataFrame:
    """One row for each fingerprint; rows whose steps are not counted are merged."""
    above = paths.select(
        pl.col("path").alias("parent"), pl.col("fingerprint").alias("above")
    )
    rows = paths.join(above, on="parent", how="left", maintain_order="left")
    # A row below another one of the same path is the inside of a collection: it is
    # not a further collection, and its totals are counted already.
    is_first = pl.col("above").is_null() | (pl.col("above") != pl.col("fingerprint"))
    grouped = rows.group_by("fingerprint", maintain_order=True).agg(
        pl.col("above", "name", "depth").filter(is_first).first(),
        pl.col("name").filter(is_first).n_unique().alias("names"),
        pl.col("object_count", "total_bytes").filter(is_first).sum(),
        pl.sum("shallow_bytes", "rest_bytes"),
    )
    return _with_common_names(grouped)


def _known(
    parent: NDArray[np.int32],
    levels: Sequence[slice],
    present: Flags,
    sums: dict[str, NDArray[np.int64]],
) -> Flags:
    """Whether a path that a dump does not list is really absent."""
    known = present.copy()
    rest = sums["rest_bytes"].copy()
    most = sums["total_bytes"].max(axis=1)
    for rows in levels[1:]:
        left_out = rest[parent[rows]]
        absent = ~present[rows]
        rest[rows] = np.where(absent, left_out, rest[rows])
        known[rows] |= absent & ((left_out == 0) | (left_out < most[rows, None]))
    return known


def is_unsure(tree: PathTree, dumps: Sequence[ComparedDump]) -> Flags:
    """Bool (G,): whether what grew on a path may be due to a gap in a dump.

    An incomplete dump may lack what kept an object on another path, so that the object
    seems to be new on this one, and even what made an object unreachable. Only one
    thing is sure: no type has more instances because of a gap. So a path grew if it has
    more objects, but not more than its type has new instances. What a dump lacks grew
    nowhere. If the dumps are whole, everything is sure.
    """
    is_whole = np.array([not dump.incomplete for dump in dumps])
    if is_whole.all():
        return np.zeros(len(tree.name), np.bool_)
    types = [normalised_type(name) for name in tree.name]
    of_type = np.array(
        [[dump.instance_counts.get(name, 0) for dump in dumps] for name in types]
    )
    count = tree.object_count
    found = np.array([name == MISSING_TYPE_NAME for name in tree.name], np.bool_)
    found |= count[:, -1] <= count[:, 0]
    for first, last in {(0, len(dumps) - 1), *pairwise(range(len(dumps)))}:
        if not is_whole[[first, last]].all():
            more = of_type[:, last] - of_type[:, first]
            found |= count[:, last] - count[:, first] > np.maximum(more, 0)
    return found


def moved(tree: PathTree, first: int, last: int) -> dict[int, int]:
    """Paths that disappeared, each with a new path that seems to have its objects.

    Both end in the same type, and have about as many objects and bytes below. Paths
    below such a pair are not matched.

    Args:
        tree: The paths.
        first: The dump that has the old paths.
        last: The dump that has the new paths.

    Returns:
        Rows of new paths by rows of old paths.
    """
    before, after = tree.total_bytes[:, first], tree.total_bytes[:, last]
    had, has = tree.object_count[:, first].tolist(), tree.object_count[:, last].tolist()
    is_gone = tree.is_compared & (before > 0) & (after == 0)
    is_gone &= tree.object_count[:, first] >= FEWEST_MOVED
    came: dict[str, list[tuple[int, int]]] = {}
    is_new = tree.is_compared & (before == 0) & (after > 0)
    for row in np.flatnonzero(is_new).tolist():
        came.setdefault(tree.name[row], []).append((int(after[row]), row))
    for found_of_type in came.values():
        found_of_type.sort()
    parent = tree.parent.tolist()
    found: dict[int, int] = {}
    taken: set[int] = set()
    gone = np.flatnonzero(is_gone)
    for row in gone[np.argsort(-before[gone], kind="stable")].tolist():
        others = came.get(tree.name[row])
        if others is None or _is_within(parent, row, found):
            continue
        size = int(before[row])
        begin = bisect_left(others, (int(TWIN * size),))
        best, likeness = -1, TWIN
        for many, other in others[begin:]:
            if TWIN * many > size:
                break
            alike = min(_ratio(size, many), _ratio(had[row], has[other]))
            if alike >= likeness and not _is_within(parent, other, taken):
                best, likeness = other, alike + 1e-9
        if best >= 0:
            found[row] = best
            taken.add(best)
    return found


def _is_within(parent: Sequence[int], row: int, flagged: Container[int]) -> bool:
    while row > 0:
        if row in flagged:
            return True
        row = parent[row]
    return False


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other, 1)
