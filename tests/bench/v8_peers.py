"""``make bench-peers``: the same V8 heap snapshots, read by us and by memlab.

The snapshots are generated. memlab comes from npm, and reads a snapshot as its own
analyses do: nodes, edges, distances, dominators and retained sizes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.bench.home import HOME, fresh_home
from tests.bench.java_peers import print_limit, print_run
from tests.bench.measure import INGEST, Run, fastest, run, summary

if TYPE_CHECKING:
    from pathlib import Path

MEMLAB = "2.0.5"
EDGES_OF_NODE = 4.3 / 1.3
TIMES_MEMLAB = {1_300_000: 0.4}
"""The limit of ``ingest info``: its time by that of memlab."""

TIME_S = {13_000_000: 22.0}
MEMORY_MIB = {1_300_000: 350, 13_000_000: 2048}

FOLDER = HOME / "v8"
_HEAP_MIB = 12_000
"""What memlab may have: more than Node.js gives by itself."""

_READ = """
const say = process.stderr.write.bind(process.stderr);
process.stderr.write = () => true;  // its progress
const {getFullHeapFromFile} = require('@memlab/heap-analysis');
getFullHeapFromFile(process.argv[1]).catch(error => {
  say(error.message + '\\n');
  process.exit(1);
});
"""


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument(
        "--objects", type=int, nargs="+", default=[1_300_000, 13_000_000]
    )
    parser.add_argument("--runs", type=int, default=2, help="the fastest counts")
    parser.add_argument("--limit", type=int, default=900, help="seconds for memlab")
    # Other arguments are for the dumps of Java.
    chosen, _ = parser.parse_known_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    fresh_home()
    has_memlab = install_memlab()
    for nodes in chosen.objects:
        snapshot = FOLDER / f"v8-{nodes}.heapsnapshot"
        if not snapshot.exists():
            part = snapshot.with_suffix(".part")
            edges = str(round(nodes * EDGES_OF_NODE))
            # A child, for those that are measured inherit the peak of this process.
            run(sys.executable, "-m", "tests.bench.v8_heaps", str(part), str(nodes),
                edges)  # fmt: skip
            part.rename(snapshot)
        size = snapshot.stat().st_size / 2**20
        print(f"\n{snapshot.name}, {size:,.0f} MiB", flush=True)
        run(*INGEST, "info", str(snapshot), "--json")  # compiles
        measured(snapshot, nodes, chosen.runs, chosen.limit, has_memlab=has_memlab)
    summary()


def install_memlab() -> bool:
    """Whether the peer is there, fetched once."""
    if not (FOLDER / "node_modules").exists():
        if not shutil.which("npm"):
            print("memlab is left out: npm is not on the path")
            return False
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error",
             "--ignore-scripts", "--prefix", str(FOLDER),
             f"@memlab/heap-analysis@{MEMLAB}"],
            check=True,
        )  # fmt: skip
    return True


def measured(
    snapshot: Path, nodes: int, runs: int, limit_s: int, *, has_memlab: bool
) -> None:
    """Print time and peak memory of each tool, beside the limits."""
    work = f"ingest info, {nodes:,} V8 nodes"
    print(
        f"  {'':24}{'time':>10}{'peak memory':>14}{'of ingest: time':>17}{'memory':>9}"
    )
    ours = fastest(runs, *INGEST, "info", str(snapshot))
    print_run("ingest info", ours, ours)
    theirs = by_memlab(snapshot, runs, limit_s) if has_memlab else None
    if theirs is not None:
        print_run(f"memlab {MEMLAB}", theirs, ours)
        if nodes in TIMES_MEMLAB:
            times = ours.wall_s / theirs.wall_s
            print_limit(f"{work}, of memlab", times, TIMES_MEMLAB[nodes], "x")
    if nodes in TIME_S:
        print_limit(f"{work}: time", ours.wall_s, TIME_S[nodes], "s")
    if nodes in MEMORY_MIB:
        print_limit(f"{work}: memory", ours.peak_mib, MEMORY_MIB[nodes], "MiB")


def by_memlab(snapshot: Path, runs: int, limit_s: int) -> Run | None:
    """What memlab took; ``None``, and a line that says so, where it fails."""
    command = (
        "timeout", str(limit_s), "env", f"NODE_PATH={FOLDER / 'node_modules'}",
        "node", f"--max-old-space-size={_HEAP_MIB}", "-e", _READ, str(snapshot),
    )  # fmt: skip
    try:
        return fastest(runs, *command)
    except SystemExit as failure:  # such as out of memory, or of time
        print(f"  {f'memlab {MEMLAB}':24}fails: {str(failure)[-60:]}", flush=True)
        return None


if __name__ == "__main__":
    main()
