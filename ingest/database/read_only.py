"""A user's own query may only read the graph.

The server refuses to write in a transaction for reading. It lets through what it does
not count as writing: ends of transactions, and procedures that clear caches or close
connections. So the server is asked first for the plan, which names these however the
query is spelled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.errors import QueryError
from ingest.queries.library import QUOTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.database.connection import Database
    from ingest.queries.library import Query, Value

_READING = re.compile(
    r"""db\.(labels|propertyKeys|relationshipTypes|info|ping|schema\.\w+
        |index\.(fulltext|vector)\.query\w+|index\.fulltext\.listAvailableAnalyzers)
    |dbms\.(components|info|listConfig|listConnections|showCurrentUser)
    |apoc\.(path|algo|neighbors)\.[\w.]+""",
    re.VERBOSE | re.IGNORECASE,
)
"""Procedures of the server and of APOC that only read."""
_OTHER_STEPS = {
    "TerminateTransactions": "ends transactions",
    "LoadCSV": "reads files and other hosts",
    "TransactionApply": "commits by itself",
    "TransactionForeach": "commits by itself",
}
_PROFILE = re.compile(
    rf"((?:\s|{QUOTED.pattern}|CYPHER\b|\d+(?:\.\d+)?\b|\w+\s*=\s*\w+)*)PROFILE\b",
    re.DOTALL | re.IGNORECASE,
)


def check_only_reads(
    database: Database, query: Query, values: Mapping[str, Value]
) -> None:
    """Make sure that a query only reads the graph, without running it.

    Raises:
        QueryError: The query does something else, or the server does not accept it.
    """
    profile = _PROFILE.match(query.text)
    text = query.text
    if profile:
        text = profile[1] + text[profile.end() :]
    for step, detail in _steps(database.plan(f"EXPLAIN {text}", values)):
        does = _OTHER_STEPS.get(step, "")
        procedure = detail.partition("(")[0].replace("`", "").strip()
        if step == "ProcedureCall" and not _READING.fullmatch(procedure):
            does = f"calls {procedure}, which may do more than read"
        if does:
            raise QueryError(
                f"{query.place} {does}: only queries that read the graph are run"
            )


def _steps(plan: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The operators of a plan, without the database's name, and their details."""
    arguments, below = plan.get("args"), plan.get("children")
    detail = arguments.get("Details", "") if isinstance(arguments, dict) else ""
    yield str(plan.get("operatorType", "")).partition("@")[0], str(detail)
    for child in below if isinstance(below, list) else ():
        yield from _steps(child)
