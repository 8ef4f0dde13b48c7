"""Memory and processors: what this process uses, and what it may use."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import ThreadPoolExecutor

    Result = TypeVar("Result")


_ROOT, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_CACHED = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)


def used_bytes() -> int:
    """Memory that this process occupies."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def available_bytes(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int:
    """Memory that this process may occupy: what it uses, and what is free."""
    return free_bytes(root, membership) + used_bytes()


def free_bytes(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int:
    """Memory that a process may take besides what it occupies.

    Args:
        root: Folder of the control groups.
        membership: File that names the groups of the process; by default, this one.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    for limit, usage in _groups(root, membership):
        free = min(free, max(0, limit - usage))
    return free


_MMAP_THRESHOLD = -3  # ``M_MMAP_THRESHOLD`` of mallopt(3)
_OWN_MAPPING_BYTES = 4 << 20
_TRIM_THRESHOLD = -1  # ``M_TRIM_THRESHOLD``
_RETAINED_BYTES = 8 << 20


def return_large_arrays() -> None:
    """Have freed arrays of more than four megabytes given back to the system at once.

    The C library learns from each large array that is freed to retain arrays of its
    size, up to 32 MiB: a seventh of all memory at the peak. What smaller ones leave is
    used again, unless that is much: the system clears each page that it gives.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # not in musl
            library.mallopt(_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)
            library.mallopt(_TRIM_THRESHOLD, _RETAINED_BYTES)


def trim() -> None:
    """Give freed memory back to the system.

    The C library retains what threads have freed in small arrays: half as much again
    as the columns that were made of them.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):  # not in musl
            library.malloc_trim(0)


def cgroup_limit(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int | None:
    """The smallest memory limit on this process in bytes; ``None`` if none."""
    return min((limit for limit, _ in _groups(root, membership)), default=None)


def _groups(root: Path, membership: Path) -> Iterator[tuple[int, int]]:
    """Limit and usage of each control group that limits this process, in bytes.

    Cached files do not count as used if the kernel would drop them first.

    Source: Linux kernel, Documentation/admin-guide/cgroup-v2.rst (``memory.max``)
    and cgroup-v1/memory.rst (``memory.limit_in_bytes``).
    """
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0" and not controllers:
            base, name, current = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.limit_in_bytes"
            current = "memory.usage_in_bytes"
        else:
            continue
        # Inside a container the path may be the host's, which is not visible here;
        # then only the root, which is the container's own, can be read.
        inner = PurePosixPath(path.lstrip("/"))
        for folder in (inner, *inner.parents):
            if ".." in folder.parts:
                continue
            text = _text(base / folder / name)
            if text.isdecimal():  # v2 has "max" if there is no limit
                used = _text(base / folder / current)
                cached = _CACHED.search(_text(base / folder / "memory.stat"))
                usage = int(used) if used.isdecimal() else 0
                yield int(text), max(0, usage - (int(cached[1]) if cached else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


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
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are waited for at the end of the block.

    Not if the block is in a generator that is given up: the garbage collector closes
    that at any time, also while the same thread starts or ends another one, and has a
    lock that waiting needs.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(count)
    is_given_up = False
    try:
        yield pool
    except GeneratorExit:
        is_given_up = True
        raise
    finally:
        pool.shutdown(wait=not is_given_up, cancel_futures=is_given_up)


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
    with threads(1) as thread:
        # In our context, which says how arrays are allocated.
        yield thread.submit(copy_context().run, work).result


def ranges(first: int, end: int, *, least: int = 0) -> list[tuple[int, int]]:
    """Divide rows among the processors: the first row and the end of each range.

    Args:
        first: The first row.
        end: Where they end.
        least: Fewer rows than this are one range.
    """
    count = end - first
    parts = 1 if count < least else max(1, min(thread_count(), count))
    bounds = [first + count * part // parts for part in range(parts + 1)]
    return list(pairwise(bounds))


def in_ranges(
    work: Callable[[int, int], Result], first: int, end: int, *, least: int = 0
) -> list[Result]:
    """Do some work for the rows from ``first`` to ``end``, on all processors.

    Args:
        work: Takes the first row and the end of a range. It releases the interpreter's
            lock, as kernels do; the ranges are done in any order.
        first: The first row.
        end: Where they end.
        least: See `ranges`.

    Returns:
        What the work returns, in the order of the rows.
    """
    given = ranges(first, end, least=least)
    if len(given) == 1:
        return [work(*given[0])]
    with threads(len(given) - 1) as pool:
        # In our context, which says how arrays are allocated.
        others = [
            pool.submit(copy_context().run, partial(work, *one)) for one in given[1:]
        ]
        return [work(*given[0]), *(one.result() for one in others)]


def one_ahead(items: Iterable[Result]) -> Iterator[Result]:
    """The same items, of which the next one is made while one is used.

    Args:
        items: What makes them releases the interpreter's lock most of the time, as
            reading a file does.
    """
    if thread_count() == 1:
        yield from items
        return
    end, rest = object(), iter(items)
    with threads(1) as thread:
        coming = thread.submit(next, rest, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, rest, end)
            yield cast("Result", item)
