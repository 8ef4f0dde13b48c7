"""How many threads are worth having: kernels hold no lock."""

from __future__ import annotations

import os

MOST_THREADS = 8


def cores() -> int:
    """Cores that this process may use, but no more than there is work for."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST_THREADS)
    return min(os.cpu_count() or 1, MOST_THREADS)
