"""``make bench-fleet``: many dumps by one process, by two, and by a Spark cluster.

The dumps are of four formats. Small ones show what a dump costs at least, large ones
how work is shared. A run counts from the moment at which each worker has read a dump:
what comes before, the start of Python and of Spark's executors and the loading of
kernels, is a row of its own. The cost model takes the cost of a dump and of an object
from one process and how work is shared from the small dumps, and is held against what
the large ones have taken. Full figures: ``ARGS="--small 1000 --large 40"``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import psutil

from ingest.fleet.datasets import DUMPS, LIGHT
from ingest.fleet.workplace import FleetFolder
from tests.bench.home import HOME, fresh_home
from tests.bench.measure import INGEST, Limited, head, limited, row, run, summary
from tests.spark_cluster import Cluster, spark_cluster

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

FOLDER = HOME / "fleet"
_WRITERS = (
    ("gclog", "tests.bench.heaps", "write_heap"),
    ("gcdump", "tests.dumps.gcdump", "large_dump"),
    ("nettrace", "tests.dumps.nettrace", "large_trace"),
    ("log", "tests.dumps.clrprofiler", "large_log"),
)
"""Suffixes by which a folder's dumps are found, and what writes such files."""

_BESIDE = {
    "two processes": ("one process", 1.8),
    "two executors": ("two processes", 0.85),
}
"""Engines, what they are compared with, and the least ratio."""

_WORKERS = {"one process": 1, "two processes": 2, "two executors": 2}

_WRITE = """
import sys
from pathlib import Path
from {module} import {writer}
folder, count, objects = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    path = folder / f"{suffix}-{{number}}.{suffix}"
    size = objects + number  # each is another dump
    if path.exists():
        continue
    if "{suffix}" == "gclog":
        {writer}(path, size, size * 5 // 2)
    else:
        path.write_bytes({writer}(size, size * 5 // 2))
"""


@dataclass(frozen=True)
class Cost:
    """What adding some dumps took.

    Attributes:
        start_s: Until as many dumps were complete as there are workers.
        wall_s: From then until the command ended.
        dumps: How many were added meanwhile.
        all_dumps: How many were added.
        cpu_s: Of the command and its workers on this machine; not of a cluster's.
        driver_mib: Most memory of the command alone.
        read_bytes, written_bytes: Of all dumps, and of the datasets.
    """

    start_s: float
    wall_s: float
    dumps: int
    all_dumps: int
    cpu_s: float
    driver_mib: float
    read_bytes: int
    written_bytes: int

    @property
    def each_s(self) -> float:
        """Seconds for one more dump."""
        return self.wall_s / self.dumps


def written_dumps(name: str, count: int, objects: int) -> Path:
    """Dumps of four formats, written unless they are there."""
    folder = FOLDER / f"{name}-{count}-{objects}"
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, module, writer in _WRITERS:
        text = _WRITE.format(module=module, writer=writer, suffix=suffix)
        each = str(-(-count // len(_WRITERS)))
        run(sys.executable, "-c", text, str(folder), each, str(objects))
    return folder


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def added(dumps: Path, *options: str, workers: int = 1) -> Cost:
    """Add all dumps of a folder to a new fleet."""
    target = FOLDER / "target"
    shutil.rmtree(target, ignore_errors=True)
    command = (*INGEST, "fleet", "add", str(dumps), "--to", str(target), "--json")
    begin = time.perf_counter()
    process = psutil.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    peak, started, done = 0, 0.0, 0
    fleet = FleetFolder(target)

    def watch() -> None:
        nonlocal peak, started, done
        with suppress(psutil.Error):
            while process.is_running():
                peak = max(peak, process.memory_info().rss)
                if done < workers:
                    done, started = len(fleet.staged()), time.perf_counter()
                time.sleep(0.02 if done < workers else 0.2)

    watcher = Thread(target=watch)
    watcher.start()
    before = _cpu_of_ended()
    output, _ = process.communicate()
    end = time.perf_counter()
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}")
    result = json.loads(output)
    assert not result["failures"], result["failures"]
    assert result["added_count"] == len(list(dumps.iterdir())), result
    light = (DUMPS, *LIGHT)
    return Cost(
        start_s=started - begin,
        wall_s=end - started,
        dumps=result["added_count"] - done,
        all_dumps=result["added_count"],
        cpu_s=_cpu_of_ended() - before,
        driver_mib=peak / 2**20,
        read_bytes=size_of(dumps),
        written_bytes=sum(size_of(target / dataset.name) for dataset in light),
    )


def _cpu_of_ended() -> float:
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)


