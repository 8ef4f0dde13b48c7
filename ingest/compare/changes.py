"""What changed between dumps: by type, namespace, path and suspect; and what grew.

`compare` takes dumps in the order of time and returns a `Comparison` without any text:
`ingest.reports` prints it, and a gate reads it. For a gate::

    found = compare([first, second, third])
    for suspect in found.of(Dimension.SUSPECT):
        if suspect.change is Change.NEW: ...          # suspect.fingerprint, .name
    for row in found.growing():                       # with three dumps or more
        row.growth.objects_per_dump, row.growth.fit   # topmost paths, and types

All figures count strongly reachable objects only, so garbage that has not been freed
yet is not growth.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.fingerprints import normalised_type
from ingest.compare.dimensions import PATHS, Change, Dimension
from ingest.compare.dumps import notes_on, notes_on_order
from ingest.compare.growth import FEWEST_DUMPS, Growth, growing, growth_of, is_metadata
from ingest.compare.lives import Lives, lives, why_unknown
from ingest.compare.paths import PathTree, is_unsure, moved, path_tree
from ingest.errors import IngestError
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.runtimes import named
from ingest.words.text import namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump

    Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A type, a namespace, a path or a suspect in D dumps.

    Attributes:
        by: The dimension that it belongs to.
        key: Equal in all dumps: the fingerprint of a path or a suspect, else the name.
        name: Full name of a type, or of the type at the end of a path; for a suspect,
            its sentence in the last dump that has it.
        change: How the last dump differs from the first.
        object_count: Objects in each dump; for a path, those at its end.
        shallow_bytes: Their bytes; empty for suspects.
        retained_bytes: What they retain together: all instances of a type, or all
            objects below a path; empty for namespaces.
        share: Retained bytes (shallow bytes for a namespace) as a share of the
            reachable bytes of the last dump, or of the first one if it is gone; 0 to 1.
        steps: The path from the top, as full names; for a suspect, its path as text.
        parent: Key of the path that it continues; ``None`` for all else.
        is_topmost: For paths: whether objects accumulate here, and not above.
        moved_to: For a path that moved: the steps of the new path.
        growth: How it grew from dump to dump; ``None`` if it did not grow in each, or
            if there are less than three dumps.
        cut: For a suspect: the reference to remove.
        type_name: For a suspect: full name of its type.
        type_count: For a suspect: all objects of its type in each dump.
    """

    by: Dimension
    key: str
    name: str
    change: Change
    object_count: tuple[int, ...]
    shallow_bytes: tuple[int, ...]
    retained_bytes: tuple[int, ...]
    share: float
    steps: tuple[str, ...] = ()
    parent: str | None = None
    is_topmost: bool = False
    moved_to: tuple[str, ...] = ()
    growth: Growth | None = None
    cut: str | None = None
    type_name: str = ""
    type_count: tuple[int, ...] = ()

    @property
    def more_objects(self) -> int:
        """How many more objects the last dump has than the first."""
        return self.object_count[-1] - self.object_count[0]

    @property
    def more_shallow_bytes(self) -> int:
        """Shallow bytes more; 0 for suspects."""
        found = self.shallow_bytes
        return found[-1] - found[0] if found else 0

    @property
    def more_bytes(self) -> int:
        """Retained bytes more; shallow bytes for a namespace."""
        found = self.retained_bytes or self.shallow_bytes
        return found[-1] - found[0]


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of one of the dumps.

    Attributes:
        name: Its name.
        format_name: Its format; ``None`` if that is not known.
        reachable_count, reachable_bytes: Its strongly reachable objects.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.
    """

    name: str
    format_name: str | None
    reachable_count: int
    reachable_bytes: int
    incomplete: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What changed between D dumps, D >= 2.

    Attributes:
        dumps: The dumps in their order.
        notes: Sentences about the dumps, such as that they are of different formats.
        differences: All that changed, by dimension, the largest growth first; suspects
            even if they did not change.
        trees: All paths, changed or not.
        lives: Which objects were born or died from the first dump to the last one;
            ``None`` if they have no identity.
    """

    dumps: tuple[Totals, ...]
    notes: tuple[str, ...]
    differences: Mapping[Dimension, tuple[Difference, ...]]
    trees: Mapping[Dimension, PathTree] = field(repr=False)
    lives: Lives | None = None

    @property
    def is_complete(self) -> bool:
        """Whether each of the dumps is the whole heap, as far as that is known."""
        return not any(dump.incomplete for dump in self.dumps)

    def of(self, by: Dimension) -> tuple[Difference, ...]:
        """What changed in one dimension."""
        return self.differences[by]

    def topmost(self, by: Dimension) -> Iterator[Difference]:
        """The topmost paths on which objects accumulate, the largest growth first."""
        return (found for found in self.of(by) if found.is_topmost)

    def growing(self, by: Dimension | None = None) -> list[Difference]:
        """What grew in every dump, by dimension, the steepest first.

        A path is left out if a path above it grew in every dump, too. Empty with fewer
        than three dumps.
        """
        chosen = [by] if by else list(Dimension)
        return [
            one
            for entry in chosen
            for one in sorted(
                (one for one in self.of(entry) if one.growth), key=_steepness
            )
        ]


