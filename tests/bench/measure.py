"""Running a child process and printing what it cost, beside a limit or a peer.

A child inherits the peak memory of the process that starts it: this one must stay
small, so whatever is heavy is a child (`tests.bench.stages`, or the command).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import psutil

from ingest.system.places import places

if TYPE_CHECKING:
    from collections.abc import Iterator

INGEST = (sys.executable, "-m", "ingest")


@dataclass(frozen=True)
class Limited:
    """A figure that has a limit.

    Attributes:
        what: The work.
        value: The figure.
        unit: Of figure and limit; ``x`` for times another figure of this run.
        limit: What it may be.
    """

    what: str
    value: float
    unit: str
    limit: float

    @property
    def is_over(self) -> bool:
        """Whether it is above its limit."""
        return self.value > self.limit


limited: list[Limited] = []
"""All figures with a limit, told once more at the end."""


@dataclass(frozen=True)
class Run:
    """One process: wall clock and CPU in seconds, peak memory in MiB, its output."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str


def run(*command: str) -> Run:
    """Run a command to its end; it must succeed."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, cpu, usage.ru_maxrss / 1024, output)


def fastest(times: int, *command: str) -> Run:
    """The fastest of some runs: on a shared machine the one least disturbed."""
    return min((run(*command) for _ in range(times)), key=lambda each: each.wall_s)


def stage(name: str, *arguments: str) -> dict[str, Any]:
    """What a stage of `tests.bench.stages` found, with ``peak_mib`` of its process."""
    done = run(sys.executable, "-m", "tests.bench.stages", name, *arguments)
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return {"peak_mib": done.peak_mib, **found}


@dataclass
class Peak:
    """Most memory that some processes had together, in MiB."""

    mib: float = 0.0


@contextmanager
def peak_of_all() -> Iterator[Peak]:
    """Watch the embedded server and all that this process starts, four times a second.

    What they share counts for each of them.
    """
    peak, ended, home = Peak(), Event(), str(places().state.resolve())

    def watch() -> None:
        while not ended.wait(0.25):
            ours = {process.pid for process in psutil.Process().children(True)}
            total = 0
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    if process.pid in ours or home in " ".join(process.cmdline()):
                        total += process.memory_info().rss
            peak.mib = max(peak.mib, total / 2**20)

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def head(title: str) -> None:
    """The heading of one table."""
    print(f"\n{title}", flush=True)
    print(f"{'':<40}{'here':>10}{'':5}{'rate':>14}  {'beside':<26}{'':>9}{'ratio':>7}")


def row(
    what: str,
    value: float,
    unit: str,
    *,
    limit: float | None = None,
    peer: tuple[str, float] | None = None,
    rate: tuple[float, str] | None = None,
    note: str = "",
) -> None:
    """One line: the value, its rate, and its ratio to the limit or to the peer.

    A ratio to a limit is the part of it that was used; to a peer, how many times
    what we took the peer took.
    """
    text = f"{what:<40}{value:>10.2f} {unit:<4}"
    text += f"{rate[0]:>10,.0f} {rate[1]:<3}" if rate else " " * 14
    if limit is not None:
        text += f"  {'limit':<26}{limit:>9.1f}{value / limit:>6.2f}x"
        limited.append(Limited(what, value, unit, limit))
        if limited[-1].is_over:
            text += "  OVER"
    if peer is not None:
        text += f"  {peer[0]:<26}{peer[1]:>9.1f}{peer[1] / value:>6.2f}x"
    print(f"{text}  {note}".rstrip(), flush=True)


def compared(
    what: str, value: float, peer: tuple[str, float], limit: float | None = None
) -> None:
    """One line: how many times a peer's figure of this run ours is."""
    times = value / peer[1]
    row(f"{what}, of {peer[0]}", times, "x", limit=limit)


def summary() -> None:
    """All figures with a limit in one table, and at the end what is over its limit."""
    if not limited:
        return
    print(f"\n{'what has a limit':<60}{'here':>9}{'':6}{'limit':>8}{'used':>7}")
    for one in limited:
        over = "  OVER" if one.is_over else ""
        print(
            f"{one.what:<60}{one.value:>9,.2f} {one.unit:<5}{one.limit:>8,.2f}"
            f"{100 * one.value / one.limit:>5.0f} %{over}"
        )
    above = [one.what for one in limited if one.is_over]
    print(f"\n{len(above)} of {len(limited)} over their limit"
          f"{': ' if above else ''}{'; '.join(above)}")  # fmt: skip


def exponent(sizes: list[int], values: list[float]) -> float:
    """The power of the size that fits the values best: slope in log-log."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return above / sum((a - x) ** 2 for a in xs)
