"""Writing a dump over Bolt: any server, while it is in use.

Nodes come first, in batches of rows with a list for each column. The server answers
with its own ids of the new nodes, by which relationships find their ends: twice as fast
as by the unique key. Those ids are valid within one load only and are never stored.

A large first dump of a store is written before the indexes that only queries need. A
later dump finds these indexes there, and updates them.

Two writers share each step. Each creates half of the nodes. A transaction locks both
nodes of each relationship, so the writers never take relationships of the same nodes at
the same time. On two cores a load of a million objects took 71 s, and 86 s with
relationships in random order. If the writers do meet, the server refuses one, and the
driver tries that transaction again.

The server is the limit: it takes 100,000 to 110,000 relationships a second. Making and
packing the columns costs less than a tenth of that time; rows cost the client half as
much again. Relationships are sent by source, each with the range of its targets, which
takes the server an eighth less time than pairs. Other batch sizes and a third writer
make no measurable difference; finding ends by key costs a quarter more.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
import polars as pl

from ingest.database import claims, cleaner, links
from ingest.database.indexes import (
    drop_late_indexes,
    ensure_first_indexes,
    ensure_indexes,
    ensure_needed,
)
from ingest.errors import StoreError
from ingest.progress import silent
from ingest.system import interrupts
from ingest.tables.field_values import properties_of
from ingest.tables.mapping import (
    END,
    START,
    node_columns,
    relationships,
    rows_by_size,
)
from ingest.tables.object_tables import FIELD_VALUES
from ingest.tables.schema import LABELS, RELATIONSHIPS, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from neo4j import SummaryCounters
    from numpy.typing import NDArray

    from ingest.database.claims import NewDump
    from ingest.database.connection import Database
    from ingest.progress import Progress
    from ingest.tables.column import Column, Label, Relationship
    from ingest.tables.mapping import Tables

    Ids = NDArray[np.int64]
    T = TypeVar("T")

BATCH_ROWS = 20_000
BATCH_TEXT_BYTES = 4 << 20
"""Characters of text in one message; a type's name may have any length."""

WRITERS = 2
_STRETCHES = 4
"""The server's ids of the nodes of each label, by row."""

_TYPE_IDS = "type_ids"
"""The parameter with the server's ids of the objects' types."""

_MOST_WAITING = 24
_LATE_INDEXES = 500_000
"""With at least so many nodes and relationships, it pays to make a store's indexes
after its first dump, which takes a second at least."""

_HEARTBEAT_SECONDS = 15.0
_STAGE = "write"


class BoltWriter:
    """Writes into the running server."""

    is_exclusive = False

    def __init__(self, database: Database, progress: Progress = silent) -> None:
        self._database = database
        self._progress = progress

    def ready(self) -> AbstractContextManager[None]:
        """Prepare nothing."""
        return nullcontext()

    def look(self) -> None:
        """Look up nothing."""

    def write(self, dump: NewDump) -> claims.WrittenDump:
        """Write all of a claimed dump; it stays invisible until it is published.

        Raises:
            StoreError: the server refused, was lost, or counted something unexpected.
        """
        database, progress, number = self._database, self._progress, dump.number
        self._write_graph(dump)
        known = links.candidates(database, number)
        links.link(database, number, known, progress)
        name = claims.publish(database, number, dump.place)
        with interrupts.leaving(f"{name} is loaded"):
            # Another load that ended meanwhile did not see this dump of its process.
            late = links.candidates(database, number) - known
            links.link(database, number, late, progress)
            cleaner.remove(database, dump.place.numbers, progress)
            links.link_next(database)
            return claims.WrittenDump(name, *links.told_by_ids(database, dump))

    def _write_graph(self, dump: NewDump) -> None:
        database, total = self._database, dump.counts.total
        graph = _Graph(database, dump, self._progress)
        _, rows = database.read("MATCH (d:Dump) RETURN count(d)", {})
        late = total >= _LATE_INDEXES and rows == [(1,)]
        if late:
            drop_late_indexes(database)
            ensure_needed(database)
        else:
            ensure_indexes(database)
        graph.write(dump.properties)
        if graph.done != total:
            raise StoreError(
                f"the server counted {graph.done:,} nodes and relationships instead "
                f"of {total:,}; load the dump again"
            )
        if late:
            ensure_first_indexes(database, graph.indexed)


