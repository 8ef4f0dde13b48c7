"""What is measured inside a process: stages of ours, and peers, each in its own.

``python -m tests.bench.stages NAME ...`` prints what it found as JSON. Times are the
fastest of some runs after one that is not counted, but for what takes long.
"""

from __future__ import annotations

import gc
import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.heap.graph import HeapGraph
    from ingest.server.embedded import EmbeddedServer

    T = TypeVar("T")

Found = dict[str, Any]


def timed(times: int, work: Callable[[], T]) -> tuple[float, T]:
    """The fastest of ``times``, and the last result."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), result


def read_graph(dump: str) -> HeapGraph:
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import silent
    from ingest.readers import open_source, read

    with open_source(dump) as source:
        return read(source, ReadOptions(), silent)


def reset_peak() -> None:
    """Let the kernel count this process's peak memory from now on (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Peak memory since `reset_peak`."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def reading(dump: str) -> Found:
    """Our reader and our analysis; and the bytes that their columns take."""
    from ingest.analysis.metrics import analyse

    read_graph(dump)
    read_s, graph = timed(2, lambda: read_graph(dump))
    analyse(graph)
    analyse_s, metrics = timed(2, lambda: analyse(graph))
    return {
        "read_s": read_s,
        "analyse_s": analyse_s,
        "types_exact": metrics.type_retained_exact,
        "graph_bytes": column_bytes(graph),
        "metrics_bytes": column_bytes(metrics),
    }


def column_bytes(table: object) -> int:
    """Bytes of all columns of a graph or of metrics."""
    columns = (getattr(table, name) for name in table.__dataclass_fields__)  # type: ignore[attr-defined]
    return sum(c.nbytes for c in columns if isinstance(c, np.ndarray))


def plain_reader(dump: str) -> Found:
    """What one would write in an hour: split lines, dictionaries, lists."""

    def work() -> int:
        objects: dict[int, tuple[int, int, list[int]]] = {}
        with Path(dump).open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("o "):
                    _, number, kind, size, *targets = line.split()
                    objects[int(number, 16)] = (
                        int(kind, 16),
                        int(size, 16),
                        [int(target, 16) for target in targets],
                    )
        return len(objects)

    return {"seconds": timed(1, work)[0]}


def edges(dump: str, folder: str) -> Found:
    """Write what dominators are computed from, for igraph and for ours.

    For igraph edges, the super-root as row N; for ours compressed rows and roots.
    """
    graph = read_graph(dump)
    n = len(graph.object_id)
    roots = graph.root_object[(graph.root_flags & 2) == 0]
    table = np.empty((len(roots) + graph.reference_count, 2), np.int32)
    table[: len(roots), 0] = n
    table[: len(roots), 1] = roots
    table[len(roots) :, 0] = np.repeat(np.arange(n), np.diff(graph.ref_start))
    table[len(roots) :, 1] = graph.ref_target
    np.save(f"{folder}/edges.npy", table)
    for name in ("ref_start", "ref_target", "root_object", "root_flags"):
        np.save(f"{folder}/{name}.npy", getattr(graph, name))
    return {"objects": n}


def igraph_dominators(folder: str) -> Found:
    """The dominator tree of igraph; memory of its graph and of the computation.

    And how long its graph takes, from an array of edges in memory.
    """
    import igraph

    table = np.load(f"{folder}/edges.npy")
    n = int(table[0, 0])
    begin = time.perf_counter()
    graph = igraph.Graph(n + 1, table, directed=True)
    graph_s = time.perf_counter() - begin
    del table
    reset_peak()
    seconds, found = timed(1, lambda: graph.dominator(n))
    peak = peak_mib()
    # It says NaN of what cannot be reached.
    theirs = np.nan_to_num(np.array(found[:n]), nan=-1).astype(np.int64)
    np.save(f"{folder}/igraph.npy", theirs)
    return {"seconds": seconds, "graph_s": graph_s, "peak_mib": peak}


def our_dominators(folder: str) -> Found:
    """Ours from as little; and whether both agree on every object."""
    from ingest.analysis.distances import ReferenceColumns
    from ingest.analysis.dominators import dominator_tree

    columns = {
        name: np.load(f"{folder}/{name}.npy")
        for name in ("ref_start", "ref_target", "root_object", "root_flags")
    }
    roots = columns["root_object"][(columns["root_flags"] & 2) == 0]
    references = ReferenceColumns(
        columns["ref_start"], columns["ref_target"], np.empty(0, np.bool_), roots
    )
    seconds, _ = timed(2, lambda: dominator_tree(references)[0])
    reset_peak()
    last_s, tree = timed(1, lambda: dominator_tree(references)[0])
    peak = peak_mib()
    ours = tree.by_object().astype(np.int64)
    other = np.load(f"{folder}/igraph.npy")
    n = len(ours)
    expected = np.where(other == n, -1, np.where(other < 0, -2, other))
    return {
        "seconds": min(seconds, last_s),
        "peak_mib": peak,
        "equal": bool(np.array_equal(ours, expected)),
    }


def costs() -> Found:
    """What a test freezes: bytes an object and a reference, by stage."""
    from tests.unit.costs import WRITERS, measured, reading

    found = {f"reading {package}": reading(package) for package in WRITERS}
    return {name: list(cost) for name, cost in (found | measured()).items()}


