"""A synthetic heap with what makes queries slow, as gclog text.

The heap of `tests.bench.heaps`, and in four tenths of all objects:

- *delegates*: a quarter of all objects, in one static event with two fifths of them,
  in the events of many publishers with twenty each, and in one list;
- *fan-in*: every target of a delegate refers to one theme;
- *deep lists*: a singly linked one of 10,001 nodes, a doubly linked one of 3,001;
- *a lattice*: forty pairs of objects in a row, with 2^40 shortest paths through them.

Whatever else there is grows with the size; the lists and the lattice do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.heaps import write_heap

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAMES = (
    "System.EventHandler",
    "System.Object[]",
    "Bench.App",
    "Bench.Publisher",
    "Bench.View",
    "System.Collections.Generic.List`1[[System.EventHandler, mscorlib]]",
    "Bench.Theme",
    "Bench.Node",
    "Bench.TwoWayNode",
    "Bench.Step",
)
HANDLER, ARRAY, APP, PUBLISHER, VIEW, LIST, THEME, NODE, TWO_WAY, STEP = range(10)
_FIRST_TYPE, _FIRST_ID = 0x10000, 1 << 32
_STATIC = 4
DEEP, TWO_WAY_DEEP, PAIRS = 10_001, 3_001, 40
LEAST_OBJECTS = 100_000


class _Records:
    """Records of objects; an object's id is its place."""

    def __init__(self) -> None:
        self.lines = [
            f"t {_FIRST_TYPE + kind:x} {name}" for kind, name in enumerate(NAMES)
        ]
        self.count = 0

    def add(self, kind: int, size: int, targets: Iterable[int] = ()) -> int:
        """One object; returns its id."""
        at = _FIRST_ID + 8 * self.count
        self.count += 1
        refers = "".join(f" {target:x}" for target in targets)
        self.lines.append(f"o {at:x} {_FIRST_TYPE + kind:x} {size:x}{refers}")
        return at

    def static(self, at: int) -> None:
        """A static field of the program that refers to an object."""
        self.lines.append(f"r {at:x} {_STATIC} 0 {_FIRST_TYPE + APP:x}")


def write_query_heap(path: Path, objects: int, seed: int = 1) -> None:
    """Write a gclog of about ``objects`` objects to ``path``.

    Raises:
        ValueError: fewer than `LEAST_OBJECTS`.
    """
    if objects < LEAST_OBJECTS:
        raise ValueError(f"at least {LEAST_OBJECTS:,} objects")
    records = _Records()
    _delegates(records, objects // 4)
    _lists(records)
    plain = objects - records.count
    write_heap(path, plain, plain * 5 // 2, seed)
    with path.open("r+b") as file:
        file.seek(-200, 2)
        last = file.read().splitlines(keepends=True)[-1]
        file.seek(-len(last), 2)
        file.write("".join(f"{line}\n" for line in records.lines).encode() + last)


def _delegates(records: _Records, count: int) -> None:
    theme = records.add(THEME, 48)
    records.static(theme)

    def handlers(some: int, targets: list[int]) -> list[int]:
        return [
            records.add(HANDLER, 32, [targets[i % len(targets)]]) for i in range(some)
        ]

    def views(some: int) -> list[int]:
        return [records.add(VIEW, 120, [theme]) for _ in range(some)]

    def event(listed: list[int]) -> int:
        return records.add(HANDLER, 32, [records.add(ARRAY, 4096, listed)])

    many = count * 2 // 5
    records.static(event(handlers(many, views(many))))
    shared = views(many // 5)
    publishers = [
        records.add(PUBLISHER, 40, [event(handlers(20, shared[i * 7 % many // 5 :]))])
        for i in range(many // 20)
    ]
    records.static(records.add(ARRAY, 8 * len(publishers), publishers))
    rest = count - 2 * many
    listed = records.add(ARRAY, 8 * rest, handlers(rest, views(rest // 2)))
    records.static(records.add(LIST, 32, [listed]))


def _lists(records: _Records) -> None:
    below = records.add(VIEW, 4000)
    for _ in range(DEEP):
        below = records.add(NODE, 24, [below])
    records.static(below)
    first = _FIRST_ID + 8 * records.count
    for i in range(TWO_WAY_DEEP):
        here = first + 8 * i
        around = [here - 8] * (i > 0) + [here + 8] * (i < TWO_WAY_DEEP - 1)
        records.add(TWO_WAY, 40, around)
    records.static(first)
    pair = [records.add(STEP, 24)]
    for _ in range(PAIRS):
        pair = [records.add(STEP, 32, pair) for _ in range(2)]
    records.static(pair[0])
    records.static(pair[1])
