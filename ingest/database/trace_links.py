"""Relationships between the dumps of one trace, made over Bolt: `LINKS`.

Existing links are unchanged: a pair is linked only once, however often this runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.database.dumps import WINDOW_KEYS, beat, object_rows
from ingest.progress import silent
from ingest.tables.schema import KEY_BITS, LINKS

if TYPE_CHECKING:
    from ingest.database.connection import Database
    from ingest.progress import Progress
    from ingest.tables.column import Link


def siblings(database: Database, number: int) -> set[int]:
    """Numbers of the ready dumps that are of one trace with a dump."""
    _, rows = database.read(
        """
        MATCH (d:Dump {number: $number})
        MATCH (e:Dump {trace: d.trace, state: 'ready'})
        WHERE e.number <> d.number AND e.collection_number <> d.collection_number
        RETURN e.number
        """,
        {"number": number},
    )
    return {cast("int", row[0]) for row in rows}


def link(
    database: Database, number: int, others: set[int], progress: Progress = silent
) -> None:
    """Link a dump to others of its trace; their collection numbers give the order.

    Args:
        database: Where they are, with the indexes online.
        number: Of a dump that is written, ready or not.
        others: From `siblings`.
        progress: Receives the number of objects.
    """
    if not others:
        return
    first, total = number << KEY_BITS, object_rows(database, number)
    for done, other in enumerate(sorted(others)):
        for begin in range(0, total, WINDOW_KEYS):
            progress("link", done * total + begin, len(others) * total)
            last = first + min(begin + WINDOW_KEYS, total)
            for entry in LINKS:
                database.write(
                    _statement(entry),
                    {
                        "number": number,
                        "other": other,
                        "first": first + begin,
                        "last": last,
                    },
                )
            beat(database, number)


def _statement(entry: Link) -> str:
    same = " AND ".join(f"b.{name} = a.{name}" for name in entry.equal)
    return (
        "MATCH (d:Dump {number: $number}), (e:Dump {number: $other}) "
        "WITH e.collection_number < d.collection_number AS follows "
        f"MATCH (a:{entry.label}) WHERE $first <= a.key < $last "
        f"AND a.{entry.equal[0]} IS NOT NULL "
        f"MATCH (b:{entry.label}) WHERE b.dump = $other AND {same} "
        "WITH CASE WHEN follows THEN b ELSE a END AS older, "
        "CASE WHEN follows THEN a ELSE b END AS newer "
        f"MERGE (older)-[:{entry.name}]->(newer)"
    )