def _steepness(found: Difference) -> tuple[float, str]:
    assert found.growth is not None
    return -found.growth.bytes_per_dump, found.key


def compare(dumps: Sequence[ComparedDump]) -> Comparison:
    """Compare dumps that are sorted by time.

    Time and memory are proportional to the types, paths and suspects of all dumps;
    their objects are not looked at.

    Raises:
        IngestError: there are fewer than two.
    """
    if len(dumps) < 2:
        raise IngestError("one dump cannot be compared; name a second one")
    totals = tuple(
        Totals(
            dump.name,
            dump.format_name,
            dump.reachable_count,
            dump.reachable_bytes,
            dump.incomplete,
        )
        for dump in dumps
    )
    trees = {by: path_tree(dumps, name) for by, name in PATHS.items()}
    types, namespaces = _types(dumps, totals)
    differences = {
        Dimension.SUSPECT: _suspects(dumps, totals),
        **{by: _paths(by, tree, dumps, totals) for by, tree in trees.items()},
        Dimension.TYPE: types,
        Dimension.NAMESPACE: namespaces,
    }
    incomplete = [bool(dump.incomplete) for dump in dumps]
    if any(incomplete):
        had, has = dumps[0].instance_counts, dumps[-1].instance_counts
        more = {name: count - had.get(name, 0) for name, count in has.items()}
        differences = {
            by: tuple(_certain(one, incomplete, more.get(one.key, 0)) for one in found)
            for by, found in differences.items()
        }
    notes, lived = [*notes_on_order(dumps), *notes_on(dumps)], None
    if not incomplete[0] and not incomplete[-1]:
        lived = lives(dumps[0], dumps[-1])
        if lived is None and (why := why_unknown(dumps[0], dumps[-1])):
            notes.append(why)
    return Comparison(
        totals,
        tuple(notes),
        differences,
        trees,
        lived,
    )


_MORE = (Change.NEW, Change.GROWN)
_LESS = (Change.GONE, Change.SHRUNK)


def _certain(
    found: Difference, incomplete: Sequence[bool], more_instances: int
) -> Difference:
    """The differences that are certain although some dumps are incomplete.

    What an incomplete dump lacks may only seem to have grown or gone. A type without
    new instances may retain more, or have more reachable ones, only because references
    of other objects are missing.

    Args:
        found: Differences, as if the dumps were whole.
        incomplete: Whether each dump is incomplete.
        more_instances: How many more instances a type has, reachable or not.
    """
    change = found.change
    is_gap = more_instances <= 0 or found.name == MISSING_TYPE_NAME
    uncertain = {
        *(_MORE if incomplete[0] else ()),
        *(_LESS if incomplete[-1] else ()),
        *((Change.MOVED,) if incomplete[0] or incomplete[-1] else ()),
        *(_MORE if is_gap and found.by is Dimension.TYPE else ()),
    }
    if change in uncertain:
        change = Change.UNKNOWN
    return replace(
        found,
        change=change,
        is_topmost=found.is_topmost and not incomplete[0],
        moved_to=() if change is Change.UNKNOWN else found.moved_to,
        growth=None
        if any(incomplete[:-1]) or change is Change.UNKNOWN
        else found.growth,
    )


def _change(*measures: tuple[int, int], present: tuple[bool, bool]) -> Change:
    """The change of the first measure that differs."""
    before, after = present
    if before != after:
        return Change.NEW if after else Change.GONE
    for first, last in measures:
        if first != last:
            return Change.GROWN if last > first else Change.SHRUNK
    return Change.SAME


def _share(values: Sequence[int], totals: Sequence[Totals], change: Change) -> float:
    at = 0 if change is Change.GONE else -1
    return values[at] / max(totals[at].reachable_bytes, 1)


def _ordered(found: list[Difference]) -> tuple[Difference, ...]:
    found.sort(key=lambda one: (-one.more_bytes, -one.more_objects, one.key))
    return tuple(found)


