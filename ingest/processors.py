"""How many processors this process may use."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Result = TypeVar("Result")

MAX_THREADS = 8


def thread_count() -> int:
    """Processors that this process may use, at most `MAX_THREADS`.

    A worker of a fleet may use one, which ``NUMBA_NUM_THREADS`` says to Numba too.
    """
    if os.environ.get("NUMBA_NUM_THREADS") == "1":
        return 1
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MAX_THREADS)
    return min(os.cpu_count() or 1, MAX_THREADS)


@contextmanager
def beside(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do some work on another processor while the block runs, if there is one.

    Args:
        work: A kernel, or what else releases the interpreter's lock.

    Yields:
        What returns the result. With one processor, it does the work.
    """
    if thread_count() == 1:
        yield work
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work).result