def tracking(objects: str, count: str) -> Found:
    """Objects traced back through collections, of which every other one compacts.

    The heap has 2,000 blocks, which stay in place or are permuted.
    """
    from ingest.analysis.tracking import trace_back
    from ingest.heap.history import OLDEST, Survival

    chance, n, blocks = np.random.default_rng(1), int(objects), 2_000
    base = np.uint64(1 << 40)
    address = base + 8 * np.sort(chance.choice(4 * n, n, replace=False)).astype("u8")
    edges = np.linspace(0, 4 * n, blocks + 1).astype(np.uint64) * np.uint64(8) + base
    length = np.diff(edges)
    collections, moved = [], address
    for number in range(int(count)):
        order = chance.permutation(blocks) if number % 2 else np.arange(blocks)
        new = np.empty(blocks, np.uint64)
        begins = np.cumsum(np.append(0, length[order][:-1])).astype(np.uint64)
        new[order] = base + begins
        collections.append(Survival(number, OLDEST, edges[:-1], new, length))
        block = np.searchsorted(edges, moved, "right") - 1
        moved = moved + (new - edges[:-1])[block]
    seconds, origins = timed(3, lambda: trace_back(moved, collections))
    return {
        "seconds": seconds,
        "same": bool((origins.known_at == address).all()),
    }


def bolt_load(dump: str, name: str) -> Found:
    """Load over Bolt into the running server; the tool's own time while it writes."""
    from ingest.database.connection import connect
    from ingest.database.loading import Loader
    from ingest.database.store import Store, running_target
    from ingest.database.writing import Via
    from ingest.server.embedded import EmbeddedServer
    from ingest.system.settings import settings

    known, cpu = settings(), [0.0]

    def progress(stage: str, done: int, total: int | None) -> None:
        del done, total
        if stage == "write" and not cpu[0]:
            cpu[0] = time.process_time()

    target = running_target(known)
    assert target is not None
    with connect(target, server=EmbeddedServer(known)) as database:
        begin = time.perf_counter()
        receipt = Loader(
            Store(database), via=Via.BOLT, name=name, progress=progress
        ).load(dump)
        seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "client_s": time.process_time() - cpu[0],
        "entities": receipt.node_count + receipt.relationship_count,
    }


def idle() -> Found:
    """Wait until the server has populated its indexes, which goes on after a load."""
    from ingest.database.connection import connect
    from ingest.database.indexes import ensure_indexes
    from ingest.server.embedded import EmbeddedServer, target_of
    from ingest.system.settings import settings

    endpoint = EmbeddedServer(settings()).running()
    assert endpoint is not None
    with connect(target_of(endpoint)) as database:
        ensure_indexes(database)
    return {}


def import_alone(dump: str) -> Found:
    """Neo4j's import of what a bulk load imports, with nothing beside it.

    Once as ``neo4j-admin`` runs it, and once as a load does, with other Java flags and
    an archive of its classes. Each is the median of three: what Java compiles first is
    chance, by which the same import takes a third longer or less.
    """
    from ingest.database.importer import started_import
    from ingest.server.embedded import EmbeddedServer
    from ingest.system.settings import settings

    server = EmbeddedServer(settings())
    folder = server.home / "alone"
    export = ("export", dump, str(folder), "--for", "neo4j-admin", "--force")
    subprocess.run([sys.executable, "-m", "ingest", *export], check=True)

    def as_shipped() -> float:
        with neo4j_admin(server) as (command, variables):
            whole = [*command, "database", "import", "full", "neo4j", "@import.args"]
            begin = time.perf_counter()
            subprocess.run(
                whole, cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL
            )
            return time.perf_counter() - begin

    def as_loaded() -> float:
        data, begin = server.files.new_data(), time.perf_counter()
        with started_import(server, folder, data) as started:
            started.run(["@import.args"], lambda _: None)
            started.finish()
            seconds = time.perf_counter() - begin
        shutil.rmtree(data)
        return seconds

    runs = [(as_shipped(), as_loaded()) for _ in range(3)]
    shipped_s, loaded_s = (median(seconds) for seconds in zip(*runs, strict=True))
    shutil.rmtree(folder)
    return {"as_shipped_s": shipped_s, "as_loaded_s": loaded_s}


@contextmanager
def neo4j_admin(server: EmbeddedServer) -> Iterator[tuple[list[str], dict[str, str]]]:
    """What ``bin/neo4j-admin`` runs, for a home of its own: command and environment."""
    from ingest.progress import silent
    from ingest.server.launch import environment, packaged_java

    home, jars = server.home / "peer", server.jars(silent)
    java, _ = packaged_java(server.version)
    for name in ("lib", "conf"):
        (home / name).mkdir(parents=True)
    for jar in jars:
        (home / "lib" / jar.name).symlink_to(jar)
    (home / "conf" / "neo4j.conf").touch()
    main_class = "org.neo4j.server.startup.Neo4jAdminCommand"
    try:
        yield [str(java), main_class], environment(home, jars)
    finally:
        shutil.rmtree(home)


STAGES: tuple[Callable[..., Found], ...] = (
    reading,
    plain_reader,
    edges,
    igraph_dominators,
    our_dominators,
    costs,
    tracking,
    bolt_load,
    idle,
    import_alone,
)


if __name__ == "__main__":
    chosen = {stage.__name__: stage for stage in STAGES}[sys.argv[1]]
    print(json.dumps(chosen(*sys.argv[2:])))
