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


def bound(
    query: Query, values: Mapping[str, Value], row_count: int, has_more: bool = True
) -> str | None:
    """Tell in one line which bound may have cut an answer; ``None`` for none.

    Args:
        query: The query of the library.
        values: Its parameters.
        row_count: Rows of the answer.
        has_more: Whether the dump has more than a query searches that does not search
            everything. An answer from a file says what was searched in any case.
    """
    said = []
    if row_count and row_count == values.get("limit"):
        rows = counted(row_count, "rows")
        said.append(f"{rows}, the limit: there may be more (--param limit=N)")
    if query.more and row_count and has_more:
        said.append(searched(query, values) or "")
    return "; ".join(said) or None
