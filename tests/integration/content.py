"""All that is in the graph of one dump, to be compared with another's."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from ingest.tables.schema import KEY_BITS

if TYPE_CHECKING:
    from ingest.database.connection import Database


def rows(database: Database, text: str, **values: object) -> list[tuple[object, ...]]:
    return database.read(text, values)[1]


def content(database: Database, name: str) -> tuple[Counter[object], Counter[object]]:
    """All nodes and relationships of a dump, without what differs by load."""
    (number,) = rows(database, "MATCH (d:Dump {name: $n}) RETURN d.number", n=name)[0]
    nodes = rows(
        database,
        "MATCH (n) WHERE n.dump = $dump OR (n:Dump AND n.number = $dump) "
        "RETURN labels(n), n.key % $size, properties(n)",
        dump=number,
        size=1 << KEY_BITS,
    )
    different = ("key", "dump", "number", "name", "loaded_at", "loading_since")
    found: Counter[object] = Counter()
    for labels, index, properties in nodes:
        assert isinstance(labels, list)
        assert isinstance(properties, dict)
        kept = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in properties.items()
            if key not in different or (key == "name" and labels != ["Dump"])
        }
        typed = tuple(
            sorted((key, type(value).__name__, value) for key, value in kept.items())
        )
        found[(tuple(sorted(labels)), index, typed)] += 1
    edges = rows(
        database,
        "MATCH (a)-[r]->(b) WHERE b.dump = $dump "
        "RETURN labels(a), a.key % $size, type(r), properties(r), "
        "labels(b), b.key % $size",
        dump=number,
        size=1 << KEY_BITS,
    )
    # A node's labels come in the order in which the store saw the first of each.
    sets = ([sorted(v) if isinstance(v, list) else v for v in edge] for edge in edges)
    return found, Counter(json.dumps(edge) for edge in sets)
