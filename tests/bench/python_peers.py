"""``make bench-python``: heaps of CPython beside tools that are installed.

For each Python: CPU of a dump by the program itself, its peak of memory, the pause and
size of one by a copy, the sum of sizes against what the allocators say, and the CPU of
``ingest info``. guppy3 is measured in the same run where that Python has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.bench.measure import INGEST, run

ROOT = Path(__file__).parents[2]

_PROGRAM = """
import ctypes, gzip, json, os, resource, sys, time
sys.path.insert(0, {writer!r})
class Order:
    def __init__(self, number):
        self.number = number
        self.customer = "customer %d" % number
        self.lines = [number, (number, None)]
ORDERS = {{number: Order(number) for number in range({objects} // 5)}}
import heaproots_dump
def cpu():
    return time.process_time()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
found = {{"python": sys.version.split()[0]}}
before = cpu()
fork = heaproots_dump.dump({path!r}, "fork")
found["fork_cpu_s"], found["pause_s"] = cpu() - before, fork["pause_seconds"]
found["objects"], found["bytes"] = fork["objects"], fork["bytes"]
os.unlink({path!r})
base, before = peak(), cpu()
heaproots_dump.dump({path!r}, "stop")
found["stop_cpu_s"] = cpu() - before
found["heap_mib"], found["more_mib"] = base, peak() - base
with open({path!r}, "rb") as file:
    found["gzip_bytes"] = len(gzip.compress(file.read(), 1))
try:
    import guppy
except ImportError:
    pass
else:
    before = cpu()
    guppy.hpy().heap()
    found["guppy3_cpu_s"] = cpu() - before
print(json.dumps(found))
"""


def measure(python: str, objects: int, folder: Path) -> dict[str, float]:
    """One Python, with a heap of about so many objects."""
    path = folder / "bench.hrpy"
    text = _PROGRAM.format(
        writer=str(ROOT / "ingest/capture/python"), path=str(path), objects=objects
    )
    path.unlink(missing_ok=True)
    told = subprocess.run(
        [python, "-c", text], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(told.stdout)
    done = run(*INGEST, "info", str(path))
    found["info_s"] = done.cpu_s
    path.unlink()
    return found


def main() -> None:
    """Print a line for each Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--python", action="append", help="an interpreter; several")
    asked = parser.parse_args()
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    for python in asked.python or [sys.executable]:
        found = measure(python, asked.objects, folder)
        many = found["objects"]
        print(
            f"CPython {found['python']}, {many:,} objects, {found['heap_mib']:.0f} MiB"
        )
        print(f"  stop    {found['stop_cpu_s']:.2f} s CPU, "
            f"{found['stop_cpu_s'] / many * 1e6:.2f} µs an object, "
            f"{found['more_mib'] / found['heap_mib']:.0%} more memory")  # fmt: skip
        print(f"  fork    {found['fork_cpu_s'] * 1000:.0f} ms CPU, "
            f"paused {found['pause_s'] * 1000:.0f} ms")  # fmt: skip
        print(f"  file    {found['bytes'] / many:.1f} bytes an object, "
            f"{found['gzip_bytes'] / many:.1f} compressed")  # fmt: skip
        print(f"  info    {found['info_s']:.1f} s CPU")
        if "guppy3_cpu_s" in found:
            print(f"  guppy3  {found['guppy3_cpu_s']:.2f} s CPU, without a file")


if __name__ == "__main__":
    main()
