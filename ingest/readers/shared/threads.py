"""Threads for kernels, which release the interpreter's lock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from ingest.processors import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Item = TypeVar("Item")
    Result = TypeVar("Result")


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[Result]:
    """The result of ``work`` for each item, in order, computed on all cores.

    A single item is not worth a thread: most dumps of tests and fleets are small.
    """
    threads = min(thread_count(), len(items))
    if threads <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)