class _Graph:
    """The graph of one dump that is being written, and counts of what is written."""

    def __init__(self, database: Database, dump: NewDump, progress: Progress) -> None:
        self._database = database
        self._tables = dump.tables
        self._number = dump.number
        self._progress = progress
        self._beaten = time.monotonic()
        self._counting = Lock()
        self._stopped = False
        self._ids: dict[str, Ids] = {"Dump": np.array([dump.node])}
        self._total = dump.counts.total
        self.done = 1

    def write(self, properties: Mapping[str, object]) -> None:
        """Write nodes, then relationships."""
        self._database.write(
            "CYPHER 5 MATCH (d:Dump) WHERE id(d) = $node SET d += $properties",
            {"node": int(self._ids["Dump"][0]), "properties": properties},
        )
        for entry in LABELS:
            if entry.table is not None and entry.name != "Object":
                count = self._tables.rows(entry.table.name)
                self._ids[entry.name] = self._create_all(entry, 0, count)
        self._create_objects(cast("int", properties["object_count"]))
        self._keep_field_values()
        self._relate()
        self._label(cast("int", properties["reachable_bytes"]))

    def _label(self, reachable_bytes: int) -> None:
        """Give the largest objects the further labels of `SIZES`, and `MOST`."""
        for name, rows in rows_by_size(self._tables, reachable_bytes).items():
            self._database.write(
                f"CYPHER 5 MATCH (o) WHERE id(o) IN $ids SET o:{name}",
                {"ids": self._ids["Object"][rows].tolist()},
            )

    def _keep_field_values(self) -> None:
        """Give objects the values of their fields; names are data, not Cypher."""
        rows = self._tables.rows(FIELD_VALUES.name)
        for begin in range(0, rows, BATCH_ROWS):
            end = min(begin + BATCH_ROWS, rows)
            found = properties_of(self._tables.part(FIELD_VALUES.name, begin, end))
            self._database.write(
                "CYPHER 5 UNWIND range(0, $last) AS i "
                "MATCH (o) WHERE id(o) = $ids[i] SET o += $values[i]",
                {
                    "last": len(found) - 1,
                    "ids": self._ids["Object"][[*found]].tolist(),
                    "values": [*found.values()],
                },
            )
            self._beat()

    def _given(self, entry: Label | Relationship) -> list[Column]:
        """The properties of an entry that this heap has."""
        absent = self._tables.absent(entry.table.name) if entry.table else ()
        return [column for column in entry.properties if column.name not in absent]

    def _create_all(self, entry: Label, first: int, last: int, tail: str = "") -> Ids:
        """Create the nodes of some rows of a label's table.

        Returns:
            The server's ids, row by row.
        """
        assert entry.table is not None
        table = entry.table.name

        def some(begin: int, end: int) -> Ids:
            rows = self._tables.part(table, begin, end)
            columns = node_columns(entry, self._number, self._tables.absent(table))
            if tail:
                types = self._ids["Type"][rows["type"].to_numpy()]
                columns.append(pl.lit(pl.Series(_TYPE_IDS, types)))
            return _joined(
                [
                    self._create(entry, piece, tail)
                    for piece in _pieces(rows.select(columns))
                ]
            )

        return _joined(self._share(first, last, some))

    def _create_objects(self, real: int) -> None:
        """Create placeholders, and objects with their INSTANCE_OF in one statement."""
        entry = label("Object")
        # The label tells the planner that no new node can be a type, so it need not
        # hold all rows back until the last one is read.
        tail = (
            f"WITH n, i MATCH (t:Type) WHERE id(t) = ${_TYPE_IDS}[i] "
            "CREATE (n)-[:INSTANCE_OF]->(t)"
        )
        rows = self._tables.rows("objects")
        self._ids["Object"] = _joined(
            [
                self._create_all(entry, 0, real, tail),
                self._create_all(entry, real, rows),
            ]
        )

    def _create(self, entry: Label, rows: pl.DataFrame, tail: str) -> Ids:
        values = _properties(self._given(entry), "i")
        answer, summary = self._database.write(
            "CYPHER 5 UNWIND range(0, $last_row) AS i "
            f"CREATE (n:{entry.name} {values}) {tail} RETURN collect(id(n)) AS ids",
            rows.to_dict(as_series=False) | {"last_row": len(rows) - 1},
        )
        self._count(summary.counters)
        return np.array(cast("list[int]", answer[0][0]), np.int64)

    def _relate(self) -> None:
        """Create all relationships but INSTANCE_OF, which came with the objects.

        A transaction locks both nodes of a relationship. If two transactions each
        create 20,000 relationships among a million nodes, one would wait for the other.
        So each is limited to two stretches of nodes, and the other one works on other
        stretches.
        """
        given = [entry for entry in RELATIONSHIPS if entry.name != "INSTANCE_OF"]
        do_disjoint(
            chain.from_iterable(
                self._pieces_of(*slice_) for slice_ in _interleaved(given, self._tables)
            ),
            WRITERS,
            _MOST_WAITING,
        )

    def _pieces_of(
        self, relation: Relationship, begin: int, end: int
    ) -> Iterator[Piece]:
        """Split relationships by the stretches of nodes at their ends."""
        given = self._given(relation)
        text = (
            "CYPHER 5 UNWIND range(0, $last_source) AS s "
            "MATCH (a) WHERE id(a) = $source_ids[s] "
            "UNWIND range($first_target[s], $first_target[s + 1] - 1) AS i "
            "MATCH (b) WHERE id(b) = $target_ids[i] "
            f"CREATE (a)-[:{relation.name} {_properties(given, 'i')}]->(b)"
        )
        frame = relationships(
            relation,
            self._tables.part(relation.table.name, begin, end, relation.columns),
        )
        start_row = frame[START].fill_null(0).to_numpy().astype(np.int64)
        end_row = frame[END].to_numpy().astype(np.int64)
        start, start_count = self._ids[relation.start], len(self._ids[relation.start])
        ends, end_count = self._ids[relation.end], len(self._ids[relation.end])
        stretch = start_row * _STRETCHES // max(1, start_count) * _STRETCHES
        stretch += end_row * _STRETCHES // max(1, end_count)
        order = np.lexsort((start_row, stretch))
        cuts = np.flatnonzero(np.diff(stretch[order], prepend=-1, append=-1))

        def create(some: Ids) -> None:
            sources = start[start_row[some]]
            first = np.flatnonzero(np.diff(sources, prepend=-1, append=-1))
            values: dict[str, object] = {
                "last_source": len(first) - 2,
                "source_ids": sources[first[:-1]].tolist(),
                "first_target": first.tolist(),
                "target_ids": ends[end_row[some]].tolist(),
            }
            cells = {
                column.name: frame[column.name][some].to_list() for column in given
            }
            _, summary = self._database.write(text, cells | values)
            self._count(summary.counters)

        for first, last in pairwise(cuts.tolist()):
            of_start, of_end = divmod(int(stretch[order[first]]), _STRETCHES)
            keys = {f"{relation.start} {of_start}", f"{relation.end} {of_end}"}
            for at in range(first, last, BATCH_ROWS):
                some = order[at : min(at + BATCH_ROWS, last)]
                yield Piece(frozenset(keys), partial(create, some))

    def _share(self, first: int, last: int, work: Callable[[int, int], T]) -> list[T]:
        """Do ``work`` on all batches of the rows, each writer on its own stretch.

        Returns:
            The results in the order of the batches.
        """
        batches = [
            (begin, min(begin + BATCH_ROWS, last))
            for begin in range(first, last, BATCH_ROWS)
        ]

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
        """Count what a transaction has written, and report progress."""
        with self._counting:
            self.done += counters.nodes_created + counters.relationships_created
            self._progress(_STAGE, self.done, self._total)
            self._beat()

    def indexed(self, share: float) -> None:
        """Report what share of the indexes is populated."""
        self._progress("index", int(100 * share), 100)
        self._beat()

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > _HEARTBEAT_SECONDS:
            claims.beat(self._database, self._number)
            self._beaten = time.monotonic()


