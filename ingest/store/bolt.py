"""Writing a dump over Bolt: any server, while it is in use.

Nodes first, in batches of rows as lists; the server answers with its own ids of
the new nodes, and relationships find their ends by those: twice as fast as by the
unique key. Those ids are good within one load only and are never stored.

Two writers share each step, one half of its rows each: far apart, so that they
seldom want the same node. On two cores a load of a million objects took 44 s with
them and 72 s without. Where they do meet, the server refuses one and the driver
tries that transaction again.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.errors import StoreError
from ingest.graph import RefKind, RootFlag
from ingest.progress import silent
from ingest.store.dumps import beat
from ingest.store.mapping import Counts
from ingest.store.rows import Columns, Rows
from ingest.store.schema import constraint_statements, label

if TYPE_CHECKING:
    from collections.abc import Callable

    from neo4j import SummaryCounters
    from numpy.typing import NDArray

    from ingest.progress import Progress
    from ingest.store.connection import Database
    from ingest.store.tables import HeapTables

    Ids = NDArray[np.int64]
    T = TypeVar("T")

BATCH_ROWS = 20_000
BATCH_TEXT_BYTES = 4 << 20
"""Of names in one message; a type's may have any length."""

WRITERS = 2
_HEARTBEAT_SECONDS = 15.0
_STAGE = "write"


def ensure_schema(database: Database) -> None:
    """Make constraints and indexes; what is there already stays."""
    for statement in constraint_statements():
        database.run(statement)
    database.run("CALL db.awaitIndexes()")


def write(
    database: Database,
    tables: HeapTables,
    number: int,
    node: int,
    progress: Progress = silent,
) -> Counts:
    """Write all of a claimed dump; it stays invisible until it is published.

    Args:
        database: Where to.
        tables: The dump.
        number: Of the dump, claimed.
        node: The server's id of its Dump node.
        progress: Told of nodes and relationships written.

    Returns:
        What the server counted, its Dump node included.

    Raises:
        StoreError: the server refused, was lost, or counted something else.
    """
    writer = _Writer(
        database, Rows(tables.graph, tables.metrics, number), node, progress
    )
    writer.write()
    return Counts({"": writer.nodes}, {"": writer.relationships})


