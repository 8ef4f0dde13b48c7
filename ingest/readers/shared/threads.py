"""Threads for kernels, which release the interpreter's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Item = TypeVar("Item")
    Result = TypeVar("Result")

MAX_THREADS = 8


def thread_count() -> int:
    """Cores that this process may use, at most `MAX_THREADS`."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MAX_THREADS)
    return min(os.cpu_count() or 1, MAX_THREADS)


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
