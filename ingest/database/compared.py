"""The tables of a loaded dump that comparisons need, read back from the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.tables.schema import KEY_BITS, table

if TYPE_CHECKING:
    from ingest.database.connection import Database

_TYPES = f"""
MATCH (n:Type) WHERE n.dump = $dump
RETURN n.key % {1 << KEY_BITS} AS type, n.name AS name,
  n.reachable_count AS reachable_count, n.reachable_bytes AS reachable_bytes,
  n.retained_bytes AS retained_bytes
ORDER BY n.key
"""
_PATHS = f"""
MATCH (n:TypePath) WHERE n.dump = $dump
OPTIONAL MATCH (p:TypePath)-[:CONTAINS]->(n)
OPTIONAL MATCH (n)-[:OF_TYPE]->(t:Type)
RETURN n.key % {1 << KEY_BITS} AS path, p.key % {1 << KEY_BITS} AS parent,
  t.key % {1 << KEY_BITS} AS type, n.tree AS tree, n.name AS name,
  n.fingerprint AS fingerprint, n.depth AS depth, n.object_count AS object_count,
  n.shallow_bytes AS shallow_bytes, n.total_bytes AS total_bytes,
  n.rest_bytes AS rest_bytes
ORDER BY n.key
"""
_SUSPECTS = f"""
MATCH (:Dump {{number: $dump}})-[:HAS_SUSPECT]->(n:Suspect)
MATCH (n)-[:OF_TYPE]->(t:Type)
RETURN n.key % {1 << KEY_BITS} AS suspect, t.key % {1 << KEY_BITS} AS type,
  n.object_count AS object_count, n.retained_bytes AS retained_bytes,
  n.share AS share, n.pattern AS pattern, n.path AS path, n.cut AS cut,
  n.cut_step AS cut_step, n.sentence AS sentence, n.fingerprint AS fingerprint
ORDER BY n.rank
"""


def frames_of(
    database: Database, number: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Types, paths and suspects of a dump, with the columns that comparisons need."""
    types, paths, suspects = (
        _frame(database, name, text, number)
        for name, text in (
            ("types", _TYPES),
            ("type_paths", _PATHS),
            ("suspects", _SUSPECTS),
        )
    )
    return types, paths, suspects


def _frame(database: Database, name: str, text: str, number: int) -> pl.DataFrame:
    columns, rows = database.read(text, {"dump": number})
    known = table(name).schema
    schema = {column: known[column] for column in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")
