"""Event handlers, by their holders and by their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ingest.answers.view import numbered
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row
    from ingest.arrays.compiled import Bools, Ints, Longs, Numbers

_LIST = r"System[.](Object|Delegate)\[].*"
_METHOD = r"System\.Reflection\..*"

_MANY_HANDLERS = 1 << 18
"""From this number on, two processors look for lists of them."""


_NO_OBJECT = 2**31 - 1
"""A row after all others."""


def event_handlers(heap: HeapView, values: Values) -> list[Row]:
    kinds = heap.type_index
    is_delegate, is_list = heap.fitting(values["pattern"]), heap.fitting(_LIST)
    live = heap.live(np.flatnonzero(is_delegate[kinds]))
    if not len(live):
        return []
    is_a_list = np.zeros(heap.row_count, np.bool_)
    references = heap.references
    in_ranges(
        lambda first, end: _mark_lists(
            references, live[first:end], kinds, is_list, is_a_list
        ),
        0, len(live), least=_MANY_HANDLERS,
    )  # fmt: skip
    held = heap.pairs(live, into=True, live=True)
    sources, handlers = held["source"].to_numpy(), held["target"].to_numpy()
    keep = ~is_a_list[sources] & (sources != handlers)
    sources, handlers = sources[keep], handlers[keep]
    is_live = np.zeros(heap.row_count, np.bool_)
    is_live[live] = True
    roots = np.flatnonzero(heap.root_holds & is_live[heap.root_object])
    # Texts are numbers until the end.
    code, texts = numbered(pl.concat([heap.captions, heap.root_names.gather(roots)]))
    caption = code.to_numpy()[: len(heap.captions)]
    kind_code, kind_names = numbered(pl.Series(heap.type_names, dtype=pl.String))
    holders = _Holders(
        np.append(handlers, heap.root_object[roots]),
        np.append(sources, np.full(len(roots), _NO_OBJECT)),
        np.append(caption[kinds[sources]], code.to_numpy()[len(heap.captions) :]),
    )
    found = _handled(
        heap, holders, len(texts), kind_code.to_numpy(),
        (is_delegate, is_list, is_delegate | is_list | heap.fitting(_METHOD)),
    )  # fmt: skip
    target = found["target"].to_numpy()
    found = found.with_columns(
        of_target=pl.Series(heap.retained_bytes[target]),
        called=pl.Series(caption[kinds[target]]),
    )
    is_largest = pl.col("of_target") == pl.col("of_target").max()
    groups = found.group_by("group", "called").agg(
        pl.col("one").min(),
        pl.col("handlers").sum().alias("handler_count"),
        pl.len().alias("target_count"),
        pl.col("kept").sum().alias("retained_bytes"),
        pl.col("of_target").sum().alias("target_bytes"),
        pl.col("target").filter(is_largest).min().alias("largest"),
    )
    rows: list[Row] = []
    for row in groups.to_dicts():
        kind, held_by = divmod(row["group"], len(texts))
        holder = None if row["one"] == _NO_OBJECT else heap.declared_type(row["one"])
        called = texts[row["called"]]
        rows.append(
            row
            | {
                "holder": holder or texts[held_by],
                "delegate_type": kind_names[kind],
                "target_type": heap.declared_type(row["largest"]) or called,
                "largest_address": heap.address(row["largest"]),
            }
        )
    rows.sort(
        key=lambda row: (
            -row["retained_bytes"], -row["handler_count"], row["holder"],
            row["delegate_type"], row["target_type"],
        )
    )  # fmt: skip
    return rows[: values["limit"]]


class _Holders(NamedTuple):
    """References to handlers, from objects and roots.

    Attributes:
        handler: Row of each handler.
        one: Row of the object that has the reference, `_NO_OBJECT` for roots.
        held_by: Number of the text that says what has it.
    """

    handler: NDArray[np.int64]
    one: NDArray[np.int64]
    held_by: NDArray[np.int64]


def _handled(
    heap: HeapView,
    holders: _Holders,
    texts: int,
    kind_code: NDArray[np.int64],
    are: tuple[Bools, Bools, Bools],
) -> pl.DataFrame:
    """What the handlers of each group call.

    Columns: ``group``, the number of a type's name times ``texts`` and that of the text
    of a holder, ``target``, ``one``, the first object that has a reference of these,
    ``handlers``, how many delegates call the target, and ``kept``, what they retain.

    Args:
        heap: The heap.
        holders: What refers to handlers.
        texts: How many texts there are.
        kind_code: Number of the name of each type.
        are: The types that `_find_handled` takes.
    """
    kind = heap.type_index[holders.handler]
    group = kind_code[kind] * texts + holders.held_by
    # Each delegate counts once for each type that has a name, in several domains.
    order = np.lexsort((kind, group))
    group, kind = group[order], kind[order]
    is_other_group = np.diff(group, prepend=-1) != 0
    is_other_part = is_other_group | (np.diff(kind, prepend=-1) != 0)
    given = (
        holders.handler[order], holders.one[order], group,
        np.cumsum(is_other_group, dtype=np.int32),
        np.cumsum(is_other_part, dtype=np.int32),
    )  # fmt: skip
    columns = heap.references, heap.type_index, heap.retained_bytes
    stamps = np.zeros((3, heap.row_count), np.int32)
    found, at, used = np.empty((5, len(group)), np.int64), 0, 0
    while at < len(group):
        at, used = _find_handled(*columns, *are, given, at, stamps, found, used)
        if at < len(group):
            larger = np.empty((5, 4 * found.shape[1]), np.int64)
            larger[:, :used] = found[:, :used]
            found = larger
    names = ("group", "target", "one", "handlers", "kept")
    return pl.DataFrame(dict(zip(names, found[:, :used], strict=True)))


@kernel
def _mark_lists(
    references: ReferenceColumns,
    delegates: Longs,
    type_index: Ints,
    is_list: Bools,
    is_a_list: Bools,
) -> None:
    """Mark the lists that some delegates refer to."""
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    for row in delegates:
        for ref in range(start[row], start[row + 1]):
            if is_list[type_index[targets[ref]]] and not (
                some_skipped and skipped[ref]
            ):
                is_a_list[targets[ref]] = True


@kernel
def _called(
    references: ReferenceColumns, delegate: int, type_index: Ints, is_other: Bools
) -> int:
    """The first object that a delegate refers to, in the order of the dump.

    Not the delegate itself, nor one of a type in ``is_other``; -1 if there is none.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, found = len(skipped) > 0, -1
    for ref in range(start[delegate], start[delegate + 1]):
        target = targets[ref]
        if (
            target != delegate
            and (found < 0 or target < found)
            and not (some_skipped and skipped[ref])
            and not is_other[type_index[target]]
        ):
            found = target
    return found