def options_of(master: str | None) -> dict[str, tuple[str, ...]]:
    """What each engine is called with."""
    found: dict[str, tuple[str, ...]] = {
        "one process": ("--processes", "1"),
        "two processes": ("--processes", "2"),
    }
    if master is not None:
        found["two executors"] = ("--engine", "spark", "--master", master)
    return found


def engines(title: str, dumps: Path, master: str | None) -> dict[str, Cost]:
    """The same dumps by each engine; the time of its start apart."""
    head(title)
    costs: dict[str, Cost] = {}
    for name, options in options_of(master).items():
        cost = costs[name] = added(dumps, *options, workers=_WORKERS[name])
        rate = (3600 / cost.each_s, "/h")
        if name not in _BESIDE:
            row(name, cost.wall_s, "s", rate=rate)
            continue
        peer, least = _BESIDE[name]
        same = cost.dumps * costs[peer].each_s  # for as many dumps
        row(name, cost.wall_s, "s", rate=rate, peer=(peer, same))
        part = f"{name}, time of {peer}"
        limited.append(Limited(part, cost.wall_s / same, "x", 1 / least))
    for name, cost in costs.items():
        row(f"{name}: start", cost.start_s, "s")
        row(f"{name}: memory of the command", cost.driver_mib, "MiB", limit=512)
        if cost.cpu_s > 0 and name != "two executors":
            one = costs["one process"].cpu_s
            row(f"{name}: processor time", cost.cpu_s, "s", peer=("one process", one))
    return costs


def report(dumps: int, paths: int, *, neo4j: bool) -> None:
    """Ask a large fleet, and write its graph."""
    folder = FOLDER / f"rows-{dumps}-{paths}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        numbers = (str(dumps), str(paths))
        run(sys.executable, "-m", "tests.bench.fleet_rows", str(part), *numbers)
        part.rename(folder)
    head(f"a fleet of {dumps:,} dumps, {paths:,} rows of type_paths")
    run(*INGEST, "fleet", "query", str(folder), "programs", "--json")
    asked = run(*INGEST, "fleet", "report", str(folder), "--json")
    row("ingest fleet report", asked.wall_s, "s", limit=5)
    row("ingest fleet report: peak memory", asked.peak_mib, "MiB", limit=1024)
    paths_ = run(*INGEST, "fleet", "query", str(folder), "paths", "--json")
    row("ingest fleet query paths", paths_.wall_s, "s", limit=5)
    row("ingest fleet query paths: peak memory", paths_.peak_mib, "MiB", limit=1024)
    if not neo4j:
        return
    run(*INGEST, "server", "start")
    try:
        graph = run(*INGEST, "fleet", "graph", str(folder), "--json")
        counts = json.loads(graph.output)
        entities = sum(counts["nodes"].values()) + sum(counts["relationships"].values())
        rate = (entities / graph.wall_s, "/s")
        row("ingest fleet graph", graph.wall_s, "s", limit=180, rate=rate)
        row("ingest fleet graph: peak memory", graph.peak_mib, "MiB", limit=1024)
        again = run(*INGEST, "fleet", "graph", str(folder), "--json")
        row("the same again, nothing new", again.wall_s, "s", limit=180)
        for name, given in (
            ("fleet-leaks", ()),
            ("fleet-new-leaks", ("-p", "version=1.5", "-p", "min_share=0")),
            ("fleet-leaks-by-host", ()),
            ("fleet-examples", ()),
            ("fleet-types", ()),
        ):
            answer = run(*INGEST, "query", name, *given, "--json")
            assert json.loads(answer.output), name
            row(f"ingest query {name}", answer.wall_s, "s", limit=5)
    finally:
        run(*INGEST, "server", "stop")


