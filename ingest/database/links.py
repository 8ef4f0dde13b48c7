"""Relationships between loaded dumps: `NEXT` of one program, `LINKS` of one trace.

Nothing in a dump says of which program it is. Two dumps are taken to be of one if many
of their paths from the top of the dominator tree are the same, which their fingerprints
say. They follow one another in the order in which they were loaded; those of one trace
in that of their collections.

The objects of two dumps of a trace are linked only once, however often that is done:
existing links are unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ingest.database.claims import WINDOW_KEYS, beat, object_rows
from ingest.progress import silent
from ingest.tables.schema import KEY_BITS, LINKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.database.connection import Database
    from ingest.progress import Progress
    from ingest.tables.column import Link

SHARED = 0.3
"""Of the paths of the dump that has fewer, which two dumps of a program have in common
at least."""

DEEPEST = 2
"""Steps of the paths that are compared."""


class ReadyDump(NamedTuple):
    """A ready dump.

    Attributes:
        number: Its number.
        trace: Its trace; ``None`` if files of its format have one dump.
        collection: When it was taken in its trace.
        paths: Fingerprints of its paths.
    """

    number: int
    trace: str | None
    collection: int | None
    paths: frozenset[str]


def chains(dumps: Sequence[ReadyDump]) -> list[tuple[int, int]]:
    """Pairs of dumps, by number, of which the second is the next after the first."""
    first_of: dict[str, int] = {}
    for dump in sorted(dumps):
        if dump.trace is not None:
            first_of.setdefault(dump.trace, dump.number)

    def order(dump: ReadyDump) -> tuple[int, int, int]:
        begun = dump.number if dump.trace is None else first_of[dump.trace]
        return begun, dump.collection or 0, dump.number

    last: list[ReadyDump] = []  # of each program, the latest dump last
    pairs = []
    for dump in sorted(dumps, key=order):
        before = next((one for one in reversed(last) if _is_one(one, dump)), None)
        if before is not None:
            pairs.append((before.number, dump.number))
            last.remove(before)
        last.append(dump)
    return pairs


def _is_one(one: ReadyDump, other: ReadyDump) -> bool:
    """Whether two dumps are of one program."""
    if one.trace is not None and one.trace == other.trace:
        return True
    least = min(len(one.paths), len(other.paths))
    return least > 0 and len(one.paths & other.paths) >= SHARED * least


def link_next(database: Database) -> None:
    """Make ``NEXT`` anew between all ready dumps.

    Raises:
        StoreError: the server refused or was lost.
    """
    _, rows = database.read(
        """
        MATCH (d:Dump {state: 'ready'})
        CALL (d) {
          MATCH (n:TypePath)
          WHERE n.dump = d.number AND n.tree = 'dominators' AND 0 < n.depth <= $deepest
          RETURN collect(DISTINCT n.fingerprint) AS paths
        }
        RETURN d.number, d.trace, d.collection_number, paths
        """,
        {"deepest": DEEPEST},
    )
    dumps = [
        ReadyDump(
            cast("int", number),
            cast("str | None", trace),
            cast("int | None", collection),
            frozenset(cast("list[str]", paths)),
        )
        for number, trace, collection, paths in rows
    ]
    database.write(
        """
        OPTIONAL MATCH (:Dump)-[old:NEXT]->(:Dump)
        DELETE old
        WITH count(*) AS done
        UNWIND $pairs AS pair
        MATCH (a:Dump {number: pair[0]}), (b:Dump {number: pair[1]})
        MERGE (a)-[:NEXT]->(b)
        """,
        {"pairs": [list(pair) for pair in chains(dumps)]},
    )


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


def link_traces(
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
