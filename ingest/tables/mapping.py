"""From tables to nodes and relationships, as `ingest.tables.schema` says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import polars as pl

from ingest.progress import silent
from ingest.tables.schema import (
    KEY_BITS,
    LABELS,
    MAX_OF_A_SIZE,
    MAX_OF_MOST,
    MOST,
    RELATIONSHIPS,
    SIZES,
    label,
)

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ingest.progress import Progress
    from ingest.tables.column import Label, Relationship


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

START, END = "start", "end"


class Tables(Protocol):
    """The tables of one dump, in memory or in files."""

    def rows(self, name: str) -> int:
        """How many rows a table has."""

    def part(
        self, name: str, begin: int, end: int, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows ``begin`` to ``end`` of a table; all columns if none are named."""

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table that can be streamed."""

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that this heap does not have: null in every row."""


class DumpTables(Tables, Protocol):
    """The tables of a dump that is to be written, and its properties."""

    def dump(self) -> dict[str, object]:
        """Properties of the Dump node that follow from the heap."""

    def close(self) -> None:
        """Free what the tables are made of; no table can be made any more."""


def node_columns(
    label: Label, number: int, absent: Container[str] = ()
) -> list[pl.Expr]:
    """The properties of a label's nodes, in the order of the schema.

    Args:
        label: Any label but Dump.
        number: The dump's number.
        absent: Properties to leave out.
    """
    key = pl.col(row_column(label)).cast(pl.Int64) + (number << KEY_BITS)
    first = {"key": key, "dump": pl.lit(number, dtype=pl.Int64)}
    return [
        first.get(column.name, pl.col(column.name)).alias(column.name)
        for column in label.properties
        if column.name not in absent
    ]


def row_column(label: Label) -> str:
    """The column with the row's own number in a label's table."""
    assert label.table is not None
    return label.table.columns[0].name


def relationships(relation: Relationship, frame: Frame) -> Frame:
    """Relationships among the rows of a table: `START`, `END`, then properties.

    Both are rows in the tables of their labels; `START` is null for the Dump.
    """
    chosen = pl.col(relation.end_column) >= 0
    start = pl.lit(None, dtype=pl.Int32)
    if relation.start_column is not None:
        start = pl.col(relation.start_column)
        chosen &= start >= 0
    if relation.where is not None:
        column, value = relation.where
        chosen &= pl.col(column) == value
    return frame.filter(chosen).select(
        start.alias(START),
        pl.col(relation.end_column).alias(END),
        *(pl.col(column.name) for column in relation.properties),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Nodes by label, and relationships by type; kinds without any are left out."""

    nodes: dict[str, int] = field(default_factory=dict)
    relationships: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            _sum(self.nodes, other.nodes),
            _sum(self.relationships, other.relationships),
        )

    def __le__(self, other: Counts) -> bool:
        """Whether ``other`` has at least as many of each label and type."""
        pairs = (self.nodes, other.nodes), (self.relationships, other.relationships)
        return all(
            count <= more.get(name, 0)
            for fewer, more in pairs
            for name, count in fewer.items()
        )

    @property
    def total(self) -> int:
        """Nodes and relationships together."""
        return sum(self.nodes.values()) + sum(self.relationships.values())


def _sum(one: dict[str, int], two: dict[str, int]) -> dict[str, int]:
    added = {name: one.get(name, 0) + two.get(name, 0) for name in {**one, **two}}
    return {name: count for name, count in added.items() if count}


def entity_estimate(tables: Tables) -> int:
    """Nodes and relationships that a dump becomes in the graph, about."""
    return 3 * tables.rows("objects") + tables.rows("references")


def counts(tables: Tables) -> Counts:
    """Nodes and relationships that a dump becomes, its Dump node included."""
    found = Counts({"Dump": 1})
    for entry in LABELS:
        if entry.table is not None:
            found += Counts({entry.name: tables.rows(entry.table.name)})
    for relation in RELATIONSHIPS:
        frame = relationships(relation, tables.lazy(relation.table.name))
        count = frame.select(pl.len()).collect(engine="streaming").item()
        found += Counts({}, {relation.name: count})
    return found


def rows_by_size(tables: Tables, reachable_bytes: int) -> dict[str, list[int]]:
    """Rows of `objects` by further label; objects that retain most come first.

    Each label of `SIZES` has at most `MAX_OF_A_SIZE` rows. `MOST` has the objects that
    retain more than some size, chosen so that there are at most `MAX_OF_MOST`.

    Args:
        tables: The dump.
        reachable_bytes: Reachable bytes of the whole dump.
    """
    row, retained = row_column(label("Object")), "retained_bytes"
    large = (
        tables.lazy("objects")
        .select(row, retained)
        .filter(pl.col(retained) > 0)
        .top_k(MAX_OF_MOST + 1, by=retained)
        .collect(engine="streaming")
        .sort(retained, row, descending=[True, False])
    )
    least = large[retained][-1] if large.height > MAX_OF_MOST else 0
    return {
        name: large.filter(100 * pl.col(retained) >= percent * reachable_bytes)[row]
        .head(MAX_OF_A_SIZE)
        .to_list()
        for name, percent in SIZES
    } | {MOST: large.filter(pl.col(retained) > least)[row].to_list()}