@kernel
def _add(
    references: ReferenceColumns,
    type_index: Ints,
    retained: Longs,
    is_other: Bools,
    delegate: int,
    given: tuple[Longs, Longs, Longs, Ints, Ints],
    at: int,
    stamps: Numbers,
    found: Numbers,
    used: int,
) -> int:
    """Add what a delegate calls, if anything; returns the rows, -1 without room."""
    target = _called(references, delegate, type_index, is_other)
    if target < 0:
        return used
    _, ones, group, number, part = given
    if stamps[0, target] != number[at]:
        if used == found.shape[1]:
            return -1
        stamps[0, target], stamps[1, target] = number[at], used
        found[0, used], found[1, used] = group[at], target
        found[2, used], found[3, used], found[4, used] = ones[at], 0, 0
        used += 1
    row = stamps[1, target]
    found[2, row] = min(found[2, row], ones[at])
    if stamps[2, delegate] != part[at]:
        stamps[2, delegate] = part[at]
        found[3, row] += 1
        found[4, row] += retained[delegate]
    return used


@kernel
def _find_handled(
    references: ReferenceColumns,
    type_index: Ints,
    retained: Longs,
    is_delegate: Bools,
    is_list: Bools,
    is_other: Bools,
    given: tuple[Longs, Longs, Longs, Ints, Ints],
    first: int,
    stamps: Numbers,
    found: Numbers,
    used: int,
) -> tuple[int, int]:
    """Find what handlers call, from ``first`` on, until there is no room.

    Repeating a handler adds nothing twice.

    Args:
        references: The references that are followed.
        type_index: Column of the heap.
        retained: Column of the heap.
        is_delegate: Bool (T + 1,). Types of handlers.
        is_list: Types of lists in which a handler with several targets has them.
        is_other: Types that a delegate does not call.
        given: Columns of handlers, by their groups and the parts of these: handler,
            what has it, its group, and the numbers of group and part, from 1.
        first: The handler to begin with.
        stamps: int32 (3, N + M): the last group in which each object was called, its
            row there, and the last part in which it was a delegate that calls.
        found: int64 (5, F): see `_handled`.
        used: Rows that there are.

    Returns:
        The handler to go on with, and the rows that there are.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, called_by = len(skipped) > 0, stamps[2]
    for at in range(first, len(given[0])):
        handler, is_one = given[0][at], True
        for ref in range(start[handler], start[handler + 1]):
            inner = targets[ref]
            if not is_list[type_index[inner]] or (some_skipped and skipped[ref]):
                continue
            last = start[inner + 1] - 1
            for place in range(start[inner], last + 1):
                # Each look-up leads to the next one: they are asked for one by one.
                fetch(start, targets[min(place + 2 * AHEAD, last)])
                later = targets[min(place + AHEAD, last)]
                fetch(targets, start[later])
                fetch(called_by, later)
                fetch(retained, later)
                delegate = targets[place]
                if not is_delegate[type_index[delegate]] or (
                    some_skipped and skipped[place]
                ):
                    continue
                is_one = False
                rows = _add(
                    references, type_index, retained, is_other, delegate, given, at,
                    stamps, found, used,
                )  # fmt: skip
                if rows < 0:
                    return at, used
                used = rows
        if is_one:
            rows = _add(
                references, type_index, retained, is_other, handler, given, at,
                stamps, found, used,
            )  # fmt: skip
            if rows < 0:
                return at, used
            used = rows
    return len(given[0]), used
