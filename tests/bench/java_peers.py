"""``make bench-peers``: the same Java heap dumps, read by us and by other tools.

A program of ours (``tests/programs/Heap.java``) makes the heaps, and ``ingest capture
jvm`` the dumps. The peers are what the package registries have: hprof-analyzer
(crates.io), the heap library of VisualVM and NetBeans, and Shark, that of LeakCanary
(both Maven Central). A peer whose tools are not installed is left out, and named.
Eclipse MAT, Jeffrey and Shark's command line, which writes a heap to Neo4j, are in no
registry.

The retained size of each object is compared with that of VisualVM's library. That has
sizes of its own for the objects themselves, so its sizes are summed over our dominator
tree; what still differs is counted by reason.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.home import HOME, fresh_home
from tests.bench.measure import (
    INGEST,
    Limited,
    Run,
    head,
    limited,
    peak_of_all,
    run,
    summary,
)  # fmt: skip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph

ANALYZER = "0.3.2"
LIBRARIES = (
    "org.netbeans.modules:org-netbeans-lib-profiler:RELEASE220",
    "com.squareup.leakcanary:shark:2.14",
)
TIMES_ANALYZER = {1_000_000: 0.8, 5_000_000: 0.4, 20_000_000: 0.4}
"""The limit of ``ingest info``: its time by that of hprof-analyzer."""

MEMORY_MIB = {5_000_000: 800, 20_000_000: 1400}
"""The limit of its peak memory; that of a million objects is above an empty run."""

ABOVE_EMPTY_MIB = 150

GRAPH_TIMES_ANALYZER = {1_000_000: 31 / 1.25, 5_000_000: 120 / 6.1}
"""The limit of a graph that answers, from the file on: 31 s (a sixth of what Shark
took) and two minutes on a machine where hprof-analyzer took 1.25 and 6.1 s."""

PROGRAMS = Path(__file__).parents[1] / "programs"
FOLDER = HOME / "java"
GRAPH = "graph in Neo4j, answers"
_HEAP_MIB_PER_MILLION = 400
_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>peers</groupId>
<artifactId>peers</artifactId><version>1</version><dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>"
    "<version>{}</version></dependency>"
)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument(
        "--objects", type=int, nargs="+", default=[1_000_000, 5_000_000]
    )
    parser.add_argument("--runs", type=int, default=2, help="the fastest counts")
    parser.add_argument("--limit", type=int, default=900, help="seconds for a tool")
    parser.add_argument("--no-store", action="store_true", help="without Neo4j")
    parser.add_argument("--compare", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.compare:
        compare(Path(chosen.compare[0]), Path(chosen.compare[1]))
        return
    if missing := missing_tools():
        sys.exit(f"not on the path: {', '.join(missing)}; install a JDK and Maven")
    FOLDER.mkdir(parents=True, exist_ok=True)
    fresh_home()
    jars, analyzer = libraries(), hprof_analyzer()
    for objects in chosen.objects:
        dump = heap_dump(objects)
        print(f"\n{dump.name}, {dump.stat().st_size / 2**20:,.0f} MiB", flush=True)
        run(*INGEST, "info", str(dump), "--json")  # compiles
        measured(dump, objects, jars, analyzer, chosen)
    summary()


def missing_tools() -> list[str]:
    """What has to be on the path, and is not."""
    return [name for name in ("java", "javac", "mvn") if not shutil.which(name)]


def one_size(objects: int) -> None:
    """The table of one size without Neo4j, as a part of a whole bench."""
    head(f"ingest info of a dump of {objects:,} Java objects, beside peers")
    if missing := missing_tools():
        print(f"  left out: {', '.join(missing)} not on the path")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    jars, analyzer = libraries(), hprof_analyzer()
    dump = heap_dump(objects)
    run(*INGEST, "info", str(dump), "--json")  # compiles
    chosen = argparse.Namespace(runs=2, limit=300, no_store=True)
    measured(dump, objects, jars, analyzer, chosen)


def libraries() -> str:
    """The class path of the peers and of our programs, fetched and compiled."""
    jars, classes = FOLDER / "jars", FOLDER / "classes"
    if not jars.exists():
        named = (_DEPENDENCY.format(*name.split(":")) for name in LIBRARIES)
        (FOLDER / "pom.xml").write_text(_POM.format("".join(named)), encoding="utf-8")
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(FOLDER / "pom.xml"),
             "dependency:copy-dependencies", f"-DoutputDirectory={jars}.part"],
            check=True,
        )  # fmt: skip
        Path(f"{jars}.part").rename(jars)
    path = f"{classes}{os.pathsep}{jars}/*"
    sources = [str(PROGRAMS / f"{name}.java")
               for name in ("Heap", "Retained", "Dominators")]  # fmt: skip
    subprocess.run(
        ["javac", "-nowarn", "-cp", path, "-d", str(classes), *sources], check=True
    )
    return path


def hprof_analyzer() -> str | None:
    """The peer's executable, compiled once; ``None`` without cargo."""
    made = FOLDER / "cargo" / "bin" / "hprof-analyzer"
    if not made.exists():
        if not shutil.which("cargo"):
            print("hprof-analyzer is left out: cargo is not on the path")
            return None
        done = subprocess.run(
            ["cargo", "install", "--quiet", "--locked", "--root", str(FOLDER / "cargo"),
             "hprof-analyzer", "--version", ANALYZER],
            check=False,
        )  # fmt: skip
        if done.returncode:
            print("hprof-analyzer is left out: cargo could not install it")
            return None
    return str(made)


