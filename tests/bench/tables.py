"""The tables of the bench, one function each."""

from __future__ import annotations

import json
import shutil
import sys
from statistics import median
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tests.bench.measure import (
    INGEST,
    compared,
    exponent,
    fastest,
    head,
    peak_of_all,
    row,
    run,
    stage,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.limits import Limits
    from tests.bench.measure import Run

NAME = "bench"
NAIVE_OBJECTS = 50_000


def heap(
    home: Path, objects: int, references: int = 0, seed: int = 1, shape: str = "heap"
) -> Path:
    """A synthetic heap, written unless it is there; 2.5 references an object."""
    references = references or objects * 5 // 2
    path = home / f"{shape}-{objects}-{references}-{seed}.gclog"
    if not path.exists():
        part = path.with_suffix(".part")
        words = [str(part), str(objects), str(references)]
        words += ["--seed", str(seed), "--shape", shape]
        run(sys.executable, "-m", "tests.bench.heaps", *words)
        part.replace(path)
    return path


def copies(home: Path, sample: Path, count: int) -> Path:
    """A real sample, its objects ``count`` times."""
    path = home / f"{sample.name.split('.')[0]}-{count}.gclog"
    work = "from pathlib import Path; from tests.bench.heaps import write_copies; "
    work += f"write_copies(Path({str(path)!r}), Path({str(sample)!r}), {count})"
    run(sys.executable, "-c", work)
    return path


def commands(dump: Path, limits: Limits) -> Run:
    """Whole commands that need no server; returns ``info``."""
    head("whole commands, kernels compiled (fastest of 3)")
    row("ingest --help", fastest(3, *INGEST, "--help").wall_s, "s", limit=0.5)
    info = fastest(3, *INGEST, "info", str(dump), "--json")
    mib = dump.stat().st_size / 2**20
    row(
        "ingest info: time",
        info.wall_s,
        "s",
        limit=limits.info_s,
        rate=(mib / info.wall_s, "MiB"),
    )
    row("ingest info: peak memory", info.peak_mib, "MiB", limit=limits.info_mib)
    return info


FORMATS = (
    ("dartheap", "tests.dumps.dartheap", "large_snapshot", 600_000, 2_000_000, 2.0),
    ("gcdump", "tests.dumps.gcdump", "large_dump", 1_000_000, 2_500_000, 4.0),
    ("nettrace", "tests.dumps.nettrace", "large_trace", 1_000_000, 2_500_000, 4.0),
    ("clrprofiler", "tests.dumps.clrprofiler", "large_log", 1_000_000, 2_500_000, 6.0),
    ("traverseheap", "tests.dumps.clrprofiler", "large_xml", 1_000_000, 2_500_000, 8.0),
    ("ruby", "tests.dumps.ruby", "large_dump", 1_000_000, 2_500_000, 4.0),
    ("perfetto", "tests.dumps.perfetto", "large_trace", 1_000_000, 2_500_000, 3.0),
    ("mlpd", "tests.dumps.mlpd", "large_log", 1_000_000, 2_500_000, 4.0),
)
"""Format, who writes it, objects, references, and seconds that `info` may take."""
_MOST_MIB = {"ruby": 250.0}
"""Peak memory of ``info``, of those that have a limit."""


def formats(home: Path) -> None:
    """`ingest info` of a large dump of each other format."""
    head("ingest info of other formats (fastest of 3)")
    for name, module, writer, objects, references, limit_s in FORMATS:
        path = home / f"heap-{objects}.{name}"
        if not path.exists():
            work = f"from pathlib import Path; from {module} import {writer}; "
            work += (
                f"Path({str(path)!r}).write_bytes({writer}({objects}, {references}))"
            )
            run(sys.executable, "-c", work)
        info = fastest(3, *INGEST, "info", str(path), "--json")
        what = f"{name}, {objects:,} objects, {references:,} references"
        row(what, info.wall_s, "s", limit=limit_s)
        most = _MOST_MIB.get(name)
        row(f"{name}: peak memory", info.peak_mib, "MiB", limit=most)


def tracking() -> None:
    """A million objects through a hundred collections."""
    objects, count = 1_000_000, 100
    head(f"{objects:,} objects through {count} collections (fastest of 3)")
    found = stage("tracking", str(objects), str(count))
    row("traced back", found["seconds"], "s", limit=3.0)
    print(f"  to their first addresses: {found['same']}")


def stages(dump: Path, home: Path, limits: Limits, info: Run, *, peers: bool) -> None:
    """Reader, analysis and dominators, beside what others take for the same."""
    head("stages in one process each, beside peers in theirs")
    ours = stage("reading", str(dump))
    told = json.loads(run(*INGEST, "info", str(dump), "--json").output)
    count = told["objects"]
    mib = dump.stat().st_size / 2**20
    plain = stage("plain_reader", str(dump)) if peers else None
    row(
        "read the dump",
        ours["read_s"],
        "s",
        rate=(mib / ours["read_s"], "MiB"),
        peer=("plain Python loop", plain["seconds"]) if plain else None,
    )
    if plain:
        row(
            "read and analyse: peak memory",
            ours["peak_mib"],
            "MiB",
            peer=("plain Python, read only", plain["peak_mib"]),
        )
    row(
        "whole analysis",
        ours["analyse_s"],
        "s",
        rate=(count / ours["analyse_s"], "obj"),
    )
    total = ours["graph_bytes"] + ours["metrics_bytes"]
    row("columns of graph and metrics, an object", total / count, "B")
    if not ours["types_exact"]:
        print("  retained bytes of types are bounds, not exact")
    if peers:
        _dominators(dump, home, limits, info)


def _dominators(
    dump: Path, home: Path, limits: Limits, info: Run, size: str = ""
) -> None:
    folder = home / "dominators"
    folder.mkdir(exist_ok=True)
    stage("edges", str(dump), str(folder))
    peer = stage("igraph_dominators", str(folder))
    ours = stage("our_dominators", str(folder))
    shutil.rmtree(folder)
    row(f"dominator tree{size}", ours["seconds"], "s", peer=("igraph", peer["seconds"]))
    if limits.dominators_speed:
        slowest = peer["seconds"] / limits.dominators_speed
        row(f"dominator tree{size}: time", ours["seconds"], "s", limit=slowest)
    both = ("igraph's graph and dominators", peer["graph_s"] + peer["seconds"])
    compared(f"ingest info{size}: time", info.wall_s, both, limits.info_of_igraph)
    beside = ("igraph", peer["peak_mib"])
    compared(f"ingest info{size}: memory", info.peak_mib, beside)
    row(f"dominator tree{size}: peak memory", ours["peak_mib"], "MiB", peer=beside)
    if limits.dominators_memory:
        most = peer["peak_mib"] * limits.dominators_memory
        row(f"dominator tree{size}: memory", ours["peak_mib"], "MiB", limit=most)
    print(f"  dominators equal to igraph's on every object: {ours['equal']}")


def beside_igraph(home: Path, objects: int, limits: Limits, shape: str) -> None:
    """Time and memory of ``info``, and of its dominators, beside igraph's."""
    dump = heap(home, objects, shape=shape)
    size = f", {objects // 1_000_000} M {shape}"
    most_mib = limits.tree_info_mib if shape == "tree" else limits.info_mib
    head(f"ingest info of {dump.name} (fastest of 3), beside igraph")
    asked = (*INGEST, "info", str(dump), "--json")
    run(*asked)  # compiles
    info = fastest(3, *asked)
    row(f"ingest info{size}: time", info.wall_s, "s")
    row(f"ingest info{size}: memory", info.peak_mib, "MiB", limit=most_mib)
    _dominators(dump, home, limits, info, size)


def largest(home: Path, objects: int, limits: Limits) -> None:
    """``info`` of a heap for a large machine, and with little memory."""
    dump, size = heap(home, objects), f", {objects // 1_000_000} M"
    head(f"ingest info of {dump.name}")
    asked = (*INGEST, "info", str(dump), "--json")
    info = run(*asked)
    row(f"ingest info{size}: time", info.wall_s, "s", limit=limits.info_s)
    row(f"ingest info{size}: memory", info.peak_mib, "MiB", limit=limits.info_mib)
    spilled = run(*asked, "--max-memory", "3GiB")
    row("with --max-memory 3GiB: time", spilled.wall_s, "s")
    print(f"  the same answer: {spilled.output == info.output}")


def costs() -> None:
    """Bytes of columns at the peak of each stage, as a test freezes them."""
    done = run(sys.executable, "-m", "tests.bench.stages", "costs")
    print("\nbytes of columns at the peak of each stage (frozen within 5 % by a test)")
    print(f"{'':<40}{'an object':>10}{'a reference':>14}")
    for name, (per_object, per_reference) in json.loads(done.output).items():
        print(f"{name:<40}{per_object:>10.1f}{per_reference:>14.1f}")


def loads(home: Path, sizes: list[int], dump: Path, limits: Limits) -> None:
    """Bulk loads of growing heaps, each in place of the one before; the last stays.

    The largest is loaded three times, and the medians are told.
    """
    head("ingest load --via bulk, file to ready, server running")
    seconds = []
    for size in sizes:
        last = size == sizes[-1]
        path = dump if last else heap(home, size)
        load = ("load", str(path), "--name", NAME, "--replace", "--via", "bulk")
        loads, reports = [], []
        with peak_of_all() as peak:
            for _ in range(3 if last else 1):
                stage("idle")
                loads.append(run(*INGEST, *load))
                reports.append(run(*INGEST, "report", "--dump", NAME).wall_s)
        load_s = median(one.wall_s for one in loads)
        seconds.append(load_s)
        row(
            f"{size:,} objects",
            load_s,
            "s",
            limit=limits.bulk_s if last else None,
            rate=(size / load_s, "/s"),
        )
        report_s = median(reports)
        row("report at once", report_s, "s", limit=limits.report_s if last else None)
        if last:
            stage("idle")
            tool_mib = max(one.peak_mib for one in loads)
            row("peak memory, tool or importer", tool_mib, "MiB")
            row("peak memory, all processes", peak.mib, "MiB", limit=limits.bulk_mib)
            alone = stage("import_alone", str(path))
            row("neo4j-admin import of the same files", alone["as_shipped_s"], "s")
            row("the same with the Java flags of a load", alone["as_loaded_s"], "s")
            beside = ("the import alone", alone["as_shipped_s"])
            compared("load", load_s, beside, limits.bulk_ratio)
            beside = ("the import alone with its Java flags", alone["as_loaded_s"])
            compared("load", load_s, beside)
    if len(sizes) > 1:
        power = exponent(sizes, seconds)
        print(f"  time grows with the power {power:.2f} of the objects")


def bolt(dump: Path, limits: Limits) -> None:
    """A load over Bolt into an empty store, and what dropping it takes."""
    head("ingest load --via bolt, server running, empty store")
    done = stage("bolt_load", str(dump), NAME)
    entities, seconds = done["entities"], done["seconds"]
    each, client = 1e6 * seconds / entities, 1e6 * done["client_s"] / entities
    row("time", seconds, "s", rate=(entities / seconds, "/s"))
    row("a node or relationship", each, "us", limit=limits.bolt_us)
    row("of that, the client's CPU", client, "us", limit=limits.bolt_client_us)
    row("peak memory of the tool", done["peak_mib"], "MiB", limit=limits.bolt_mib)
    row("drop", run(*INGEST, "drop", NAME).wall_s, "s", limit=limits.drop_s)


def other_loads(dump: Path, home: Path) -> None:
    """What the same heap costs with Neo4j's tools and a script of one's own."""
    head("the same heap, brought in by hand (ratios: to reading and analysing)")
    folder = home / "peer"
    folder.mkdir(exist_ok=True)
    done = run(sys.executable, "-m", "tests.bench.peers", "csv", str(dump), str(folder))
    found = json.loads(done.output)
    shutil.rmtree(folder)
    row("csv module, string ids: write files", found["write_s"], "s")
    row("neo4j-admin database import full", found["import_s"], "s")
    whole = found["measure_s"] + found["write_s"] + found["import_s"]
    row("both, and reading and analysing", whole, "s")
    peer = (sys.executable, "-m", "tests.bench.peers", "maps")
    found = json.loads(run(*peer, str(dump), str(NAIVE_OBJECTS)).output)
    what = f"UNWIND of maps, one writer, {NAIVE_OBJECTS // 1000} k objects"
    row(what, found["whole_s"], "s", rate=(found["relation_rate"], "rel"))
    print("  (seconds: its rates carried over to the whole heap)")


def query_heap(home: Path, objects: int) -> Path:
    """A heap with what makes queries slow, written unless it is there."""
    path = home / f"queries-{objects}.gclog"
    if not path.exists():
        part = path.with_suffix(".part")
        work = "from pathlib import Path; from tests.bench import query_heap; "
        work += f"query_heap.write_query_heap(Path({str(part)!r}), {objects})"
        run(sys.executable, "-c", work)
        part.replace(path)
    return path


def same_rows(home: Path) -> dict[str, tuple[int, int]]:
    """Of each query, how many heaps and rows the test of both engines compared."""
    found = home / "same-rows.xml"
    run(
        "env", "INGEST_TESTS=both", sys.executable, "-m", "pytest", "-q",
        "tests/cypher/test_reports.py", "-k", "both_engines", f"--junitxml={found}",
    )  # fmt: skip
    counts = {}
    for case in ElementTree.parse(found).iter("testcase"):
        known = {one.get("name"): one.get("value", "") for one in case.iter("property")}
        name = case.get("name", "").partition("[")[2].rstrip("]")
        counts[name] = int(known["heaps"]), int(known["rows"])
    return counts


def queries(limits: Limits, same: dict[str, tuple[int, int]]) -> None:
    """Every query of the library, from tables beside the graph; the slowest five.

    Args:
        limits: Of this size of the heap.
        same: See `same_rows`.
    """
    head("every query of the library, second run, from tables beside the graph")
    output = run(sys.executable, "-m", "tests.bench.queries", NAME).output
    found = []
    for line in output.splitlines():
        name, tables_s, graph_s, first, about = json.loads(line)
        seconds = graph_s if tables_s is None else tables_s
        found.append((seconds, name, about))
        limit = limits.first_s if first else limits.query_s
        where = " (graph)" if tables_s is None else ""
        beside = None if tables_s is None else ("the graph", graph_s)
        heaps, rows = same.get(name, (0, 0))
        equal = f"equal: {rows:,} rows of {heaps} heaps" if heaps else ""
        row(
            name + where + (" *" if first else ""),
            seconds,
            "s",
            limit=limit,
            peer=beside,
            note=equal,
        )
    print("  * what reports show first")
    rows = sum(rows for _, rows in same.values())
    print(f"  equal in both engines: {rows:,} rows of {len(same)} queries")
    print("\nthe slowest five, and what they were asked about")
    for seconds, name, about in sorted(found, reverse=True)[:5]:
        print(f"  {name:<38}{seconds:>10.2f} s     {about}".rstrip())


def growth_of_info(home: Path, sizes: list[int]) -> None:
    """How time and memory of ``info`` grow with the heap."""
    head("growth of ingest info")
    done = [fastest(2, *INGEST, "info", str(heap(home, size))) for size in sizes]
    for size, each in zip(sizes, done, strict=True):
        row(
            f"{size:,} objects: time", each.wall_s, "s", rate=(size / each.wall_s, "/s")
        )
        row(f"{size:,} objects: memory", each.peak_mib, "MiB")
    # A start without work is in both: what grows is above it.
    start = fastest(3, *INGEST, "info", str(heap(home, 1000)))
    seconds = [max(each.wall_s - start.wall_s, 1e-3) for each in done]
    mib = [max(each.peak_mib - start.peak_mib, 1e-3) for each in done]
    print(f"  time grows with the power {exponent(sizes, seconds):.2f} of the objects")
    print(f"  memory with the power {exponent(sizes, mib):.2f}; both above what a")
    print(f"  heap of a thousand takes: {start.wall_s:.2f} s, {start.peak_mib:.0f} MiB")
