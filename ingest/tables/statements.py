"""Cypher that makes indexes, constraints and the labels of `SIZES`."""

from __future__ import annotations

from ingest.tables.schema import LABELS, MAX_OF_A_SIZE, SIZES


def index_statements() -> tuple[str, ...]:
    """Cypher that makes every index, each safe to run again.

    Run in one transaction, they are populated in one scan of a full store.
    """
    return tuple(
        f"CREATE INDEX {entry.name.lower()}_{'_'.join(names)} IF NOT EXISTS "
        f"FOR (n:{entry.name}) ON ({', '.join(f'n.{name}' for name in names)})"
        for entry in LABELS
        for names in entry.indexes
    )


def constraint_statements() -> tuple[str, ...]:
    """Cypher that makes every constraint, each safe to run again."""
    return tuple(
        f"CREATE CONSTRAINT {entry.name.lower()}_{name} IF NOT EXISTS "
        f"FOR (n:{entry.name}) REQUIRE n.{name} IS UNIQUE"
        for entry in LABELS
        for name in entry.unique
    )


def size_statements(number: int | None = None) -> tuple[str, ...]:
    """Cypher that gives the `SIZES` to the objects of a dump, or of all dumps.

    To be run with the indexes online; safe to run again.
    """
    chosen = "" if number is None else f" {{number: {number}}}"
    return tuple(
        f"MATCH (d:Dump{chosen}) CALL (d) {{ MATCH (o:Object) WHERE o.dump = d.number "
        f"AND o.retained_bytes > 0 AND 100 * o.retained_bytes >= "
        f"{percent} * d.reachable_bytes WITH o ORDER BY o.dump DESC, "
        f"o.retained_bytes DESC, o.key LIMIT {MAX_OF_A_SIZE} SET o:{name} }}"
        for name, percent in SIZES
    )
