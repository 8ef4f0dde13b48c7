"""``make bench-queries ARGS=--hard``: every query on heaps of hard shapes.

Long chains, cycles, parallel references: a query that follows trails instead of
objects does not end on one of them. Prints a table of queries and heaps in seconds; of
a query about objects the slowest of three counts. A query that takes longer than
`MOST_S` is stopped.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph
    from ingest.queries.library import Query

MOST_S = 60.0


def questions(query: Query, graph: HeapGraph) -> list[dict[str, str]]:
    """What to ask: about the first object, one in the middle, and the last."""
    required = {p.name for p in query.parameters if p.required and p.name != "dump"}
    if not required:
        return [{}]
    ids = [hex(i) for i in graph.object_id.tolist()]
    places = [ids[1 % len(ids)], ids[len(ids) // 2], ids[-1]]
    kinds = [int(graph.type_index[at]) for at in (0, len(ids) // 2, -1)]
    asked = [
        {
            "address": place,
            "from": ids[0],
            "to": place,
            "type": graph.type_names[kind],
            "field": field,
        }
        for place, kind, field in zip(
            places, kinds, ("next", "table", "key"), strict=True
        )
    ]
    return [{name: one[name] for name in required} for one in asked]


def seconds(database: Database, query: Query, given: dict[str, str], at: int) -> str:
    """How long it takes, or why it does not end."""
    from neo4j import Query as Timed
    from neo4j.exceptions import Neo4jError

    begin = time.perf_counter()
    try:
        with database._session(default_access_mode="READ") as session:
            text = Timed(query.text, timeout=MOST_S)
            session.run(text, dict(query.bind(given, at))).consume()
    except Neo4jError as error:
        return (error.code or "").rpartition(".")[2]
    return f"{time.perf_counter() - begin:.2f}"


def main(names: list[str]) -> None:
    """Measure the queries of these names, or all."""
    from ingest.analysis.metrics import analyse
    from ingest.database.claims import Place, delete, unpublish
    from ingest.database.connection import connect
    from ingest.database.store import Store, running_target
    from ingest.heap.identity import Identity
    from ingest.queries.library import library
    from ingest.system.settings import settings
    from ingest.tables.heap_tables import HeapTables
    from tests.cypher.hard_heaps import SHAPES

    target = running_target(settings())
    assert target is not None
    asked = [
        query
        for query in library().values()
        if query.group not in ("Fleet", "Comparison", "Traces")
        and (not names or query.name in names)
    ]
    found: dict[str, list[str]] = {query.name: [] for query in asked}
    with connect(target) as database:
        for shape, (make, _, size) in SHAPES.items():
            graph = make(size)
            written = Store(database).write(
                HeapTables(graph, analyse(graph)),
                Place(f"hard-{uuid4().hex}"),
                source=shape,
                identity=Identity.of(uuid4().hex * 2, None),
            )
            print(f"{shape}: {size:,}", file=sys.stderr, flush=True)
            for query in asked:
                each = [
                    seconds(database, query, given, written.number)
                    for given in questions(query, graph)
                ]
                found[query.name].append(max(each, key=_order))
                if _order(found[query.name][-1]) > 3:
                    print(f"  {query.name} {each}", file=sys.stderr, flush=True)
            unpublish(database, written.number)
            delete(database, written.number)
    print("| query | " + " | ".join(SHAPES) + " |")
    print("| --- |" + " ---: |" * len(SHAPES))
    for name, row in found.items():
        print(f"| `{name}` | " + " | ".join(row) + " |")


def _order(cell: str) -> float:
    return float(cell) if cell[0].isdigit() else MOST_S + len(cell)


if __name__ == "__main__":
    main(sys.argv[1:])
