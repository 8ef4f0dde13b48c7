"""Making the indexes and constraints of the graph, at the time when it costs least.

To populate an index of a full store takes less than to update it with each node. So
the first dump of a store, if it is large, is written before the indexes are made that
only queries need. A query is right without them too, and reads more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ingest.database.connection import RETRY_SECONDS
from ingest.errors import InTheWay, QueryError, StoreError
from ingest.tables.schema import (
    constraint_statements,
    first_statements,
    index_statements,
    late_statements,
    needed_statements,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from ingest.database.connection import Database

_POLL_S, _AWAIT_S, _WAIT_S = 0.1, 1, 86_400.0


def ensure_constraints(database: Database) -> None:
    """Make what claiming and publishing dumps needs."""
    _make_missing(database, {})


def ensure_needed(database: Database) -> None:
    """Make what writing and removing dumps over Bolt needs too, and wait for it."""
    _ensure(database, needed_statements())


def ensure_indexes(
    database: Database, on_share: Callable[[float], None] = lambda _: None
) -> None:
    """Make all indexes that are missing, and wait until they are populated.

    Args:
        database: Where they are missing.
        on_share: Called with the share that is populated, 0 to 1.
    """
    _ensure(database, index_statements(), on_share)


def ensure_first_indexes(
    database: Database, on_share: Callable[[float], None] = lambda _: None
) -> None:
    """Make all indexes, and wait only for those that a report needs at once.

    Args:
        database: Where they are missing.
        on_share: Called with the share of these that is populated, 0 to 1.
    """
    _ensure(database, first_statements(), on_share)
    _make_missing(database, index_statements())


def drop_late_indexes(database: Database) -> None:
    """Drop the indexes without which dumps can be written and removed."""
    there = _states(database)
    database.write_all(
        [f"DROP INDEX {name} IF EXISTS" for name in late_statements() if name in there]
    )


def _ensure(
    database: Database,
    indexes: dict[str, str],
    on_share: Callable[[float], None] = lambda _: None,
) -> None:
    states = _make_missing(database, indexes)
    if any(states.get(name) != "ONLINE" for name in indexes):
        wait_for(database, indexes, on_share)


def _make_missing(database: Database, indexes: dict[str, str]) -> dict[str, str]:
    """Make what is missing of indexes and of all constraints.

    Another command may make them at the same moment; then it looks again.

    Returns:
        The states of what was there before.
    """
    begun = time.monotonic()
    while True:
        states = _states(database)
        try:
            _make(
                database,
                [text for name, text in indexes.items() if name not in states],
                [
                    text
                    for name, text in constraint_statements().items()
                    if name not in states
                ],
            )
        except InTheWay:
            if time.monotonic() - begun > RETRY_SECONDS:
                raise
            time.sleep(_POLL_S)
        else:
            return states


def make_all(
    database: Database, indexes: Mapping[str, str], constraints: Mapping[str, str]
) -> None:
    """Make indexes and constraints in a new store, which nobody else uses yet.

    One after the other: a constraint whose label gets an index at the same time can
    fail, and leaves an index that is never populated.

    Args:
        database: Where they are missing.
        indexes: Statements that make them, by name.
        constraints: Likewise.
    """
    _make(database, [], constraints.values())
    _make(database, indexes.values(), [])


def _make(
    database: Database, indexes: Iterable[str], constraints: Iterable[str]
) -> None:
    """Make indexes, which are populated beside what follows, and constraints."""
    if texts := [*indexes]:
        database.write_all(texts)
    for text in constraints:
        database.run(text)


def wait_for(
    database: Database,
    names: Collection[str],
    on_share: Callable[[float], None] = lambda _: None,
) -> None:
    """Wait until indexes are populated.

    Args:
        database: Where they have been made.
        names: The indexes.
        on_share: Called with the share that is populated, 0 to 1.

    Raises:
        StoreError: the server could not populate one, or it took a day.
    """
    begun, values = time.monotonic(), {"names": [*names], "seconds": _AWAIT_S}
    while time.monotonic() - begun < _WAIT_S:
        try:
            database.read(_AWAIT, values)
        except (QueryError, StoreError):  # one is not populated yet, or cannot be
            pass
        else:
            return
        _, rows = database.read(
            """
            SHOW INDEXES YIELD name, state, populationPercent
            WHERE name IN $names AND state <> 'ONLINE'
            RETURN name, state, populationPercent / 100
            """,
            {"names": [*names]},
        )
        failed = [name for name, state, _ in rows if state == "FAILED"]
        if failed:
            raise StoreError(f"the server could not populate the index {failed[0]}")
        if not rows:
            return
        missing = sum(1 - cast("float", share) for *_, share in rows)
        on_share(1 - missing / len(names))
        time.sleep(_POLL_S)
    raise StoreError("the server did not populate its indexes within a day")


_AWAIT = """
UNWIND $names AS name
CALL db.awaitIndex(name, $seconds)
RETURN count(*)
"""
"""It fails after so many seconds. To ask for all states again and again would keep a
server that has just started from populating them."""


def _states(database: Database) -> dict[str, str]:
    """The state of each index, those of constraints included, by its name."""
    return {one.name: one.state for one in listed(database)}


class ListedIndex(NamedTuple):
    """An index of the server.

    Attributes:
        name: Its name.
        state: Such as ``ONLINE``.
        kind: Such as ``RANGE``; ``LOOKUP`` for those that each store has.
        constraint: Name of the constraint that it belongs to, if any.
        statement: Cypher that makes it.
    """

    name: str
    state: str
    kind: str
    constraint: str | None
    statement: str


def listed(database: Database) -> list[ListedIndex]:
    """All indexes, asked for in the same words by all, see `FIRST_QUERY`."""
    _, rows = database.read(_LISTED, {})
    return [ListedIndex(*cast("tuple[Any, ...]", row)) for row in rows]


_LISTED = """
SHOW INDEXES YIELD name, state, type, owningConstraint, createStatement
RETURN name, state, type, owningConstraint, createStatement
"""
