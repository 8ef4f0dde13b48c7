"""``make fuzz``: read changed dumps, and count what came of them."""

from __future__ import annotations

import argparse
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import IO

import psutil

from tests.conftest import TEST_CACHE
from tests.fuzz.others import OTHERS, all_seeds
from tests.fuzz.seeds import SEEDS
from tests.fuzz.worker import input_of

FAILURES = TEST_CACHE.parent / ".bench" / "fuzz"
COMPILING_S = 300.0
PROGRESS_INPUTS = 20_000
_BUSY = 30
"""How many times its processor time something may take on a busy machine."""


@dataclass
class Found:
    """What came of the inputs of one reader."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    worst_ms: float = 0.0
    worst_mib: float = 0.0
    inputs: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Fuzz:
    """The inputs of one reader.

    Attributes:
        package: The reader's.
        seed: Of all inputs.
        limit_s: How long one input may take.
        limit_mib: Memory that one input may take.
    """

    package: str
    seed: int
    limit_s: float
    limit_mib: float

    def run(self, first: int, inputs: int) -> Found:
        """Read inputs from ``first`` on; those that fail are stored."""
        found, begun = Found(), time.monotonic()
        begin = first
        while begin < first + inputs:
            begin = self._batch(begin, first + inputs, found)
        found.inputs, found.seconds = inputs, time.monotonic() - begun
        return found

    def _batch(self, begin: int, end: int, found: Found) -> int:
        """Read inputs in one process; returns the first that it has not read."""
        environment = {
            **os.environ,
            "NUMBA_BOUNDSCHECK": "1",
            # Stored code does not tell whether it checks bounds.
            "NUMBA_CACHE_DIR": str(TEST_CACHE / "kernels-fuzz"),
            # Starting threads takes longer than what they would do.
            **dict.fromkeys(("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
        }
        worker = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.fuzz.worker", self.package),
                *map(str, (self.seed, begin, end)),
            ],
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert worker.stdout is not None
        lines = _Lines(worker.stdout, psutil.Process(worker.pid))
        if lines.next(COMPILING_S) != "ready":
            worker.kill()
            sys.exit(f"{self.package}: the seeds cannot be read")
        number = begin
        while number < end:
            line = lines.next(self.limit_s)
            if not line:
                self._fail("hang" if line is None else "crash", "", number, found)
                break
            self._count(line, found)
            number += 1
            if number % PROGRESS_INPUTS == 0:
                print(f"{self.package}: {number:,} inputs", flush=True)
        worker.kill()
        worker.wait()
        return min(number + 1, end)

    def _count(self, line: str, found: Found) -> None:
        number, outcome, spent, mib, place = line.split(" ", 4)
        found.worst_ms = max(found.worst_ms, float(spent))
        found.worst_mib = max(found.worst_mib, float(mib))
        if outcome.startswith("!"):
            self._fail(outcome[1:], place, int(number), found)
        elif float(mib) > self.limit_mib:
            self._fail("memory", "", int(number), found)
        else:
            found.outcomes[outcome] += 1

    def _fail(self, kind: str, place: str, number: int, found: Found) -> None:
        what = f"{kind} {place}".strip()
        found.failures[what] += 1
        if found.failures[what] <= 3:
            FAILURES.mkdir(parents=True, exist_ok=True)
            path = FAILURES / f"{self.package}-{self.seed}-{number}"
            seeds = all_seeds(self.package)
            path.write_bytes(input_of(self.package, seeds, self.seed, number))
            print(f"{self.package}: {what}: {path}", flush=True)


class _Lines:
    """The lines of a worker, waited for until it has hung.

    It hangs where a line takes more processor time than it may, or does not come at
    all. Seconds during which the machine is busy, or both processes are stopped, do not
    count.
    """

    def __init__(self, pipe: IO[bytes], worker: psutil.Process) -> None:
        self._pipe = pipe
        self._worker = worker
        self._rest = b""

    def _has_line(self, seconds: float) -> bool:
        spent = self._spent_s()
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            for _ in range(int(seconds) * _BUSY):
                if selector.select(1.0):
                    return True
                if self._spent_s() - spent > seconds:
                    break
        return False

    def _spent_s(self) -> float:
        times = self._worker.cpu_times()
        return times.user + times.system

    def next(self, seconds: float) -> str | None:
        """The next line; empty at the end, ``None`` where none comes in time."""
        while b"\n" not in self._rest:
            if not self._has_line(seconds):
                return None
            more = os.read(self._pipe.fileno(), 1 << 16)
            if not more:
                return ""
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("ascii")


def main() -> None:
    """Parse the arguments, read all inputs, print the counts."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--format", action="append", choices=[*SEEDS, *OTHERS])
    parser.add_argument("--inputs", type=int, default=20_000, help="for each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="for one input")
    parser.add_argument("--mib", type=float, default=64.0, help="for one input")
    asked = parser.parse_args()
    failed = False
    for package in asked.format or [*SEEDS, *OTHERS]:
        fuzz = Fuzz(package, asked.seed, asked.seconds, asked.mib)
        found = fuzz.run(asked.first, asked.inputs)
        told = ", ".join(f"{n:,} {what}" for what, n in found.outcomes.most_common())
        wrong = ", ".join(f"{n:,} {what}" for what, n in found.failures.most_common())
        print(
            f"{package}: {found.inputs:,} inputs in {found.seconds:.0f} s: {told}; "
            f"failures: {wrong or 'none'}; worst {found.worst_ms:.0f} ms, "
            f"{found.worst_mib:.0f} MiB",
            flush=True,
        )
        failed |= bool(found.failures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
