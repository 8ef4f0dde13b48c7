"""Why an answer may be incomplete: its limit, or what its query ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.queries.bounds import limit_reached, searched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.database.connection import Database
    from ingest.queries.library import Query, Value


def bound(
    database: Database, query: Query, values: Mapping[str, Value], row_count: int
) -> str | None:
    """Tell in one line which bound may have cut an answer; ``None`` for none.

    Args:
        database: An open database.
        query: The query of the library.
        values: Its parameters.
        row_count: Rows of the answer.
    """
    said = []
    if reached := limit_reached(values, row_count):
        said.append(reached)
    if query.more and row_count and _has_more(database, query, values):
        said.append(searched(query, values) or "")
    return "; ".join(said) or None


def _has_more(database: Database, query: Query, values: Mapping[str, Value]) -> bool:
    text = f"MATCH (d:Dump {{number: $dump}}) RETURN {query.more} AS has_more"
    _, rows = database.read(text, dict(values))
    return bool(rows and rows[0][0])
