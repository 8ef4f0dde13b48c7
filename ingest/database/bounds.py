"""What an answer leaves out: its limit, and what its query does not look at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.database.connection import Database
    from ingest.queries.library import Query, Value

_NAME = re.compile(r"\$(\w+)")


def searched(query: Query, values: Mapping[str, Value]) -> str | None:
    """What a query of the library looks at, if that is not everything."""
    if not query.searched:
        return None

    def shown(match: re.Match[str]) -> str:
        value = values[match[1]]
        return f"{value:,}" if isinstance(value, int) else str(value)

    return f"only searched: {_NAME.sub(shown, query.searched)}"


def bound(
    database: Database, query: Query, values: Mapping[str, Value], row_count: int
) -> str | None:
    """Which bound an answer may have been cut at, in one line; ``None`` for none.

    Args:
        database: An open database.
        query: The query of the library.
        values: Its parameters.
        row_count: Rows of the answer.
    """
    said = []
    if row_count and row_count == values.get("limit"):
        rows = counted(row_count, "rows")
        said.append(f"{rows}, the limit: there may be more (--param limit=N)")
    if query.more and row_count and _has_more(database, query, values):
        said.append(searched(query, values) or "")
    return "; ".join(said) or None


def _has_more(database: Database, query: Query, values: Mapping[str, Value]) -> bool:
    text = f"MATCH (d:Dump {{number: $dump}}) RETURN {query.more} AS has_more"
    _, rows = database.read(text, dict(values))
    return bool(rows and rows[0][0])
