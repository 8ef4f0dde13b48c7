"""What the tables of a heap are: names, columns, types and meanings.

Columns that become properties of nodes are told by `ingest.tables.schema`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ingest.tables.schema import label


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name with the unit, its type, and what it means."""

    name: str
    dtype: type[pl.DataType]
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table and its columns, in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        """Names and types of the columns."""
        return pl.Schema({column.name: column.dtype for column in self.columns})


_ROW, _COUNT, _TEXT, _FLAG = pl.Int32, pl.Int64, pl.String, pl.Boolean


def _of(
    label_name: str, *names: str, without: tuple[str, ...] = ()
) -> tuple[Column, ...]:
    """Columns that become properties of a label: they mean the same.

    Args:
        label_name: The label.
        names: Of the properties; all where none is named, but for key and dump.
        without: Of all, those to leave out.
    """
    known = {column.name: column for column in label(label_name).properties}
    every = (name for name in known if name not in ("key", "dump", *without))
    return tuple(
        Column(
            name,
            _ROW if name in _NARROW else _DTYPES[known[name].type],
            known[name].meaning,
        )
        for name in names or every
    )


_DTYPES = {"INTEGER": _COUNT, "STRING": _TEXT, "BOOLEAN": _FLAG}
_NARROW = ("ordinal", "domain", "root_distance", "depth", "generation", "segment")
"""Integers that no heap makes larger than 32 bits."""

TABLES: tuple[Table, ...] = (
    Table(
        "objects",
        "objects in the order of the dump, then placeholders for missing ones",
        (
            Column("object", _ROW, "row number, from 0"),
            *_of("Object", "address"),
            Column("type", _ROW, "row of `types`; null on placeholders"),
            *_of("Object", without=("address",)),
            Column("site", _ROW, "row of `allocation_sites`; null where not told"),
        ),
    ),
    Table(
        "types",
        "types, declared or synthesised",
        (
            Column("type", _ROW, "row number, from 0"),
            *_of("Type"),
        ),
    ),
    Table(
        "roots",
        "roots, weak ones too",
        (
            Column("root", _ROW, "row number, from 0"),
            Column("object", _ROW, "row of `objects` that it holds"),
            Column("type", _ROW, "row of `types` with the static field; else null"),
            *_of("Root"),
        ),
    ),
    Table(
        "references",
        "references, sorted by source; two of one object to another are two rows",
        (
            Column("source", _ROW, "row of `objects`"),
            Column("target", _ROW, "row of `objects`"),
            Column("weak", _FLAG, "does not keep alive"),
            Column("field", _TEXT, "the field; `[i]` for element or variable i"),
        ),
    ),
    Table(
        "dominator_tree",
        "reachable objects, sorted by dominator",
        (
            Column("object", _ROW, "row of `objects`"),
            Column(
                "dominator",
                _ROW,
                "row of `objects`; -1 where only the roots dominate it",
            ),
        ),
    ),
    Table(
        "type_references",
        "pairs of types whose instances refer to one another",
        (
            Column("source", _ROW, "row of `types`"),
            Column("target", _ROW, "row of `types`"),
            Column("reference_count", _COUNT, "how many references"),
        ),
    ),
    Table(
        "domains",
        "application domains",
        _of("Domain"),
    ),
    Table(
        "segments",
        "parts of the heap that lie in one piece, by address",
        _of("Segment"),
    ),
    Table(
        "generations",
        "generations that have objects",
        (
            Column("generation", _ROW, "row number, from 0"),
            *_of("Generation"),
        ),
    ),
    Table(
        "collections",
        "collections of the trace that the dump was in",
        (
            Column("collection", _ROW, "row number, from 0"),
            Column("next", _ROW, "row of the one after it; null at the last"),
            *_of("GarbageCollection"),
        ),
    ),
    Table(
        "allocation_sites",
        "places in the program that allocated objects",
        (
            Column("site", _ROW, "row number, from 0"),
            *_of("AllocationSite"),
        ),
    ),
    Table(
        "type_paths",
        "trees of objects merged by type, the largest of each; parents come first",
        (
            Column("path", _ROW, "row number, from 0"),
            Column("parent", _ROW, "row of this table; null at the top of a tree"),
            Column("type", _ROW, "row of `types`; null where it is none"),
            *_of("TypePath"),
        ),
    ),
)


def table(name: str) -> Table:
    """The table of that name."""
    return next(entry for entry in TABLES if entry.name == name)
