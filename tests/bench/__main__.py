"""``make bench``: stage times, rates and peak memory, each beside a limit or a peer.

Every figure is of a whole process, or of a stage within this one run; kernels are
compiled and the server is started before anything is measured. Machines differ:
what to quote are the ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.heaps import write_heap

HOME = Path(__file__).parents[2] / ".bench"
INGEST = [sys.executable, "-m", "ingest"]


@dataclass(frozen=True)
class Run:
    """One process: seconds of wall clock and of CPU, peak memory in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run(*command: str) -> Run:
    """Run a command to its end; it must succeed."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(count: int, *command: str) -> Run:
    """The run with the median wall clock of ``count``."""
    runs = sorted((run(*command) for _ in range(count)), key=lambda r: r.wall_s)
    return runs[len(runs) // 2]


def row(what: str, value: float, unit: str, against: str, other: float) -> None:
    ratio = value / other if other else float("nan")
    print(
        f"{what:<44}{value:>10.2f} {unit:<4}{against:>22}{other:>10.2f}{ratio:>7.2f}x"
    )


def head(title: str) -> None:
    print(f"\n{title}")
    print(f"{'':<44}{'here':>10}     {'beside':>22}{'':>10}{'ratio':>8}")


def bench_commands(dump: Path, objects: int) -> None:
    head("whole commands, kernels compiled")
    scale = objects / 1_000_000
    row("ingest --help", median(5, *INGEST, "--help").wall_s, "s", "limit", 0.5)
    info = median(3, *INGEST, "info", str(dump), "--json")
    row("ingest info: time", info.wall_s, "s", "limit", 3 * scale)
    row("ingest info: peak memory", info.peak_mib, "MiB", "limit", 800 * scale)


def bench_analysis(dump: Path) -> None:
    import igraph
    import numpy as np

    from ingest.analysis.dominators import dominator_tree
    from ingest.analysis.metrics import analyse
    from ingest.progress import silent
    from ingest.readers import open_source, read

    def timed(times: int, work):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        seconds = []
        result = None
        for _ in range(times):
            begin = time.perf_counter()
            result = work()
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds), result

    def reading():  # type: ignore[no-untyped-def] # noqa: ANN202
        with open_source(str(dump)) as source:
            return read(source, strict=False, progress=silent)

    head("stages, beside peers in the same run")
    read_s, graph = timed(3, reading)
    plain_s, _ = timed(1, lambda: plain_reader(dump))
    row("read the dump", read_s, "s", "plain Python loop", plain_s)
    tree_s, tree = timed(3, lambda: dominator_tree(graph))
    n = len(graph.object_id)
    sources = np.repeat(np.arange(n), np.diff(graph.ref_start))
    roots = graph.root_object[(graph.root_flags & 2) == 0]
    edges = np.concatenate(
        [
            np.stack([np.full(len(roots), n), roots], 1),
            np.stack([sources, graph.ref_target], 1),
        ]
    )
    peer = igraph.Graph(n + 1, edges, directed=True)
    peer_s, theirs = timed(1, lambda: peer.dominator(n))
    row("dominator tree", tree_s, "s", "igraph", peer_s)
    ours = tree.by_object()
    same = all(
        (a == -2 and not b >= 0) or (a == -1 and b == n) or a == b
        for a, b in zip(ours.tolist(), theirs[:n], strict=True)
    )
    print(f"  dominators equal to igraph's on all {n:,} objects: {same}")
    all_s, metrics = timed(3, lambda: analyse(graph))
    row("whole analysis", all_s, "s", "igraph's dominators", peer_s)
    print(f"  bytes of types exact: {metrics.type_retained_exact}")


def plain_reader(dump: Path) -> int:
    """What one would write in an hour: split lines, dictionaries, lists."""
    objects: dict[int, tuple[int, int, list[int]]] = {}
    with dump.open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("o "):
                _, number, kind, size, *targets = line.split()
                objects[int(number, 16)] = (
                    int(kind, 16),
                    int(size, 16),
                    [int(target, 16) for target in targets],
                )
    return len(objects)


def bench_store(dump: Path, objects: int) -> None:
    from ingest.cli.options import running_target
    from ingest.settings import settings
    from ingest.store.connection import connect

    head("a load over Bolt, server running")
    run(*INGEST, "server", "start")
    loaded = run(*INGEST, "load", str(dump), "--name", "bench", "--replace")
    scale = objects / 1_000_000
    row("ingest load: time", loaded.wall_s, "s", "limit", 90 * scale)
    row("ingest load: peak memory of the tool", loaded.peak_mib, "MiB", "limit", 600)
    target = running_target(settings())
    assert target is not None
    with connect(target) as database:
        bench_queries(database)


def bench_queries(database) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    from ingest.queries.library import library
    from ingest.store.ask import ask
    from ingest.store.dumps import find_dump

    number = find_dump(database, "bench").number
    _, rows = database.read(
        "MATCH (o:Object) WHERE o.dump = $dump AND o.retained_bytes > 0 "
        "AND o.root_distance > 5 RETURN o.address, o.type_name LIMIT 1",
        {"dump": number},
    )
    _, types = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump RETURN t.name "
        "ORDER BY t.instance_count DESC SKIP 20 LIMIT 1",
        {"dump": number},
    )
    values = {"address": rows[0][0], "target": rows[0][0], "type": types[0][0]}
    head("every query of the library, second run")
    for query in library().values():
        given = {}
        for parameter in query.parameters:
            if parameter.required and parameter.name != "dump":
                guess = "type" if "type" in parameter.name else "address"
                given[parameter.name] = str(values.get(parameter.name, values[guess]))
        ask(database, query, given, number)
        begin = time.perf_counter()
        ask(database, query, given, number)
        row(query.name, time.perf_counter() - begin, "s", "limit", 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=0)
    parser.add_argument("--no-store", action="store_true", help="without Neo4j")
    chosen = parser.parse_args()
    references = chosen.references or chosen.objects * 5 // 2
    HOME.mkdir(exist_ok=True)
    os.environ.setdefault("INGEST_HOME", str(HOME / "home"))
    dump = HOME / f"heap-{chosen.objects}-{references}.gclog"
    if not dump.exists():
        write_heap(dump, chosen.objects, references)
    size_mib = dump.stat().st_size / 2**20
    print(f"{chosen.objects:,} objects, {references:,} references, {size_mib:.0f} MiB")
    run(*INGEST, "info", str(dump), "--json")
    bench_commands(dump, chosen.objects)
    if not chosen.no_store:
        try:
            bench_store(dump, chosen.objects)
        finally:
            run(*INGEST, "server", "stop")
    # Last: a process inherits the peak memory of the one that starts it.
    bench_analysis(dump)


if __name__ == "__main__":
    main()