class Piece(NamedTuple):
    """A piece of work, and what it locks.

    Attributes:
        keys: Keys of what it touches.
        do: The function that does it.
    """

    keys: frozenset[str]
    do: Callable[[], None]


def do_disjoint(pieces: Iterable[Piece], threads: int, most_waiting: int) -> None:
    """Do all pieces, in about the order given.

    A piece waits while another one with one of its keys is being done; later pieces
    without such keys go first.

    Args:
        pieces: The pieces, made on this thread while others work.
        threads: How many pieces are done at once.
        most_waiting: How many are made in advance.

    Raises:
        Exception: what a piece has raised; waiting pieces are not begun.
    """
    coming = iter(pieces)
    waiting: list[Piece] = []
    running: dict[Future[None], frozenset[str]] = {}
    is_over = False
    with ThreadPoolExecutor(threads) as pool:
        while True:
            busy = frozenset[str]().union(*running.values())
            for piece in waiting[:]:
                if len(running) < threads and busy.isdisjoint(piece.keys):
                    running[pool.submit(piece.do)] = piece.keys
                    waiting.remove(piece)
                    busy |= piece.keys
            if not is_over and len(waiting) < most_waiting:
                piece_or_none = next(coming, None)
                if piece_or_none is None:
                    is_over = True
                else:
                    waiting.append(piece_or_none)
            elif not running:
                return
            else:
                wait(running, return_when=FIRST_COMPLETED)
            for future in [future for future in running if future.done()]:
                del running[future]
                future.result()


