"""``make bench-room``: captures of programs that have 512 MiB, by a control group.

Programs of Python and Node.js keep heaps of many sizes, up to nearly all that they may
take, and each is captured. Either the file is whole or the capture is refused, with
figures; no program ends or computes wrongly, and no half file has the final name.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ingest.capture import cpython, javascript
from ingest.errors import CaptureError
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.pythons import minors_by_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUPS = Path("/sys/fs/cgroup")
_MIB = 1 << 20

# Each keeps objects until it has so many MiB, and says on demand that it can go on.
_PYTHON = """
import os, sys
PAGE = os.sysconf("SC_PAGE_SIZE")
kept, most = [], int(sys.argv[1]) << 20
while int(open("/proc/self/statm").read().split()[1]) * PAGE < most:
    kept += [(n, str(n)) for n in range(10_000)]
print("ready", flush=True)
for line in sys.stdin:
    right = sum(one[0] == int(one[1]) for one in kept) == len(kept)
    print("right" if right else "wrong", flush=True)
"""
_NODE = """
const kept = [], most = Number(process.argv[1]) * 2 ** 20;
while (process.memoryUsage.rss() < most) {
  for (let n = 0; n < 10000; n++) kept.push({ n, text: [n] });
}
console.log("ready");
process.stdin.on("data", () => {
  const right = kept.every((one) => one.n === one.text[0]);
  console.log(right ? "right" : "wrong");
});
"""


@contextmanager
def group(limit_bytes: int) -> Iterator[Path]:
    """A control group of so much memory; the file takes processes."""
    name = f"heaproots-bench-{os.getpid()}"
    is_first = (_GROUPS / "memory").is_dir()
    folder = (_GROUPS / "memory" if is_first else _GROUPS) / name
    folder.mkdir()
    limit = "memory.limit_in_bytes" if is_first else "memory.max"
    try:
        (folder / limit).write_text(str(limit_bytes), "ascii")
        yield folder / "cgroup.procs"
    finally:
        until = time.monotonic() + 10
        while folder.exists() and time.monotonic() < until:
            with suppress(OSError):  # its last process is just ending
                folder.rmdir()
            time.sleep(0.1)


class Program:
    """A program in a control group."""

    def __init__(self, words: list[str], processes: Path) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", f'echo $$ > "{processes}" && exec "$@"', "sh", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.pid = self._process.pid
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def answer(self) -> str:
        """What it says of its objects, or how it has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("?\n")
            self._process.stdin.flush()
            return self._line() or f"ended: {self._process.wait(10)}"
        except (OSError, subprocess.TimeoutExpired):
            return f"ended: {self._process.poll()}"

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def outcome(kind: str, pid: int, path: Path) -> str:
    """Capture a program once; returns what came of it."""
    try:
        if kind == "node":
            javascript.capture(str(pid), path, start_inspector=True)
        else:
            cpython.capture(str(pid), path)
    except CaptureError as error:
        said = str(error)
        with_figures = len(re.findall(r"\d [KMG]iB", said)) > 0
        left = "half file" if path.exists() else ""
        return left or ("refused" if with_figures else f"refused: {said[:150]}")
    with open_source(str(path)) as source:
        heap = read(source, DEFAULTS, silent)
    return "whole" if heap.object_count > 10_000 else "half file"


def main() -> None:
    """Print what came of the captures of each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", nargs="*", help="their paths")
    parser.add_argument("--captures", type=int, default=100, help="of each runtime")
    parser.add_argument("--room", type=int, default=512, help="MiB")
    asked = parser.parse_args()
    rng = random.Random(1)
    pythons = asked.pythons or [str(path) for path in minors_by_path()]
    bad = 0
    with group(asked.room * _MIB) as processes, TemporaryDirectory() as folder:
        for kind in ("python", "node"):
            found: Counter[str] = Counter()
            after: Counter[str] = Counter()
            for number in range(asked.captures):
                mib = str(rng.randrange(60, asked.room * 9 // 10))
                words = ["node", f"--max-old-space-size={asked.room}", "-e", _NODE, mib]
                if kind == "python":
                    words = [pythons[number % len(pythons)], "-c", _PYTHON, mib]
                path = (
                    Path(folder)
                    / f"{number}{'.heapsnapshot' if kind == 'node' else '.hrpy'}"
                )
                program = Program(words, processes)
                try:
                    came = outcome(kind, program.pid, path)
                    found[came] += 1
                    after[program.answer()] += 1
                finally:
                    program.end()
                if came not in ("whole", "refused") or "right" not in after:
                    print(f"  {kind} of {mib} MiB: {came}", flush=True)
                path.unlink(missing_ok=True)
            bad += found["half file"] + after.total() - after["right"]
            print(f"{kind:7}captures {dict(found)}, then programs {dict(after)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
