"""What an answer may leave out: rows beyond its limit, and what is not searched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.queries.library import Query, Value

_NAME = re.compile(r"\$(\w+)")


def searched(query: Query, values: Mapping[str, Value]) -> str | None:
    """A text on what a query searches, if that is not everything."""
    if not query.searched:
        return None

    def shown(match: re.Match[str]) -> str:
        value = values[match[1]]
        return f"{value:,}" if isinstance(value, int) else str(value)

    return f"only searched: {_NAME.sub(shown, query.searched)}"


def limit_reached(values: Mapping[str, Value], row_count: int) -> str | None:
    """A text if an answer has as many rows as its limit allows; else ``None``."""
    if not row_count or row_count != values.get("limit"):
        return None
    rows = counted(row_count, "rows")
    return f"{rows}, the limit: there may be more (--param limit=N)"


def bound_of_file(
    query: Query, values: Mapping[str, Value], row_count: int
) -> str | None:
    """Tell which bound may have cut the answer from a file; ``None`` for none.

    A query that searches only a part says so even if there is no more.
    """
    said = [limit_reached(values, row_count)]
    said.append(searched(query, values) if query.more and row_count else None)
    return "; ".join(one for one in said if one) or None
