"""Cypher that makes indexes and constraints."""

from __future__ import annotations

from ingest.tables.column import KEY
from ingest.tables.schema import LABELS, MOST, label


def index_statements() -> dict[str, str]:
    """Cypher that makes each index, by its name; safe to run again.

    Run in one transaction, they are populated in one scan of a full store.
    """
    return needed_statements() | late_statements()


def needed_statements() -> dict[str, str]:
    """Those of `index_statements` with which dumps are claimed, written and removed."""
    keys = ((entry.name, (KEY.name,)) for entry in LABELS if entry.table is not None)
    own = (
        (e.name, columns) for e in LABELS if e.table is None for columns in e.indexes
    )
    return dict(_index(label, columns) for label, columns in (*keys, *own))


def late_statements() -> dict[str, str]:
    """The others, which only queries need."""
    each = (
        (entry.name, columns)
        for entry in LABELS
        if entry.table is not None
        for columns in entry.indexes
    )
    most = (MOST, ("dump", "retained_bytes"))
    return dict(_index(label, columns) for label, columns in (*each, most))


def first_statements() -> dict[str, str]:
    """Those of `index_statements` that a report needs at once.

    The others are of properties by which some other query finds objects sooner, or a
    later command writes or removes them. They may be populated while a person reads
    the receipt.
    """
    later = {
        _index("Object", columns)[0]
        for columns in ((KEY.name,), *label("Object").indexes)
    }
    return {k: text for k, text in index_statements().items() if k not in later}


def _index(of: str, columns: tuple[str, ...]) -> tuple[str, str]:
    name = f"{of.lower()}_{'_'.join(columns)}"
    keys = ", ".join(f"n.{column}" for column in columns)
    return name, f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{of}) ON ({keys})"


def constraint_statements() -> dict[str, str]:
    """Cypher that makes each constraint, by its name; safe to run again."""
    return {
        name: f"CREATE CONSTRAINT {name} IF NOT EXISTS "
        f"FOR (n:{entry.name}) REQUIRE n.{column} IS UNIQUE"
        for entry in LABELS
        for column in entry.unique
        for name in (f"{entry.name.lower()}_{column}",)
    }
