"""Relationships between loaded dumps: `NEXT` of one program, `LINKS` of one process.

Nothing in a dump tells which program it is from. Two dumps are taken to be of one
program if they share many paths from the top of the dominator tree, by fingerprint.
They follow one another in the order in which they were loaded; dumps of one process in
the order in which they were taken.

`ingest.tables.processes` decides which dumps are of one process. Linking their objects
again leaves existing links as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ingest.database.claims import WINDOW_KEYS, beat, object_rows
from ingest.progress import silent
from ingest.tables.processes import (
    Moment,
    Shared,
    SharedIds,
    sample_step,
)
from ingest.tables.schema import CONTINUED, KEY_BITS, SURVIVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.database.claims import NewDump
    from ingest.database.connection import Database
    from ingest.progress import Progress

SHARED = 0.3
"""Two dumps of a program share at least this part of the paths of the dump that has
fewer."""

DEEPEST = 2
"""Longest paths that are compared, in steps."""


_SEEKS = 10_000
"""Objects looked up by one query."""


class PossibleSibling(NamedTuple):
    """A dump that may be of the same process as a given one.

    Attributes:
        number: Its number.
        is_before: Whether it would be the earlier one of the two.
        shared: What identifies the objects that are in both.
    """

    number: int
    is_before: bool
    shared: Shared


class ReadyDump(NamedTuple):
    """A ready dump.

    Attributes:
        number: Its number.
        process: Equal for dumps of one process, as far as known: their trace, or the
            number of the first loaded one.
        moment: When it was taken in its process.
        paths: Fingerprints of its paths.
    """

    number: int
    process: str
    moment: int | None
    paths: frozenset[str]


def chains(dumps: Sequence[ReadyDump]) -> list[tuple[int, int]]:
    """Pairs of numbers of dumps; the second dump of a pair follows the first."""
    first_of: dict[str, int] = {}
    for dump in sorted(dumps):
        first_of.setdefault(dump.process, dump.number)

    def order(dump: ReadyDump) -> tuple[int, int, int]:
        return first_of[dump.process], dump.moment or 0, dump.number

    last: list[ReadyDump] = []  # the latest dump of each program, sorted by time
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
    if one.process == other.process:
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
        RETURN d.number, coalesce(
            d.trace,
            toString(reduce(first = d.number,
              n IN [(d)-[:CONTINUED_AS]-(e:Dump) WHERE e.state = 'ready' | e.number]
              | CASE WHEN n < first THEN n ELSE first END))),
          coalesce(d.collection_number, d.last_object_id), paths
        """,
        {"deepest": DEEPEST},
    )
    dumps = [
        ReadyDump(
            cast("int", number),
            cast("str", process),
            cast("int | None", moment),
            frozenset(cast("list[str]", paths)),
        )
        for number, process, moment, paths in rows
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


def candidates(database: Database, number: int) -> set[PossibleSibling]:
    """The ready dumps that may be of the same process as a dump, ready or not."""
    _, rows = database.read(
        """
        MATCH (d:Dump) WHERE d.number = $number OR d.state = 'ready'
        RETURN coalesce(d.runtime, ''), d.sha256, d.trace, d.collection_number,
          d.last_object_id, d.number
        """,
        {"number": number},
    )
    moments = [Moment(*cast("tuple[Any, ...]", row)) for row in rows]
    mine = next(one for one in moments if one.number == number)
    found = set()
    for other in moments:
        if (shared := other.shares_with(mine)) is not None:
            found.add(PossibleSibling(other.number, other.is_before(mine), shared))
    return found


def link(
    database: Database,
    number: int,
    others: Iterable[PossibleSibling],
    progress: Progress = silent,
) -> None:
    """Link a dump and its objects to those candidates that are of its process.

    Args:
        database: The database, with the indexes online.
        number: Number of a dump that is written, ready or not.
        others: From `candidates`.
        progress: Receives the number of objects.
    """
    chosen = [one for one in sorted(others) if _is_of_process(database, number, one)]
    if not chosen:
        return
    first, total = number << KEY_BITS, object_rows(database, number)
    for done, other in enumerate(chosen):
        for begin in range(0, total, WINDOW_KEYS):
            progress("link", done * total + begin, len(chosen) * total)
            last = first + min(begin + WINDOW_KEYS, total)
            values = {"other": other.number, "first": first + begin, "last": last}
            database.write(_survivors(other), values)
        ends = (other.number, number)[:: 1 if other.is_before else -1]
        database.write(
            "MATCH (a:Dump {number: $older}), (b:Dump {number: $newer}) "
            f"MERGE (a)-[:{CONTINUED.name}]->(b)",
            dict(zip(("older", "newer"), ends, strict=True)),
        )
        beat(database, number)


def _is_of_process(database: Database, number: int, other: PossibleSibling) -> bool:
    """Whether objects with the same ids are the same objects."""
    if other.shared.is_proved:
        return True
    newer, older = (number, other.number)[:: 1 if other.is_before else -1]
    first, total = newer << KEY_BITS, object_rows(database, newer)
    step = sample_step(total)
    found = SharedIds()
    text = _EVIDENCE.replace("$by", other.shared.by[0])
    for begin in range(0, total, _SEEKS * step):
        last = min(begin + _SEEKS * step, total) - 1
        values = {"first": first + begin, "last": first + last, "step": step}
        _, rows = database.read(text, values | {"older": older})
        found += cast("tuple[int, ...]", rows[0])
    return found.is_of_one_numbering


_EVIDENCE = """
UNWIND range($first, $last, $step) AS key
MATCH (a:Object {key: key})-[:INSTANCE_OF]->(t:Type)
WHERE a.passing_id IS NULL
MATCH (b:Object {dump: $older, $by: a.$by})-[:INSTANCE_OF]->(u:Type)
WITH t.name = u.name AS alike,
  CASE WHEN t.value_kind = 'string' AND u.value_kind = 'string'
    THEN a.value = b.value END AS equal
RETURN count(*), count(CASE WHEN alike THEN 1 END), count(equal),
  count(CASE WHEN equal THEN 1 END)
"""


def _survivors(other: PossibleSibling) -> str:
    by = other.shared.by
    same = " AND ".join(f"b.{name} = a.{name}" for name in by)
    lasts = "AND a.passing_id IS NULL " if len(by) == 1 else ""
    ends = "(b)-[:{}]->(a)" if other.is_before else "(a)-[:{}]->(b)"
    return (
        f"MATCH (a:{SURVIVED.label}) WHERE $first <= a.key < $last "
        f"AND a.{by[0]} IS NOT NULL {lasts}"
        f"MATCH (b:{SURVIVED.label}) WHERE b.dump = $other AND {same} "
        f"MERGE {ends.format(SURVIVED.name)}"
    )


def told_by_ids(
    database: Database, dump: NewDump
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of other ready dumps whose ids last, if the ids of this one do.

    Returns:
        The dumps whose objects are linked to its own, and the others.
    """
    if dump.properties.get("last_object_id") is None:
        return (), ()
    _, rows = database.read(
        f"""
        MATCH (d:Dump {{number: $number}})
        MATCH (e:Dump {{state: 'ready', runtime: d.runtime}})
        WHERE e.number <> d.number AND e.last_object_id IS NOT NULL
        RETURN e.name, EXISTS {{ (e)-[:{CONTINUED.name}]-(d) }}
        ORDER BY e.number
        """,
        {"number": dump.number},
    )
    linked, others = (
        tuple(str(name) for name, is_linked in rows if is_linked is wanted)
        for wanted in (True, False)
    )
    return linked, others