def cost_model(
    small: dict[str, Cost], large: dict[str, Cost], sizes: list[int]
) -> None:
    """What 10,000 dumps of a million objects take on 100 executors of 2 cores.

    A dump costs a fixed time, and one for each object, both from one process; how much
    of two processors two workers use is taken from the small dumps. The large ones by
    two workers are what this is held against.
    """
    one = [costs["one process"].each_s for costs in (small, large)]
    per_object = (one[1] - one[0]) / (sizes[1] - sizes[0])
    fixed = one[0] - per_object * sizes[0]
    engine = list(large)[-1]
    shared = one[0] / small[engine].each_s / 2
    head("cost model")
    row("a dump, whatever its size", fixed, "s")
    row("a million objects more", per_object * 1e6, "s")
    row(f"of two processors, used by {engine}", 100 * shared, "%")
    checked = large[engine]
    predicted = checked.dumps * one[1] / (2 * shared)
    row(f"{checked.dumps} large ones: predicted", predicted, "s",
        peer=("measured", checked.wall_s))  # fmt: skip
    dumps, executors, cores = 10_000, 100, 2
    seconds = dumps * (fixed + per_object * 1e6) / (executors * cores * shared)
    scale = dumps * 1e6 / (checked.all_dumps * sizes[1])
    read, written = checked.read_bytes * scale, checked.written_bytes * scale
    print(
        f"\n{dumps:,} dumps of 1,000,000 objects on {executors} executors of {cores} "
        f"cores: {seconds / 3600:.2f} hours\n"
        f"after their start; {read / 2**30:,.0f} GiB read, {written / 2**30:,.2f} GiB "
        f"written, {read / seconds / 2**20:,.0f} MiB/s read by all together.\n"
        "Processors limit it where the store delivers that. 1/100 of it is "
        f"--large {dumps // executors}: {seconds:,.0f} s."
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench-fleet", description=__doc__)
    parser.add_argument("--small", type=int, default=80, help="dumps of 20,000 objects")
    parser.add_argument("--large", type=int, default=12, help="dumps of a million")
    parser.add_argument("--large-objects", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=10_000, help="dumps of the report")
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--no-neo4j", action="store_true")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    fresh_home()
    sizes = [20_000, chosen.large_objects]
    small = written_dumps("small", chosen.small, sizes[0])
    large = written_dumps("large", chosen.large, sizes[1])
    few = written_dumps("few", len(_WRITERS), sizes[0])
    added(few)  # compiles
    if chosen.rows:
        report(chosen.rows, 200 * chosen.rows, neo4j=not chosen.no_neo4j)
    if chosen.no_spark or importlib.util.find_spec("pyspark") is None:
        print("\nwithout Spark: pip install -e '.[spark]' measures it too")
        cluster: AbstractContextManager[Cluster | None] = nullcontext()
    else:
        cluster = spark_cluster(FOLDER)
    with cluster as running:
        master = None if running is None else running.address
        if master is not None:
            added(few, *options_of(master)["two executors"])  # starts its workers
        costs = [
            engines(
                f"{len(list(folder.iterdir())):,} dumps of {size:,} objects, 4 formats",
                folder,
                master,
            )
            for folder, size in zip((small, large), sizes, strict=True)
        ]
    cost_model(costs[0], costs[1], sizes)
    summary()


if __name__ == "__main__":
    main()
