"""The merged paths of several dumps, one row for each fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump

    Flags = NDArray[np.bool_]

TWIN = 0.9
"""Ratio of the smaller to the larger of two counts, from which on a path that came can
be one that went."""

FEWEST_MOVED = 3
"""Fewer objects below a path are not looked for elsewhere."""

_SUMS = ("object_count", "shallow_bytes", "total_bytes", "rest_bytes")


@dataclass(frozen=True, slots=False, eq=False)
class PathTree:
    """The G paths of one tree in D dumps; parents come first, row 0 is the top.

    Attributes:
        fingerprint: Of each path.
        name: Full name of the type at its end, or the kind of root; empty at the top.
        parent: int32 (G,). Row of the path that it continues; -1 at the top.
        object_count, shallow_bytes: int64 (G, D). Objects at the end of the path, and
            their bytes.
        total_bytes: int64 (G, D). Bytes of those, and of all on paths that continue it:
            what they retain, in the tree of dominators.
        is_known: bool (G, D). False where a dump does not have the path, but lists only
            its larger ones, so that it may be one of the others.
    """

    fingerprint: tuple[str, ...]
    name: tuple[str, ...]
    parent: NDArray[np.int32]
    object_count: NDArray[np.int64]
    shallow_bytes: NDArray[np.int64]
    total_bytes: NDArray[np.int64]
    is_known: Flags

    def steps(self, row: int) -> tuple[str, ...]:
        """The names from the top to a path's end."""
        found: list[str] = []
        while row > 0:
            found.append(self.name[row])
            row = int(self.parent[row])
        return tuple(reversed(found))

    @cached_property
    def is_compared(self) -> Flags:
        """Bool (G,): known in all dumps."""
        return np.asarray(self.is_known.all(axis=1))

    def is_above(self, flagged: Flags) -> Flags:
        """Bool (G,): whether a path that this one continues is flagged."""
        found = np.zeros(len(flagged), np.bool_)
        for row, above in enumerate(self.parent.tolist()):
            if above >= 0:
                found[row] = found[above] or flagged[above]
        return found

    def is_below(self, flagged: Flags) -> Flags:
        """Bool (G,): whether a path that continues this one is flagged."""
        found = np.zeros(len(flagged), np.bool_)
        for row in range(len(flagged) - 1, 0, -1):
            if found[row] or flagged[row]:
                found[self.parent[row]] = True
        return found

    def topmost(self, more_objects: Flags, more_bytes: Flags) -> Flags:
        """Bool (G,): where objects accumulate first on their paths.

        A container that grows because it has more in it is not such a place: its
        objects are as many as before. A buffer that grows is, where nothing below it
        explains that.

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
        tree: ``dominators`` or ``root_paths``.
    """
    frames = [_by_fingerprint(dump.paths.filter(tree=tree)) for dump in dumps]
    keys = (
        pl.concat(
            [frame.select("fingerprint", "above", "name", "depth") for frame in frames]
        )
        .group_by("fingerprint", maintain_order=True)
        .agg(pl.first("above", "name"), pl.min("depth"))
        .sort("depth", maintain_order=True)
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
        _known(parent, np.stack(present, axis=1), stacked),
    )


def _by_fingerprint(paths: pl.DataFrame) -> pl.DataFrame:
    """One row for each fingerprint: rows whose steps are not counted are one path."""
    above = paths.select(
        pl.col("path").alias("parent"), pl.col("fingerprint").alias("above")
    )
    rows = paths.join(above, on="parent", how="left", maintain_order="left")
    # Below another row of the same path, its totals are counted there.
    is_first = pl.col("above").is_null() | (pl.col("above") != pl.col("fingerprint"))
    return rows.group_by("fingerprint", maintain_order=True).agg(
        pl.col("above", "name", "depth").filter(is_first).first(),
        pl.sum("object_count", "shallow_bytes", "rest_bytes"),
        pl.col("total_bytes").filter(is_first).sum(),
    )


def _known(
    parent: NDArray[np.int32], present: Flags, sums: dict[str, NDArray[np.int64]]
) -> Flags:
    """Whether a path that a dump does not list is really not in it."""
    known = present.copy()
    rest = sums["rest_bytes"].copy()
    most = sums["total_bytes"].max(axis=1)
    for row, above in enumerate(parent.tolist()):
        for dump in np.flatnonzero(~present[row]).tolist():
            left_out = rest[above, dump] if above >= 0 else 0
            rest[row, dump] = left_out
            known[row, dump] = not left_out or left_out < most[row]
    return known


def moved(tree: PathTree, first: int, last: int) -> dict[int, int]:
    """Paths that went, each with one that came and seems to have the same objects.

    They end in the same type, and have about as many objects and bytes below. Nothing
    is looked for below a pair.

    Args:
        tree: The paths.
        first: The dump that has those that went.
        last: The dump that has those that came.

    Returns:
        Rows of paths that went, to those of paths that came.
    """
    before, after = tree.total_bytes[:, first], tree.total_bytes[:, last]
    gone = tree.is_compared & (before > 0) & (after == 0)
    came: dict[str, list[int]] = {}
    for row in np.flatnonzero(tree.is_compared & (before == 0) & (after > 0)).tolist():
        came.setdefault(tree.name[row], []).append(row)
    found: dict[int, int] = {}
    taken = np.zeros(len(before), np.bool_)
    is_paired = np.zeros(len(before), np.bool_)
    for row in sorted(
        np.flatnonzero(gone).tolist(), key=lambda row: (-before[row], row)
    ):
        if _is_within(tree, row, is_paired):
            continue
        many = int(tree.object_count[row, first])
        best, likeness = -1, TWIN
        for other in came.get(tree.name[row], ()):
            alike = min(
                _ratio(int(before[row]), int(after[other])),
                _ratio(many, int(tree.object_count[other, last])),
            )
            if alike >= likeness and not _is_within(tree, other, taken):
                best, likeness = other, alike + 1e-9
        if best >= 0 and many >= FEWEST_MOVED:
            found[row] = best
            is_paired[row] = taken[best] = True
    return found


def _is_within(tree: PathTree, row: int, flagged: Flags) -> bool:
    while row > 0:
        if flagged[row]:
            return True
        row = int(tree.parent[row])
    return False


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other, 1)
