"""``make bench-python``: heaps of CPython beside tools that look at them from inside.

For each Python a program makes a heap, once for each tool: a dump by the program
itself, one by a copy of it, and what guppy3 and Pympler do, which the package registry
has. Times are of the processor, memory is the most that the program had beyond its
heap. The sum of sizes is compared with what the allocators say that they gave out.
PyHeap and pydump are in no registry and are not run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.home import HOME, fresh_home
from tests.bench.measure import INGEST, compared, head, row, run, summary
from tests.pythons import MINORS, installed

FOLDER = HOME / "python"
PEERS = {
    "guppy3": ("guppy3", "guppy", "str(guppy.hpy().heap())"),
    "guppy3, who refers": ("guppy3", "guppy", "str(guppy.hpy().heap().byrcs)"),
    "muppy": (
        "pympler",
        "pympler.muppy, pympler.summary",
        "pympler.summary.summarize(pympler.muppy.get_objects())",
    ),
}
"""The package of each, what is to be imported, and what to do: tables of types, and of
what refers to objects of these. None writes a file."""

LEAST_LIMITED = 1_000_000
"""Objects from which on there are limits."""


_WRITER = Path(__file__).parents[2] / "ingest/capture/python"
_PROGRAMS = Path(__file__).parents[1] / "programs"
_PROGRAM = """
import json, sys, time
sys.path[:0] = [{writer!r}, {programs!r}, {peers!r}]
from allocators import allocated
class Order:
    def __init__(self, number):
        self.number = number
        self.customer = "customer %d" % number
        self.lines = [number, (number, None)]
ORDERS = {{number: Order(number) for number in range({objects} // 5)}}
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line[:6] == "VmHWM:")
import {module}
found = {{"python": sys.version.split()[0], "allocated": allocated()}}
heap, before = peak(), time.process_time()
done = {work}
found["cpu_s"] = time.process_time() - before
found["heap_kib"], found["more_kib"] = heap, peak() - heap
if isinstance(done, dict):
    found.update(done)
print(json.dumps(found))
"""


def heap(python: str, objects: int, module: str, work: str) -> dict[str, Any]:
    """What a program with a heap of about so many objects found while it did that.

    Raises:
        subprocess.CalledProcessError: it cannot.
    """
    text = _PROGRAM.format(
        writer=str(_WRITER),
        programs=str(_PROGRAMS),
        peers=str(_peers(python)),
        objects=objects,
        module=module,
        work=work,
    )
    told = subprocess.run(
        [python, "-c", text], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def _peers(python: str) -> Path:
    """Where the peers for a Python are installed."""
    asked = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(asked, check=True, capture_output=True, text=True)
    return FOLDER / version.stdout.strip()


def install(python: str, package: str) -> bool:
    """Whether a package is there for a Python, for which it is fetched."""
    folder = _peers(python)
    if any(f.name.lower().startswith(package) for f in folder.glob("*.dist-info")):
        return True
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
        "--disable-pip-version-check", "--only-binary", ":all:", "--python-version",
        folder.name, "--target", str(folder), package]  # fmt: skip
    return subprocess.run(command, capture_output=True).returncode == 0


def measure(python: str, objects: int) -> None:
    """The table of one Python."""
    path, millions = FOLDER / "bench.hrpy", objects / 1e6
    path.unlink(missing_ok=True)
    fork = heap(python, objects, "heaproots_dump", _dump(path, "fork"))
    version = fork["python"]
    head(f"CPython {version}, {fork['objects']:,} objects, "
        f"{fork['heap_kib'] / 1024:.0f} MiB")  # fmt: skip

    def limited(what: str, value: float, unit: str, limit: float) -> None:
        is_limited = objects >= LEAST_LIMITED
        row(f"{version}: {what}", value, unit, limit=limit if is_limited else None)

    limited("pause by a copy", fork["cpu_s"] * 1e3, "ms", 20 + 20 * millions)
    told = int(_info(path)["shallow_bytes"])
    if fork["allocated"]:
        part = 100 * told / fork["allocated"]
        limited("allocated, not in sum of sizes", 100 - part, "%", 5)
        limited("in sum of sizes, not allocated", max(part - 100, 0.0), "%", 1)
    limited("info", run(*INGEST, "info", str(path)).cpu_s, "s", 0.5 + 1.5 * millions)
    path.unlink()
    packed = path.with_suffix(".hrpy.gz")
    packed.unlink(missing_ok=True)
    done = heap(python, objects, "heaproots_dump", _dump(packed, "fork"))
    limited("file, compressed, an object", done["bytes"] / done["objects"], "B", 8)
    packed.unlink()
    stop = heap(python, objects, "heaproots_dump", _dump(path, "stop"))
    limited("file, an object", stop["bytes"] / stop["objects"], "B", 50)
    limited("dump by itself", stop["cpu_s"], "s", 1.6 * stop["objects"] / 1e6)
    more = 100 * stop["more_kib"] / stop["heap_kib"]
    limited("more memory, of the heap", more, "%", 45)
    path.unlink()
    for name, (package, module, work) in PEERS.items():
        if not install(python, package):
            print(f"  {name} is left out: there is none for Python {version}")
            continue
        peer = heap(python, objects, module, work)
        row(f"{version}: {name}", peer["cpu_s"], "s")
        row(f"{version}: {name}, more memory", peer["more_kib"] / 1024, "MiB")
        compared(f"{version}: dump", stop["cpu_s"], (name, peer["cpu_s"]), 1)
        more = max(peer["more_kib"], 1)
        compared(f"{version}: its memory", stop["more_kib"], (name, more), 1)


def _dump(path: Path, mode: str) -> str:
    return f"heaproots_dump.dump({str(path)!r}, {mode!r})"


def _info(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*INGEST, "info", str(path), "--json").output)
    return found


def main() -> None:
    """Print a table for each Python, then all figures with a limit."""
    parser = argparse.ArgumentParser(prog="make bench-python", description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument(
        "--python", action="append", help="an interpreter; several. All by default"
    )
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    fresh_home()
    known = asked.python or [one for one in map(installed, MINORS) if one]
    for python in known:
        measure(python, asked.objects)
    print("\nleft out: PyHeap and pydump, which are in no package registry")
    summary()


if __name__ == "__main__":
    main()
