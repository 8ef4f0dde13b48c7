"""Garbage that grows from dump to dump, where only circles can be garbage.

A runtime that counts references frees most objects at once. What it leaves are
circles, which wait for its garbage collector. Some garbage always waits: CPython looks
at its old objects only when new ones are a quarter of them. So growing garbage is a
leak if the collector is off, or if there is more than a collector leaves.

Source: python/cpython, InternalDocs/garbage_collector.md, "Collecting the oldest
generation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compare.growth import growing
from ingest.gate.trend import Kind, trend_of
from ingest.runtimes import TypeClass, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.dumps import ComparedDump
    from ingest.compare.growth import Step
    from ingest.gate.rules import Rules

_WAITING_SHARE, _WAITING_OBJECTS = 0.25, 10_000
"""Garbage of more than this share of the heap, and of more objects, is not about to be
freed: a collection of the younger generations begins after 7,000 new containers."""


class Garbage(NamedTuple):
    """Types of garbage that grew in every dump.

    Attributes:
        type_name: Full name of the first type: of the program's own, if one grew.
        below: Full names of the others, the largest first.
        counts: Objects of the first type in each dump.
        more_bytes: Bytes more of all these types, from the first dump to the last.
        confidence: As that of `ingest.gate.trend.Trend`.
        is_kept: Whether the collector does not free it.
        why: Why it is or may be kept, in a sentence.
    """

    type_name: str
    below: tuple[str, ...]
    counts: tuple[int, ...]
    more_bytes: int
    confidence: float
    is_kept: bool
    why: str


def garbage_of(
    dumps: Sequence[ComparedDump], step: Step, rules: Rules
) -> Garbage | None:
    """The garbage that grew in every dump like a leak; ``None`` if none did."""
    runtime = named(dumps[-1].runtime)
    if not runtime.counts_references or any(dump.incomplete for dump in dumps):
        return None
    by_dump = [dump.unreachable for dump in dumps]
    names = sorted(by_dump[-1])
    if not names:
        return None
    figures = np.array([[one.get(name, (0, 0)) for one in by_dump] for name in names])
    counts, sizes = figures[..., 0], figures[..., 1]
    totals = [
        dump.reachable_bytes + sum(size for _, size in one.values())
        for dump, one in zip(dumps, by_dump, strict=True)
    ]
    grew, _ = growing(counts, sizes, step, totals)
    trends = {row: trend_of(counts[row].tolist()) for row in np.flatnonzero(grew)}
    rows = [row for row, trend in trends.items() if trend.kind is Kind.LEAK]
    if not rows:
        return None
    classes = runtime.type_classes(names, rules.own)
    more = sizes[:, -1] - sizes[:, 0]
    rows.sort(key=lambda row: (classes[row] != TypeClass.PROGRAM, -more[row]))
    first, *others = rows
    others.sort(key=lambda row: -more[row])
    if dumps[-1].collects is False:
        is_kept, why = True, "The collector is switched off, so it frees no circles."
    else:
        waiting = sum(size for _, size in by_dump[-1].values())
        objects = sum(count for count, _ in by_dump[-1].values())
        is_kept = waiting > _WAITING_SHARE * totals[-1] and objects > _WAITING_OBJECTS
        why = (
            "That is more than waits for the collector, so it may be unable to free it."
            if is_kept
            else "They may only wait for the collector: call gc.collect() before each "
            "dump to see what stays."
        )
    return Garbage(
        names[first],
        tuple(names[row] for row in others),
        tuple(counts[first].tolist()),
        int(more[rows].sum()),
        trends[first].confidence,
        is_kept,
        why,
    )
