"""``python -m tests.bench.queries NAME``: every query of the library, second run.

Prints one JSON line a query: its name, the seconds, whether a report
or ``ingest why`` asks it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def arguments(query: Query, known: dict[str, str]) -> dict[str, str]:
    """Values for what a query requires."""
    return {
        parameter.name: known[parameter.name]
        for parameter in query.parameters
        if parameter.required and parameter.name != "dump"
    }


def main(name: str) -> None:
    from ingest.cli.options import running_target
    from ingest.database.ask import ask
    from ingest.database.connection import connect
    from ingest.database.dumps import find_dump
    from ingest.queries.library import library
    from ingest.reports import why
    from ingest.reports.report_panels import report_queries
    from ingest.settings import settings

    shown = {*report_queries(page=False), *report_queries(page=True)}
    shown |= {*why.OBJECT_QUERIES, *why.TYPE_QUERIES}
    target = running_target(settings())
    assert target is not None
    with connect(target) as database:
        number = find_dump(database, name).number
        known = subjects(database, number)
        for query in library().values():
            given = arguments(query, known)
            ask(database, query, given, number)
            begin = time.perf_counter()
            ask(database, query, given, number)
            seconds = time.perf_counter() - begin
            print(json.dumps([query.name, seconds, query.name in shown]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
