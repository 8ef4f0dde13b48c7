"""What a column, a table, a label and a relationship type are declared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from ingest.tables.derived import HeapColumns

    Source = Callable[[HeapColumns], object]


class DType(Enum):
    """Type of a column: in polars and Parquet, in Cypher, in import headers."""

    INT32 = ("Int32", "INTEGER", "long")
    INT64 = ("Int64", "INTEGER", "long")
    FLOAT = ("Float64", "FLOAT", "double")
    TEXT = ("String", "STRING", "string")
    TEXTS = ("List", "LIST<STRING>", "string[]")
    FLAG = ("Boolean", "BOOLEAN", "boolean")
    TIME = ("Datetime", "ZONED DATETIME", "datetime")

    @property
    def polars(self) -> pl.DataType:
        """The type in polars and in Parquet."""
        import polars as pl

        if self is DType.TEXTS:
            return pl.List(pl.String())
        found: pl.DataType = getattr(pl, self.value[0])()
        return found

    @property
    def cypher(self) -> str:
        """The type in Cypher."""
        return self.value[1]

    @property
    def importer(self) -> str:
        """The type in a header of ``neo4j-admin database import``."""
        return self.value[2]


INT32, INT64, FLOAT = DType.INT32, DType.INT64, DType.FLOAT
TEXT, TEXTS, FLAG, TIME = DType.TEXT, DType.TEXTS, DType.FLAG, DType.TIME


class Never(Enum):
    """The absent value of a column that has a value in every row."""

    NEVER = "never"


NEVER = Never.NEVER

_UNITS = {"bytes": "bytes", "ms": "milliseconds", "us": "microseconds"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column, and the property that it becomes.

    Attributes:
        name: Snake case, the unit last.
        dtype: Its type. 32 bits suffice for numbers that no heap exceeds.
        meaning: One line.
        source: Takes the heap and returns the values of all rows (an array, a series
            or a sequence), or a function that returns those of a slice. It returns
            ``None`` where the heap does not have the column. Rows beyond the last
            value are null. ``None`` instead of a source: the load fills it in.
        absent: The value that means "none": null in the table, no property in the
            graph. ``None``: the source leaves it out itself.
        is_property: Whether it becomes a property; else it is a row number or a flag
            that decides on nodes and relationships.
    """

    name: str
    dtype: DType
    meaning: str
    source: Source | None = None
    absent: object = NEVER
    is_property: bool = True

    @property
    def optional(self) -> bool:
        """Whether it may be absent."""
        return self.absent is not NEVER

    @property
    def unit(self) -> str:
        """Its unit, which is the last word of its name; empty where it has none."""
        return _UNITS.get(self.name.rpartition("_")[2], "")


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        rows: Takes the heap and returns the number of rows.
        columns: In order; the first one of a table of nodes is its row number.
        of_nodes: Whether its rows are nodes; else its properties are those of the
            relationships that its rows become.
    """

    name: str
    meaning: str
    rows: Callable[[HeapColumns], int]
    columns: tuple[Column, ...]
    of_nodes: bool = True

    @property
    def schema(self) -> pl.Schema:
        """Names and types of the columns."""
        import polars as pl

        return pl.Schema({c.name: c.dtype.polars for c in self.columns})

    @property
    def properties(self) -> tuple[Column, ...]:
        """Columns that become properties."""
        return tuple(column for column in self.columns if column.is_property)

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


KEY = Column("key", INT64, "dump number x 2^40 + row number; unique in its label")
DUMP = Column("dump", INT64, "number of the dump")


@dataclass(frozen=True, slots=True)
class Label:
    """One node label.

    Attributes:
        table: The table whose rows are its nodes; ``None`` for Dump.
        own: Properties that are not in the table.
        unique: Properties with a constraint, each unique for itself. Keys have none,
            although they are unique: a constraint would look each one up while it is
            written, and read the whole store once more after a bulk load.
        indexes: Range indexes besides that of the key, each a tuple of properties.
            A bulk load populates each in full, so there are few.
    """

    name: str
    meaning: str
    table: Table | None
    own: tuple[Column, ...] = (KEY, DUMP)
    unique: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()

    @property
    def properties(self) -> tuple[Column, ...]:
        """Properties of its nodes."""
        return self.own + (() if self.table is None else self.table.properties)


@dataclass(frozen=True, slots=True)
class Relationship:
    """One relationship type between two labels.

    Attributes:
        table: The table whose rows are its relationships.
        start_column, end_column: Its columns with the rows of the two nodes in
            their own tables; ``None`` as start is the Dump. Where either is null
            or negative, there is no relationship.
        where: A column and the value that it must have.
    """

    name: str
    start: str
    end: str
    meaning: str
    table: Table
    start_column: str | None
    end_column: str
    where: tuple[str, bool | int] | None = None

    @property
    def properties(self) -> tuple[Column, ...]:
        """Its properties."""
        return () if self.table.of_nodes else self.table.properties

    @property
    def columns(self) -> list[str]:
        """The columns of the table from which the relationship is made."""
        names = [self.start_column, self.end_column]
        names += [None if self.where is None else self.where[0]]
        names += [column.name for column in self.properties]
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True, slots=True)
class Link:
    """One relationship type from a dump to a later one of the same process.

    Attributes:
        label: Label of the nodes at both ends.
    """

    name: str
    label: str
    meaning: str
