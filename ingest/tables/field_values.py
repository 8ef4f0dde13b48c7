"""Values in fields, as the properties that they become in the graph.

A field ``status`` becomes ``field_status``, so that no name of a program can be that of
a property of the model, none of which begins so. In the rest of the name, bytes other
than ASCII letters, digits and ``_.-~`` are written as in a URL: ``this$0`` becomes
``field_this%240``. So no name is part of a statement or of a header.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

from ingest.tables.object_tables import FIELD_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.tables.column import DType
    from ingest.tables.mapping import Tables

PREFIX = "field_"

_KINDS = ("integer", "float", "boolean", "text")
"""Columns of the table, one for each type of value."""


@cache
def property_name(field: str) -> str:
    """The property that a field becomes."""
    return PREFIX + quote(field, safe="", errors="replace")


def properties_of(rows: pl.DataFrame) -> dict[int, dict[str, object]]:
    """Properties by the row of their object, from rows of the table."""
    found: dict[int, dict[str, object]] = {}
    for row, field, *values in rows.iter_rows():
        value = next((one for one in values if one is not None), None)
        found.setdefault(row, {})[property_name(field)] = value
    return found


def grouped(tables: Tables) -> Iterator[tuple[dict[str, DType], pl.DataFrame]]:
    """Objects with their properties, those together whose properties have equal types.

    Memory: all values.

    Yields:
        The types of the properties, and a frame with them and the column ``object``.
    """
    rows = tables.lazy(FIELD_VALUES.name).collect()
    types = {name: FIELD_VALUES.column(name).dtype for name in _KINDS}
    kind = pl.coalesce(
        pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in types
    )
    fields = rows["field"].unique()
    named = {field: property_name(field) for field in fields.to_list()}
    rows = rows.with_columns(
        pl.col("field").replace_strict(named, return_dtype=pl.String), kind=kind
    )
    is_mixed = pl.col("kind").n_unique().over("field") > 1
    told = pl.when(is_mixed).then(pl.col("field") + ":" + pl.col("kind"))
    rows = rows.with_columns(
        told=told
    )  # first, for what is over two columns is neither
    signature = pl.col("told").sort().str.join(",").over("object")
    for _, part in rows.with_columns(signature=signature).group_by("signature"):
        found = part.select("object").unique(maintain_order=True)
        header: dict[str, DType] = {}
        for name, dtype in types.items():
            some = part.filter(pl.col("kind") == name)
            if not some.height:
                continue
            wide = some.pivot(on="field", index="object", values=name)
            header |= dict.fromkeys(wide.columns[1:], dtype)
            found = found.join(wide, on="object", how="left")
        yield header, found
