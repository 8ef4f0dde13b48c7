"""Data for the chart of heap size after each collection of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.script import script_json
from ingest.text import printable

if TYPE_CHECKING:
    from ingest.queries.answer import Answer

LEAST = 2
"""Fewest collections for a chart."""


def timeline(collections: Answer) -> str:
    """Return the rows of ``gc-timeline`` as JSON for the script, by column.

    Empty if there is nothing to draw: too few collections, or none with a heap size.
    """
    rows = collections.dicts()
    if len(rows) < LEAST or all(row["heap_bytes"] is None for row in rows):
        return ""
    columns = (
        "number",
        "generation",
        "started_us",
        "duration_us",
        "heap_bytes",
        "promoted_bytes",
        "is_dump",
    )
    found: dict[str, list[object]] = {
        column: [row[column] for row in rows] for column in columns
    }
    for column in ("reason", "mode"):
        found[column] = [printable(str(row[column] or "")) for row in rows]
    return script_json(found)