def heap_dump(objects: int) -> Path:
    """A dump of a program that has made so many objects."""
    from ingest.capture.jvm import capture

    path = FOLDER / f"java-{objects}.hprof"
    if not path.exists():
        room = objects * _HEAP_MIB_PER_MILLION // 1_000_000 + 200
        with subprocess.Popen(
            ["java", f"-Xmx{room}m", "-cp", str(FOLDER / "classes"), "shop.Heap",
             str(objects)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as program:  # fmt: skip
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdout.readline()
            capture(str(program.pid), path, timeout_s=300)
            program.stdin.close()
    return path


def small_dump() -> Path:
    """A dump of a few objects."""
    path = FOLDER / "small.gclog"
    if not path.exists():
        run(*INGEST, "example", "--levels", "1", str(path))
        run(*INGEST, "info", str(path))  # compiles
    return path


def measured(
    dump: Path,
    objects: int,
    jars: str,
    analyzer: str | None,
    chosen: argparse.Namespace,
) -> None:
    """Print time and peak memory of each tool, then how retained sizes compare."""
    room = f"-Xmx{objects * _HEAP_MIB_PER_MILLION // 500_000 + 500}m"
    java = ("java", room, "-cp", jars)
    retained = FOLDER / "retained.bin"
    tools: dict[str, tuple[str, ...]] = {"ingest info": (*INGEST, "info", str(dump))}
    if analyzer is not None:
        report = str(FOLDER / "report.html")
        tools[f"hprof-analyzer {ANALYZER}"] = (analyzer, str(dump), report)
    tools["VisualVM's library"] = (*java, "peers.Retained", str(dump), str(retained))
    tools["Shark 2.14"] = (*java, "peers.Dominators", str(dump))
    print(
        f"  {'':24}{'time':>10}{'peak memory':>14}{'of ingest: time':>17}{'memory':>9}"
    )
    found: dict[str, Run] = {}
    for name, command in tools.items():
        try:
            found[name] = fastest_without_index(
                dump, chosen.runs, "timeout", str(chosen.limit), *command
            )
        except SystemExit as failure:  # such as out of memory, or of time
            print(f"  {name:24}fails: {str(failure)[-60:]}", flush=True)
            if str(retained) in command:
                retained.unlink(missing_ok=True)
            continue
        print_run(name, found[name], found["ingest info"])
    if objects in GRAPH_TIMES_ANALYZER and not chosen.no_store:
        found[GRAPH] = graph_in_neo4j(dump)
        print_run(GRAPH, found[GRAPH], found["ingest info"])
    print_limits(objects, found)
    if retained.exists():
        print(run(sys.executable, "-m", "tests.bench.java_peers", "--compare",
                  str(dump), str(retained)).output, end="", flush=True)  # fmt: skip
        retained.unlink()


def fastest_without_index(dump: Path, runs: int, *command: str) -> Run:
    """The fastest of some runs, none of which finds what VisualVM's library stores."""
    found = []
    for _ in range(runs):
        shutil.rmtree(f"{dump}.nbcache", ignore_errors=True)
        found.append(run(*command))
    return min(found, key=lambda each: each.wall_s)


def print_run(name: str, of: Run, ours: Run) -> None:
    """Print one row of the table of tools."""
    print(
        f"  {name:24}{of.wall_s:>8.2f} s{of.peak_mib:>10,.0f} MiB"
        f"{of.wall_s / ours.wall_s:>16.2f}x{of.peak_mib / ours.peak_mib:>8.2f}x",
        flush=True,
    )


def graph_in_neo4j(dump: Path) -> Run:
    """From the file to the first answer of Neo4j, started and without any dump.

    The peak is of all processes, the server among them.
    """
    run(*INGEST, "server", "start")
    try:
        run(*INGEST, "load", str(small_dump()), "--via", "bulk")  # compiles
        run(*INGEST, "drop", small_dump().stem)
        with peak_of_all() as peak:
            loaded = run(*INGEST, "load", str(dump), "--name", "peers")
            first = run(*INGEST, "query", "type-histogram", "--dump", "peers")
        run(*INGEST, "drop", "peers")
    finally:
        run(*INGEST, "server", "stop")
    return Run(
        loaded.wall_s + first.wall_s,
        loaded.cpu_s + first.cpu_s,
        peak.mib,
        first.output,
    )


def print_limits(objects: int, found: dict[str, Run]) -> None:
    """Print the figures that have a limit."""
    ours = found["ingest info"]
    if objects == min(TIMES_ANALYZER):
        above = ours.peak_mib - run(*INGEST, "info", str(small_dump())).peak_mib
        print_limit("memory above a run of a small dump", above, ABOVE_EMPTY_MIB, "MiB")
    if objects in MEMORY_MIB:
        print_limit(
            f"memory, {objects:,} Java objects",
            ours.peak_mib,
            MEMORY_MIB[objects],
            "MiB",
        )
    if (analyzer := found.get(f"hprof-analyzer {ANALYZER}")) is None:
        return
    for name, goals in (
        ("ingest info", TIMES_ANALYZER),
        (GRAPH, GRAPH_TIMES_ANALYZER),
    ):
        if objects in goals and name in found:
            times = found[name].wall_s / analyzer.wall_s
            what = f"{name}, {objects:,} Java objects, of hprof-analyzer"
            print_limit(what, times, goals[objects], "x")


def print_limit(what: str, value: float, limit: float, unit: str) -> None:
    """Print a figure beside its limit, and keep it for the table at the end."""
    limited.append(Limited(what, value, unit, limit))
    over = "  OVER" if limited[-1].is_over else ""
    print(f"  {what:58}{value:>9,.2f} {unit:4}limit {limit:>9,.2f}{over}", flush=True)


def compare(dump: Path, retained: Path) -> None:
    """Print how retained sizes compare with a file that ``Retained.java`` has made."""
    import numpy as np

    from ingest.heap.read_options import ReadOptions
    from ingest.progress import silent
    from ingest.readers import open_source, read

    with open_source(str(dump)) as source:
        graph = read(source, ReadOptions(), silent)
    table = np.fromfile(retained, ">i8").reshape(-1, 3)
    order = np.argsort(graph.object_id)
    place = np.searchsorted(graph.object_id[order], table[:, 0].astype(np.uint64))
    row = order[np.minimum(place, len(order) - 1)]
    known = graph.object_id[row].astype(np.int64) == table[:, 0]
    row, sizes, theirs = row[known], table[known, 1], table[known, 2]
    same = int((graph.shallow_bytes[row] == sizes).sum())
    print(f"  objects of VisualVM's library     {len(table):>12,}")
    print(f"    unknown to us                   {int((~known).sum()):>12,}")
    print(f"    of the same shallow size        {same:>12,}")
    shallow = np.zeros(len(graph.object_id), np.int64)
    shallow[row] = sizes
    graph = replace(graph, shallow_bytes=shallow)
    _print_differences("by our rule", graph, row, theirs)
    _print_differences("strong references only", only_strong(graph), row, theirs)


def only_strong(graph: HeapGraph) -> HeapGraph:
    """The heap without soft, weak, finalizer and phantom references."""
    import numpy as np

    if graph.ref_kind is None:
        return graph
    stays = graph.ref_kind == 0
    before = np.concatenate([[0], np.cumsum(stays)])
    return replace(
        graph,
        ref_start=before[graph.ref_start].astype(np.int64),
        ref_target=graph.ref_target[stays],
        ref_kind=None,
        ref_field=None if graph.ref_field is None else graph.ref_field[stays],
    )


def _print_differences(
    rule: str, graph: HeapGraph, row: NDArray[np.intp], theirs: NDArray[np.int64]
) -> None:
    """Print how many retained sizes are equal, and why the others are not."""
    from ingest.analysis.metrics import analyse

    metrics = analyse(graph)
    ours = metrics.retained_bytes[row]
    reached, counted = metrics.root_distance[row] >= 0, theirs > 0
    print(f"    same retained size, {rule:24}{int((ours == theirs).sum()):>10,}")
    reasons = {
        "reachable only for us": reached & ~counted,
        "reachable only for it": ~reached & counted,
        "more for us": reached & counted & (ours > theirs),
        "less for us": reached & counted & (ours < theirs),
    }
    for reason, rows in reasons.items():
        if rows.any():
            kinds = Counter(graph.type_index[row[rows]].tolist()).most_common(3)
            names = ", ".join(f"{graph.type_names[kind]} {n:,}" for kind, n in kinds)
            print(f"      {reason:42}{int(rows.sum()):>10,}  {names}")


if __name__ == "__main__":
    main()
