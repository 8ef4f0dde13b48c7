"""Loaded dumps as dumps that a command can open: tables, stored or read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.database.bulk import whole_tables
from ingest.dumps.dump import KeptDump
from ingest.progress import silent
from ingest.tables.schema import KEY_BITS, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ingest.database.connection import Database
    from ingest.database.store import Store
    from ingest.progress import Progress

_TYPES = f"""
MATCH (n:Type) WHERE n.dump = $dump
RETURN n.key % {1 << KEY_BITS} AS type, n.name AS name,
  n.reachable_count AS reachable_count, n.reachable_bytes AS reachable_bytes,
  n.retained_bytes AS retained_bytes, n.instance_count AS instance_count,
  n.shallow_bytes AS shallow_bytes
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
_OBJECTS = f"""
MATCH (n:Object) WHERE n.dump = $dump
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN n.key % {1 << KEY_BITS} AS object, n.address AS address,
  t.key % {1 << KEY_BITS} AS type, n.shallow_bytes AS shallow_bytes,
  n.missing AS missing
ORDER BY n.key
"""
_REFERENCES = f"""
MATCH (n:Object) WHERE n.dump = $dump
MATCH (n)-[r:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
RETURN n.key % {1 << KEY_BITS} AS source, o.key % {1 << KEY_BITS} AS target,
  r.strength AS strength, r.field AS field
ORDER BY n.key, id(r)
"""
_ROOTS = f"""
MATCH (n:Root) WHERE n.dump = $dump
MATCH (n)-[:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
OPTIONAL MATCH (n)-[:STATIC_IN]->(t:Type)
RETURN n.key % {1 << KEY_BITS} AS root, o.key % {1 << KEY_BITS} AS object,
  t.key % {1 << KEY_BITS} AS type, n.kind AS kind, n.weak AS weak, n.field AS field
ORDER BY n.key
"""
_TABLES = {
    "types": _TYPES,
    "type_paths": _PATHS,
    "suspects": _SUSPECTS,
    "objects": _OBJECTS,
    "references": _REFERENCES,
    "roots": _ROOTS,
}


class GraphTables:
    """The tables of a loaded dump, read back from the graph.

    They have the columns that a comparison or a heap needs.
    Memory: a table is read whole.

    Args:
        database: Where the dump is.
        number: The dump's number.
    """

    def __init__(self, database: Database, number: int) -> None:
        self._database, self._number = database, number
        self._read: dict[str, pl.DataFrame] = {}

    def _frame(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            columns, rows = self._database.read(_TABLES[name], {"dump": self._number})
            known = table(name).schema
            schema = {column: known[column] for column in columns}
            self._read[name] = pl.DataFrame(rows, schema=schema, orient="row")
        return self._read[name]

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self._frame(name).height

    def part(
        self, name: str, begin: int, end: int, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows ``begin`` to ``end`` of a table; all columns if none are named."""
        frame = self._frame(name)[begin:end]
        return frame if columns is None else frame.select(columns)

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table."""
        del progress
        return self._frame(name).lazy()

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that are not read back."""
        return frozenset(table(name).schema.names()) - {*self._frame(name).columns}


class LoadedDumps:
    """The dumps of a database, by their names; a `Keeper`.

    Args:
        open_store: Opens the database; called when a dump is looked for.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._store: Store | None = None

    def find(self, what: str) -> KeptDump | None:
        """The dump of that name; its tables are the stored ones, if any.

        Raises:
            UnknownDump: no dump has that name.
            StoreError: the database cannot be opened.
        """
        if self._store is None:
            self._store = self._open_store()
        store = self._store
        found = store.find(what)
        stored = whole_tables(store.server, found.number, found.sha256)
        return KeptDump(
            found.name,
            found.source,
            stored or GraphTables(store.database, found.number),
            found.format,
            found.runtime,
            identity=found.identity,
            strength=found.strength_policy,
            is_redacted=bool(found.redacted),
            incomplete=found.incomplete,
        )
