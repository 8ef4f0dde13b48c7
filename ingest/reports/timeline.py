"""The collections of a trace as a figure: how large each left the heap, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.script import script_json
from ingest.text import printable

if TYPE_CHECKING:
    from ingest.queries.answer import Answer

LEAST = 2
"""Fewer collections make no figure."""


def timeline(collections: Answer) -> str:
    """The rows of ``gc-timeline`` for the script, column by column.

    Empty where there is nothing to draw: too few, or none tells the heap's size.
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
    told: dict[str, list[object]] = {
        column: [row[column] for row in rows] for column in columns
    }
    for column in ("reason", "mode"):
        told[column] = [printable(str(row[column] or "")) for row in rows]
    return script_json(told)