def _interleaved(
    relations: Sequence[Relationship], tables: Tables
) -> list[tuple[Relationship, int, int]]:
    """Slices of the rows of all relationships.

    In their order, slices of different stretches and different relationships follow one
    another, so there are always pieces without a common node.
    """
    size = BATCH_ROWS * _STRETCHES
    found: list[tuple[float, int, Relationship, int, int]] = []
    for number, relation in enumerate(relations):
        rows = tables.rows(relation.table.name)
        slices = [(at, min(at + size, rows)) for at in range(0, rows, size)]
        of_stretch = -(-len(slices) // _STRETCHES)
        mixed = [one for n in range(of_stretch) for one in slices[n::of_stretch]]
        for place, (begin, end) in enumerate(mixed):
            share = (place + 0.5) / len(mixed)
            found.append((share, number, relation, begin, end))
    found.sort(key=lambda entry: entry[:2])
    return [(relation, begin, end) for _, _, relation, begin, end in found]


def _properties(columns: Sequence[Column], row: str) -> str:
    """A map from the parameters of a row; empty without properties."""
    pairs = (f"{column.name}: ${column.name}[{row}]" for column in columns)
    return f"{{{', '.join(pairs)}}}" if columns else ""


def _pieces(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows, halved as long as their text exceeds what a message may have."""
    text = rows.select(pl.sum_horizontal(pl.col(pl.String).str.len_bytes().sum()))
    if len(rows) > 1 and (text.item() or 0) > BATCH_TEXT_BYTES:
        yield from _pieces(rows[: len(rows) // 2])
        yield from _pieces(rows[len(rows) // 2 :])
    else:
        yield rows


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