class _Writer:
    """One dump on its way, counted against what there should be."""

    def __init__(
        self, database: Database, rows: Rows, dump_node: int, progress: Progress
    ) -> None:
        self._database = database
        self._rows = rows
        self._dump_node = dump_node
        self._progress = progress
        self._beaten = time.monotonic()
        self._counting = Lock()
        self._stopped = False
        self.nodes = 1
        self.relationships = 0
        self._total = self._expected()

    def _expected(self) -> int:
        """Nodes and relationships of the whole dump, but the Dump node."""
        graph, metrics = self._rows.graph, self._rows.metrics
        objects, roots = len(graph.object_id), len(graph.root_object)
        domains, types = len(graph.domains), len(graph.type_names)
        dominated = int(np.count_nonzero(metrics.dominator >= ROOT))
        statics = int(np.count_nonzero(graph.root_type >= 0))
        return (
            (objects + roots + domains + types)
            + (domains + 2 * roots + statics + graph.object_count)
            + (dominated + graph.reference_count + len(metrics.pair_count))
        )

    def write(self) -> None:
        graph, metrics, rows = self._rows.graph, self._rows.metrics, self._rows
        self._database.write(
            "CYPHER 5 MATCH (d:Dump) WHERE id(d) = $node SET d += $properties",
            {"node": self._dump_node, "properties": rows.dump()},
        )
        dump = np.array([self._dump_node])
        domains = self._create("Domain", rows.domains())
        self._relate("HAS_DOMAIN", np.repeat(dump, len(domains)), domains)
        names = np.array([len(name.encode()) for name in graph.type_names], np.int64)
        types = self._create_all("Type", len(names), rows.types, text_bytes=names)
        self._relate(
            "REFERENCES_TYPE",
            types[metrics.pair_source],
            types[metrics.pair_target],
            reference_count=metrics.pair_count,
        )
        objects = self._create_objects(types)
        roots = self._create_all("Root", len(graph.root_object), rows.roots)
        self._relate("HAS_ROOT", np.repeat(dump, len(roots)), roots)
        weak = (graph.root_flags & RootFlag.WEAK) != 0
        held = objects[graph.root_object]
        self._relate("REFERENCES", roots[~weak], held[~weak])
        self._relate("WEAKLY_REFERENCES", roots[weak], held[weak])
        static = np.flatnonzero(graph.root_type >= 0)
        self._relate("STATIC_IN", roots[static], types[graph.root_type[static]])

        top = np.flatnonzero(metrics.dominator == ROOT)
        self._relate("DOMINATES", np.repeat(dump, len(top)), objects[top])
        below = np.flatnonzero(metrics.dominator >= 0)
        below = below[np.argsort(metrics.dominator[below], kind="stable")]
        self._relate("DOMINATES", objects[metrics.dominator[below]], objects[below])
        self._references(objects)
        if self.nodes + self.relationships != self._total + 1:
            raise StoreError(
                f"the server counted {self.nodes + self.relationships} nodes and "
                f"relationships instead of {self._total + 1}; load the dump again"
            )

    def _references(self, objects: Ids) -> None:
        """References in the order of their sources."""
        graph = self._rows.graph

        def some(begin: int, end: int) -> None:
            source = np.searchsorted(graph.ref_start, np.arange(begin, end), "right")
            sources, targets = objects[source - 1], objects[graph.ref_target[begin:end]]
            if graph.ref_kind is None:
                self._relate_batch("REFERENCES", [sources, targets])
                return
            weak = graph.ref_kind[begin:end] != RefKind.STRONG
            self._relate_batch("REFERENCES", [sources[~weak], targets[~weak]])
            self._relate_batch("WEAKLY_REFERENCES", [sources[weak], targets[weak]])

        self._share(0, graph.reference_count, some)

    def _share(
        self,
        first: int,
        last: int,
        work: Callable[[int, int], T],
        *,
        text_bytes: Ids | None = None,
    ) -> list[T]:
        """Do ``work`` on all batches of the rows, each writer its own stretch of them.

        Returns:
            The results in the order of the batches.
        """
        batches = _batches(first, last, text_bytes)

        def stretch(some: list[tuple[int, int]]) -> list[T]:
            try:
                return [work(begin, end) for begin, end in some if not self._stopped]
            except BaseException:
                self._stopped = True  # the other writer ends with its batch
                raise

        if len(batches) < 2 * WRITERS:
            return stretch(batches)
        cuts = [len(batches) * i // WRITERS for i in range(WRITERS + 1)]
        with ThreadPoolExecutor(WRITERS) as writers:
            try:
                parts = writers.map(
                    stretch,
                    [batches[a:b] for a, b in pairwise(cuts)],
                )
                return [result for part in parts for result in part]
            except BaseException:
                self._stopped = True  # Ctrl-C arrives here, in the main thread
                raise

    def _count(self, counters: SummaryCounters) -> None:
        """Add what one transaction has written, and tell of it."""
        with self._counting:
            self.nodes += counters.nodes_created
            self.relationships += counters.relationships_created
            self._progress(_STAGE, self.nodes - 1 + self.relationships, self._total)
            if time.monotonic() - self._beaten > _HEARTBEAT_SECONDS:
                beat(self._database, self._rows.number)
                self._beaten = time.monotonic()

    def _create(self, name: str, columns: Columns, tail: str = "") -> Ids:
        """Create one batch of nodes; returns the server's ids, row by row."""
        names = [column.name for column in label(name).properties]
        if list(columns)[: len(names)] != names:
            raise StoreError(f"columns of {name} differ from the schema: {names}")
        pairs = ", ".join(f"{column}: r[{i}]" for i, column in enumerate(names))
        answer, summary = self._database.write(
            f"CYPHER 5 UNWIND $rows AS r CREATE (n:{name} {{{pairs}}}) {tail} "
            "RETURN collect(id(n)) AS ids",
            {"rows": list(zip(*columns.values(), strict=True))},
        )
        self._count(summary.counters)
        return np.array(cast("list[int]", answer[0][0]), np.int64)

    def _create_all(
        self,
        name: str,
        count: int,
        columns: Callable[[int, int], Columns],
        *,
        text_bytes: Ids | None = None,
    ) -> Ids:
        """Create all nodes of one label."""

        def some(begin: int, end: int) -> Ids:
            return self._create(name, columns(begin, end))

        return _joined(self._share(0, count, some, text_bytes=text_bytes))

    def _create_objects(self, types: Ids) -> Ids:
        """Objects, each with its INSTANCE_OF in the same statement; placeholders."""
        graph = self._rows.graph
        place = len(label("Object").properties)
        tail = (
            f"WITH n, r MATCH (t) WHERE id(t) = r[{place}] "
            "CREATE (n)-[:INSTANCE_OF]->(t)"
        )

        def real(begin: int, end: int) -> Ids:
            columns = self._rows.objects(begin, end)
            columns["type"] = types[graph.type_index[begin:end]].tolist()
            return self._create("Object", columns, tail)

        def missing(begin: int, end: int) -> Ids:
            return self._create("Object", self._rows.objects(begin, end))

        count = graph.object_count
        return _joined(
            [
                *self._share(0, count, real),
                *self._share(count, len(graph.object_id), missing),
            ]
        )

    def _relate(
        self, name: str, sources: Ids, targets: Ids, **properties: NDArray[np.int64]
    ) -> None:
        """Create relationships between nodes given by the server's ids."""
        columns = [sources, targets, *properties.values()]
        self._share(
            0,
            len(sources),
            lambda begin, end: self._relate_batch(
                name, [column[begin:end] for column in columns], tuple(properties)
            ),
        )

    def _relate_batch(
        self,
        name: str,
        columns: list[NDArray[np.int64]],
        properties: tuple[str, ...] = (),
    ) -> None:
        if not len(columns[0]):
            return
        pairs = ", ".join(f"{key}: r[{i}]" for i, key in enumerate(properties, start=2))
        inner = f" {{{pairs}}}" if pairs else ""
        text = (
            "CYPHER 5 UNWIND $rows AS r MATCH (a) WHERE id(a) = r[0] "
            f"MATCH (b) WHERE id(b) = r[1] CREATE (a)-[:{name}{inner}]->(b)"
        )
        rows = np.stack(columns, axis=1).tolist()
        _, summary = self._database.write(text, {"rows": rows})
        self._count(summary.counters)


def _batches(first: int, last: int, text_bytes: Ids | None) -> list[tuple[int, int]]:
    """Ranges of rows, none with more than a message may have, but for single rows."""
    bounds = range(first, last, BATCH_ROWS)
    if text_bytes is None:
        return [(begin, min(begin + BATCH_ROWS, last)) for begin in bounds]
    batches: list[tuple[int, int]] = []
    for begin in bounds:
        end = min(begin + BATCH_ROWS, last)
        upto = np.cumsum(text_bytes[begin:end]) // BATCH_TEXT_BYTES
        cuts = (begin + 1 + np.flatnonzero(np.diff(upto))).tolist()
        batches += pairwise([begin, *cuts, end])
    return batches


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
