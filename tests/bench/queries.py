"""``python -m tests.bench.queries NAME``: every query of the library, second run.

Prints one JSON line a query: its name, the seconds from tables (null if only the graph
answers it) and from the graph, whether a report or ``ingest why`` asks it, and what it
was asked about. A query about an object or a type is asked about several that are hard,
and the slowest counts.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.api.asked import AskedStore
    from ingest.database.connection import Database
    from ingest.queries.library import Query


def subjects(database: Database, number: int) -> dict[str, str]:
    """What to ask about: a deep object, its dominator, a middling type, a field."""
    _, rows = database.read(
        """
        MATCH (a:Object)-[:DOMINATES]->(o:Object)
        WHERE o.dump = $dump AND o.retained_bytes > 0 AND o.retained_count > 1
        WITH a, o ORDER BY o.key LIMIT 10000
        RETURN a.address, o.address ORDER BY o.root_distance DESC, o.key
        SKIP 500 LIMIT 1
        """,
        {"dump": number},
    )
    if not rows:
        _, rows = database.read(
            "MATCH (o:Object) WHERE o.dump = $dump WITH o ORDER BY o.key LIMIT 1 "
            "RETURN o.address, o.address AS other",
            {"dump": number},
        )
    _, types = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump RETURN t.name "
        "ORDER BY t.instance_count DESC, t.key SKIP 12 LIMIT 1",
        {"dump": number},
    )
    _, fields = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump AND t.fields IS NOT NULL "
        "RETURN split(t.fields, ' ')[0] ORDER BY t.instance_count DESC, t.key LIMIT 1",
        {"dump": number},
    )
    above, address = (str(value) for value in rows[0])
    return {
        "from": above,
        "to": address,
        "address": address,
        "type": str(types[0][0]),
        "field": str(fields[0][0]) if fields else "next",
    }


def hard_subjects(database: Database, number: int) -> list[dict[str, str]]:
    """What is slow to ask about: what is deep, what many refer to, what has many."""
    ordered = "RETURN o.address ORDER BY o.{} DESC, o.key LIMIT 1"
    texts = [
        "MATCH (o:Object) WHERE o.dump = $dump AND o.root_distance > 0 "
        "WITH o.type_name AS kind, max([o.root_distance, o.address]) AS most "
        "RETURN most[1] ORDER BY most DESC LIMIT 6",
        "MATCH (o:Object) WHERE o.dump = $dump AND o.referrer_count > 0 "
        + ordered.format("referrer_count"),
        "MATCH (o:Object) WHERE o.dump = $dump AND o.reference_count > 0 "
        + ordered.format("reference_count"),
    ]
    addresses = [
        str(row[0])
        for text in texts
        for row in database.read(text, {"dump": number})[1]
    ]
    _, types = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump RETURN t.name "
        "ORDER BY t.instance_count DESC, t.key LIMIT 2",
        {"dump": number},
    )
    found = [{"address": at, "from": addresses[-1], "to": at} for at in addresses]
    return [*found, *({"type": str(row[0])} for row in types)]


def arguments(query: Query, known: dict[str, str]) -> dict[str, str]:
    """Values for what a query requires."""
    return {
        parameter.name: known[parameter.name]
        for parameter in query.parameters
        if parameter.required and parameter.name != "dump"
    }


def main(name: str) -> None:
    from ingest.answers.asking import FUNCTIONS
    from ingest.api.asked import AskedStore
    from ingest.database.connection import connect
    from ingest.database.indexes import ensure_indexes
    from ingest.database.store import Store, running_target
    from ingest.queries.library import library
    from ingest.reports import why
    from ingest.reports.about import From
    from ingest.reports.report_panels import report_queries
    from ingest.server.embedded import EmbeddedServer
    from ingest.system.settings import settings

    shown = {*report_queries(page=False), *report_queries(page=True)}
    shown |= {*why.OBJECT_QUERIES, *why.TYPE_QUERIES}
    known_settings = settings()
    target, server = running_target(known_settings), EmbeddedServer(known_settings)
    assert target is not None
    with connect(target, server=server) as database:
        ensure_indexes(database)  # some are populated after a load has ended
        store = Store(database)
        chosen = store.select(name)
        number = chosen.dump.number
        known = subjects(database, number)
        hard = hard_subjects(database, number)
        for query in library().values():
            if query.is_of_fleet:
                continue
            asked = [arguments(query, known)]
            asked += [arguments(query, known | one) for one in hard if asked[0]]
            asked = [one for at, one in enumerate(asked) if one not in asked[:at]]
            graph_s, about = slowest(
                AskedStore(store, chosen, asked_from=From.GRAPH), query, asked
            )
            tables_s = None
            if query.name in FUNCTIONS:
                tables = AskedStore(store, chosen, asked_from=From.TABLES)
                tables_s, about = slowest(tables, query, asked)
            found = [query.name, tables_s, graph_s, query.name in shown, about]
            print(json.dumps(found), flush=True)


def slowest(
    asked: AskedStore, query: Query, questions: list[dict[str, str]]
) -> tuple[float, str]:
    """Seconds of the second run of the slowest question, and what it is about."""
    found = []
    for given in questions:
        asked.ask(query, given)
        begin = time.perf_counter()
        replace(asked).ask(query, given)  # opens the tables again, as a command does
        found.append((time.perf_counter() - begin, " ".join(given.values())))
    return max(found)


if __name__ == "__main__":
    main(sys.argv[1])