def _types(
    dumps: Sequence[ComparedDump], totals: Sequence[Totals]
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Types and namespaces that changed."""
    names: dict[str, str] = {}
    of_type: dict[str, list[tuple[int, int, int]]] = {}
    of_space: dict[str, list[tuple[int, int]]] = {}
    none, no_space = [(0, 0, 0)] * len(dumps), [(0, 0)] * len(dumps)
    for at, dump in enumerate(dumps):
        for key, total in dump.totals.items():
            names[key] = total.name
            of_type.setdefault(key, list(none))[at] = total[1:]
            space = of_space.setdefault(namespace_of(key), list(no_space))
            objects, shallow = space[at]
            space[at] = (objects + total.object_count, shallow + total.shallow_bytes)
    types = []
    classes = named(dumps[-1].runtime).type_classes([*names])
    is_code = dict(zip(names, is_metadata([*names], classes), strict=True))
    for key, row in of_type.items():
        count, size, retained = (tuple(column) for column in zip(*row, strict=True))
        change = _change(
            (retained[0], retained[-1]),
            (count[0], count[-1]),
            present=(count[0] > 0, count[-1] > 0),
        )
        growth = None if is_code[key] else growth_of(count, size, retained)
        if change is not Change.SAME or growth is not None:
            types.append(
                Difference(
                    Dimension.TYPE,
                    key,
                    names[key],
                    change,
                    count,
                    size,
                    retained,
                    _share(retained, totals, change),
                    growth=growth,
                )
            )
    spaces = []
    for key, pairs in of_space.items():
        count, size = (tuple(column) for column in zip(*pairs, strict=True))
        change = _change(
            (size[0], size[-1]),
            (count[0], count[-1]),
            present=(count[0] > 0, count[-1] > 0),
        )
        if change is not Change.SAME:
            share = _share(size, totals, change)
            spaces.append(
                Difference(
                    Dimension.NAMESPACE, key, key, change, count, size, (), share
                )
            )
    return _ordered(types), _ordered(spaces)


def _paths(
    by: Dimension,
    tree: PathTree,
    dumps: Sequence[ComparedDump],
    totals: Sequence[Totals],
) -> tuple[Difference, ...]:
    """Paths that changed."""
    count, size, total = tree.object_count, tree.shallow_bytes, tree.total_bytes
    unsure = is_unsure(tree, dumps)
    is_compared = tree.is_compared
    is_sure = is_compared & ~unsure
    topmost = tree.topmost(
        is_sure & (count[:, -1] > count[:, 0]),
        is_sure & (size[:, -1] > size[:, 0]),
    )
    more_objects, more_bytes = growing(count, size)
    grew = np.zeros(len(topmost), np.bool_)
    if len(totals) >= FEWEST_DUMPS:
        grew = tree.topmost(is_sure & more_objects, is_sure & more_bytes)
    classes = named(dumps[-1].runtime).type_classes(tree.name)
    is_code = is_metadata(tree.name, classes) & tree.has_objects
    topmost &= ~is_code
    grew &= ~is_code
    pairs = moved(tree, 0, -1)
    is_moved = np.zeros(len(topmost), np.bool_)
    is_moved[list(pairs)] = is_moved[list(pairs.values())] = True
    is_moved_below = tree.is_above(is_moved)
    changed = (count[:, 0] != count[:, -1]) | (size[:, 0] != size[:, -1])
    changed |= total[:, 0] != total[:, -1]
    differences = []
    for row in np.flatnonzero((changed | grew) & is_compared).tolist():
        if not row:
            continue
        counts, sizes, totals_of = (
            tuple(column[row].tolist()) for column in (count, size, total)
        )
        change = _change(
            *((values[0], values[-1]) for values in (counts, sizes, totals_of)),
            present=(totals_of[0] > 0, totals_of[-1] > 0),
        )
        if is_moved[row] or is_moved_below[row]:
            change = Change.MOVED
        elif unsure[row] and change in _MORE:
            change = Change.UNKNOWN
        differences.append(
            Difference(
                by,
                tree.fingerprint[row],
                tree.name[row],
                change,
                counts,
                sizes,
                totals_of,
                _share(totals_of, totals, Change.GONE if not totals_of[-1] else change),
                tree.steps(row),
                tree.fingerprint[int(tree.parent[row])],
                bool(topmost[row]) and change is not Change.MOVED,
                tree.steps(pairs[row]) if row in pairs else (),
                growth_of(counts, sizes, totals_of) if grew[row] else None,
            )
        )
    return _ordered(differences)


def _suspects(
    dumps: Sequence[ComparedDump], totals: Sequence[Totals]
) -> tuple[Difference, ...]:
    """The suspects of all dumps."""
    rows: dict[str, list[dict[str, object]]] = {}
    values: dict[str, list[tuple[int, int]]] = {}
    for at, dump in enumerate(dumps):
        for row in dump.suspects.iter_rows(named=True):
            key = row["fingerprint"]
            rows.setdefault(key, []).append(row)
            found = values.setdefault(key, [(0, 0)] * len(dumps))
            found[at] = (
                found[at][0] + row["object_count"],
                found[at][1] + row["retained_bytes"],
            )
    result = []
    for key, pairs in values.items():
        last = rows[key][-1]
        count, retained = (tuple(column) for column in zip(*pairs, strict=True))
        change = _change(
            (count[0], count[-1]),
            (retained[0], retained[-1]),
            present=(count[0] > 0, count[-1] > 0),
        )
        steps = last["path"]
        assert isinstance(steps, list)
        result.append(
            Difference(
                Dimension.SUSPECT,
                key,
                str(last["sentence"]),
                change,
                count,
                (),
                retained,
                _share(retained, totals, change),
                tuple(steps),
                growth=growth_of(count, retained),
                cut=str(last["cut"]),
                type_name=str(last["type_name"]),
                type_count=tuple(
                    dump.count_of(normalised_type(str(last["type_name"])))
                    for dump in dumps
                ),
            )
        )
    return _ordered(result)
