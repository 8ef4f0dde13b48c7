"""Making the indexes and constraints of the graph when it costs least.

To populate an index of a full store takes less time than to update it with each node.
So a large first dump of a store is written before the indexes that only queries need
are made. Without them a query is correct too, but reads more.
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
        database: The database.
        on_share: Called with the share that is populated, 0 to 1.
    """
    _ensure(database, index_statements(), on_share)


def ensure_first_indexes(
    database: Database, on_share: Callable[[float], None] = lambda _: None
) -> None:
    """Make all indexes, but wait only for those that a report needs at once.

    Args:
        database: The database.
        on_share: Called with the share of these that is populated, 0 to 1.
    """
    _ensure(database, first_statements(), on_share)
    _make_missing(database, index_statements())


def drop_late_indexes(database: Database) -> None:
    """Drop the indexes that writing and removing dumps do not need."""
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
    """Make the missing ones among some indexes and all constraints.

    If another command makes them at the same moment, this one looks again.

    Returns:
        The states of the indexes that were there before.
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
    """Make indexes and constraints in a new store that nobody else uses yet.

    They are made one after the other. A constraint whose label gets an index at the
    same time can fail, and leaves an index that is never populated.

    Args:
        database: The database.
        indexes: Statements that make them, by name.
        constraints: Likewise.
    """
    _make(database, [], constraints.values())
    _make(database, indexes.values(), [])


def _make(
    database: Database, indexes: Iterable[str], constraints: Iterable[str]
) -> None:
    """Make indexes, which are populated in the background, and constraints."""
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
        database: The database.
        names: The indexes.
        on_share: Called with the share that is populated, 0 to 1.

    Raises:
        StoreError: the server could not populate an index, or took more than a day.
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
"""Fails after so many seconds. Asking for all states again and again would keep a
server that has just started from populating them."""


def _states(database: Database) -> dict[str, str]:
    """The state of each index by its name, indexes of constraints included."""
    return {one.name: one.state for one in listed(database)}


class ListedIndex(NamedTuple):
    """An index of the server.

    Attributes:
        name: Its name.
        state: Such as ``ONLINE``.
        kind: Such as ``RANGE``; ``LOOKUP`` for those of every store.
        constraint: Name of the constraint that it belongs to, if any.
        statement: Cypher that makes it.
    """

    name: str
    state: str
    kind: str
    constraint: str | None
    statement: str


def listed(database: Database) -> list[ListedIndex]:
    """All indexes; all callers use the same query, see `FIRST_QUERY`."""
    _, rows = database.read(_LISTED, {})
    return [ListedIndex(*cast("tuple[Any, ...]", row)) for row in rows]


_LISTED = """
SHOW INDEXES YIELD name, state, type, owningConstraint, createStatement
RETURN name, state, type, owningConstraint, createStatement
"""
