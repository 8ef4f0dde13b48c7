"""Other ways to bring the same heap into Neo4j, as one would write them by hand.

``python -m tests.bench.peers csv DUMP FOLDER`` writes files for
``neo4j-admin database import full`` with the csv module and runs that; ``... maps DUMP
OBJECTS`` sends a part of the heap as maps, found by key, through one writer, to the
running server, and takes it away again.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.analysis.metrics import HeapMetrics
    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph

MAPS_ROWS = 10_000


def _write(path: Path, header: list[str], rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _references(graph: HeapGraph) -> Iterator[tuple[int, int]]:
    for source in range(graph.object_count):
        begin, end = graph.ref_start[source], graph.ref_start[source + 1]
        for target in graph.ref_target[begin:end].tolist():
            yield source, target


def _objects(graph: HeapGraph, metrics: HeapMetrics) -> Iterator[tuple[object, ...]]:
    for row in range(len(graph.object_id)):
        yield (
            graph.address(row),
            graph.type_name(row),
            int(graph.shallow_bytes[row]),
            int(metrics.retained_bytes[row]),
            int(metrics.retained_count[row]),
            int(metrics.root_distance[row]),
        )


_COLUMNS = ["type_name", "shallow_bytes", "retained_bytes", "retained_count"]


def write_csv(graph: HeapGraph, metrics: HeapMetrics, folder: Path) -> list[str]:
    """Write nodes and relationships; returns the arguments that name them."""
    ints = [f"{column}:int" for column in [*_COLUMNS[1:], "root_distance"]]
    _write(
        folder / "objects.csv",
        ["address:ID(Object)", "type_name", *ints],
        _objects(graph, metrics),
    )
    _write(
        folder / "types.csv",
        ["id:ID(Type)", "name"],
        ((f"t{i}", name) for i, name in enumerate(graph.type_names)),
    )
    _write(
        folder / "roots.csv",
        ["id:ID(Root)", "kind:int", "flags:int"],
        (
            (f"r{i}", int(kind), int(graph.root_flags[i]))
            for i, kind in enumerate(graph.root_kind)
        ),
    )
    ends = {
        "INSTANCE_OF": ("Object", "Type"),
        "REFERENCES": ("Object", "Object"),
        "DOMINATES": ("Object", "Object"),
        "HOLDS": ("Root", "Object"),
    }
    address = graph.address
    rows: dict[str, Iterable[tuple[object, ...]]] = {
        "INSTANCE_OF": (
            (address(i), f"t{graph.type_index[i]}") for i in range(graph.object_count)
        ),
        "REFERENCES": ((address(a), address(b)) for a, b in _references(graph)),
        "DOMINATES": (
            (address(int(parent)), address(i))
            for i, parent in enumerate(metrics.dominator)
            if parent >= 0
        ),
        "HOLDS": ((f"r{i}", address(int(o))) for i, o in enumerate(graph.root_object)),
    }
    arguments = [
        f"--nodes={label}={folder / file}"
        for label, file in (
            ("Object", "objects.csv"),
            ("Type", "types.csv"),
            ("Root", "roots.csv"),
        )
    ]
    for name, (start, end) in ends.items():
        path = folder / f"{name.lower()}.csv"
        _write(path, [f":START_ID({start})", f":END_ID({end})"], rows[name])
        arguments.append(f"--relationships={name}={path}")
    return arguments


def by_csv(dump: str, folder: str) -> dict[str, object]:
    """Files by hand, then Neo4j's own import into a store of its own."""
    from ingest.server.embedded import EmbeddedServer
    from ingest.system.places import places
    from ingest.system.settings import settings
    from tests.heaps import measure

    home = Path(folder) / "home"
    (home / "cache").mkdir(parents=True, exist_ok=True)
    jars = home / "cache" / "maven"
    if not jars.exists():
        jars.symlink_to(places().cache / "maven", target_is_directory=True)
    begin = time.perf_counter()
    graph, metrics, _ = measure(dump)
    measured_s = time.perf_counter() - begin
    begin = time.perf_counter()
    arguments = write_csv(graph, metrics, Path(folder))
    written_s = time.perf_counter() - begin
    os.environ["INGEST_HOME"] = str(home)
    begin = time.perf_counter()
    full = ["database", "import", "full", "neo4j", "--overwrite-destination"]
    report = f"--report-file={folder}/import.report"
    done = EmbeddedServer(settings()).admin([*full, report, *arguments])
    imported_s = time.perf_counter() - begin
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    for file in Path(folder).glob("*.csv"):
        file.unlink()
    return {"measure_s": measured_s, "write_s": written_s, "import_s": imported_s}


def by_maps(dump: str, objects: str) -> dict[str, object]:
    """A part of the heap as a first script would send it: rates, not a whole load."""
    from ingest.database.connection import connect
    from ingest.database.store import running_target
    from ingest.system.settings import settings
    from tests.heaps import measure

    graph, metrics, _ = measure(dump)
    count = min(int(objects), graph.object_count)
    names = ["address", *_COLUMNS, "root_distance"]
    nodes = [
        dict(zip(names, row, strict=True))
        for row in islice(_objects(graph, metrics), count)
    ]
    known = {graph.address(i) for i in range(count)}
    relations: list[dict[str, object]] = [
        {"source": graph.address(a), "target": graph.address(b)}
        for a, b in islice(_references(graph), int(graph.ref_start[count]))
        if graph.address(b) in known
    ]
    target = running_target(settings())
    assert target is not None
    with connect(target) as database:
        database.run(
            "CREATE CONSTRAINT naive IF NOT EXISTS "
            "FOR (n:Naive) REQUIRE n.address IS UNIQUE"
        )
        try:
            nodes_s = _send(
                database,
                "UNWIND $rows AS row CREATE (n:Naive {address: row.address}) "
                "SET n += row",
                nodes,
            )
            relations_s = _send(
                database,
                "UNWIND $rows AS row MATCH (a:Naive {address: row.source}) "
                "MATCH (b:Naive {address: row.target}) CREATE (a)-[:NAIVE]->(b)",
                relations,
            )
        finally:
            database.run(
                "MATCH (n:Naive) CALL (n) { DETACH DELETE n } "
                "IN TRANSACTIONS OF 2000 ROWS"
            )
            database.run("DROP CONSTRAINT naive")
    pairs = (
        graph.object_count
        + graph.reference_count
        + int(np.count_nonzero(metrics.dominator >= 0))
    )
    node_rate, relation_rate = len(nodes) / nodes_s, len(relations) / relations_s
    return {
        "node_rate": node_rate,
        "relation_rate": relation_rate,
        "whole_s": graph.object_count / node_rate + pairs / relation_rate,
    }


def _send(database: Database, text: str, rows: list[dict[str, object]]) -> float:
    begin = time.perf_counter()
    for at in range(0, len(rows), MAPS_ROWS):
        database.write(text, {"rows": rows[at : at + MAPS_ROWS]})
    return time.perf_counter() - begin


if __name__ == "__main__":
    way = {"csv": by_csv, "maps": by_maps}[sys.argv[1]]
    print(json.dumps(way(*sys.argv[2:])))
