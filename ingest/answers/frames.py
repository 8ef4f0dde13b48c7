"""What answers are made of: references as frames, and groups with the largest of each.

Frames have rows of objects as int64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.view import HeapLookup, whole
from ingest.heap.graph import MISSING_TYPE_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.answers.view import Row

    Rows = NDArray[np.int64] | pl.Series

_COLUMNS = ("source", "target", "holds", "strength", "field")


def _at(column: NDArray[np.generic], rows: Rows) -> pl.Series:
    """A column of all objects, of some; null where the row is null or negative."""
    found = pl.Series(rows, dtype=pl.Int64)
    found = found.set(found < 0, None)
    return pl.Series(column).gather(found)


def ordered(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Sorted as Cypher does it: ``-name`` descending, null as the largest of all."""
    descending = [one.startswith("-") for one in by]
    return frame.sort(
        [one.lstrip("-") for one in by],
        descending=descending,
        nulls_last=[not one for one in descending],
        maintain_order=True,
    )


class HeapView(HeapLookup):
    """A heap as answers see it, in frames of Polars."""

    def live_of(self, *names: str) -> NDArray[np.int64]:
        """Reachable instances of types of these full names."""
        kinds = [kind for name in names for kind in self.types_named(name)]
        return self.live(self.instances_of(kinds))

    def links(
        self,
        rows: Rows,
        *fields: str,
        into: bool = False,
        live: bool = False,
        weak: bool = False,
    ) -> pl.DataFrame:
        """References of some objects, in the order of the dump.

        Args:
            rows: The objects; what is null or negative is none.
            fields: Names of fields, all if none is given.
            into: Whether to them, not from them.
            live: Whether of reachable objects only.
            weak: Whether also those that do not hold their target.

        Returns:
            ``source``, ``target``, ``holds``, ``strength`` and ``field``.
        """
        given = np.asarray(pl.Series(rows).drop_nulls(), np.int64)
        given = np.unique(given[given >= 0])
        if not into:
            found = self.references_from(given, weak=weak)
        else:
            found = self.references_to(given) if len(given) else given
            found = found if weak else self.holding(found)
        if live and len(found):
            found = found[self.root_distance[self.sources(found)] >= 0]
        frame = self.frame("references", found.tolist(), _COLUMNS)
        if fields:
            frame = frame.filter(pl.col("field").is_in(fields))
        return frame.with_columns(
            pl.col("source", "target").cast(pl.Int64),
            pl.col("strength").cast(pl.String),
        )

    def holding_roots(self, *columns: str) -> pl.DataFrame:
        """Roots that hold their object: ``row``, ``object`` and other columns."""
        roots = whole(self, "roots", ["object", "holds", *columns])
        return roots.filter("holds").with_columns(
            pl.col("row", "object").cast(pl.Int64)
        )

    def kept(self, rows: Rows) -> pl.Series:
        """Retained sizes, bytes."""
        return _at(self.retained_bytes, rows).cast(pl.Int64)

    def sizes(self, rows: Rows) -> pl.Series:
        """Shallow sizes, bytes."""
        return _at(self.shallow_bytes, rows).cast(pl.Int64)

    def above(self, rows: Rows) -> pl.Series:
        """The objects that immediately dominate some; null for roots."""
        found = _at(self.dominator, rows).cast(pl.Int64)
        return found.set(found < 0, None)

    def types_of(self, rows: Rows, missing: str | None = None) -> pl.Series:
        """Full names of their types.

        Args:
            rows: The objects.
            missing: What placeholders have; no object has null.
        """
        names = pl.Series([*self.type_names, missing], dtype=pl.String)
        kind = _at(self.type_index, rows).cast(pl.Int64)
        return names.gather(kind.replace(-1, len(names) - 1))

    def type_texts(self, rows: Rows) -> pl.Series:
        """The same with the name of placeholders."""
        return self.types_of(rows, MISSING_TYPE_NAME)

    def captions_of(self, rows: Rows) -> pl.Series:
        """Short names of their types, and of placeholders."""
        names = self.captions
        return names.gather(
            _at(self.type_index, rows).cast(pl.Int64).replace(-1, len(names) - 1)
        )

    def texts(self, rows: Rows, column: str = "value") -> pl.Series:
        """A column of the table of objects; null where the row is null or negative."""
        asked = pl.Series(rows, dtype=pl.Int64)
        known = asked.drop_nulls()
        known = known.filter(known >= 0).unique().sort()
        own = self.frame("objects", known.to_list(), [column])
        own = own.with_columns(known.alias("row"))
        return pl.DataFrame({"row": asked}).join(
            own, on="row", how="left", maintain_order="left"
        )[column]

    def addresses_of(self, rows: Rows) -> pl.Series:
        """Addresses."""
        return self.texts(rows, "address")

    def are_top(self, rows: Rows) -> pl.Series:
        """Which of some objects no other one dominates."""
        return _at(self.dominator, rows) == ROOT

    def variables(self, sources: Rows, targets: Rows) -> pl.Series:
        """By which field, the first by name but no `[i]`, each holds its target."""
        pairs = pl.DataFrame({"source": sources, "target": targets})
        named = (
            self.links(pairs["source"])
            .filter(~pl.col("field").str.starts_with("["))
            .group_by("source", "target")
            .agg(pl.col("field").min())
        )
        joined = pairs.join(
            named, on=["source", "target"], how="left", maintain_order="left"
        )
        return joined["field"]

    def count_from(self, rows: Rows, field: str) -> pl.Series:
        """How many reachable objects refer to each of some through a field."""
        counted = (
            self.links(rows, field, into=True, live=True)
            .group_by("target")
            .agg(pl.col("source").n_unique().alias("count"))
        )
        asked = pl.DataFrame({"target": pl.Series(rows, dtype=pl.Int64)})
        joined = asked.join(counted, on="target", how="left", maintain_order="left")
        return joined["count"].fill_null(0)

    def grouped(
        self, frame: pl.DataFrame, keys: Sequence[str], *more: pl.Expr
    ) -> pl.DataFrame:
        """Groups of objects, with that of each that retains most, the first of equals.

        Args:
            frame: With a column ``row``.
            keys: What they are grouped by.
            more: What else to compute of each group.

        Returns:
            The keys, ``count``, ``retained_bytes`` and ``largest``, the row.
        """
        frame = frame.with_columns(bytes_=self.kept(frame["row"]))
        return (
            ordered(frame, "-bytes_", "row")
            .group_by(keys, maintain_order=True)
            .agg(
                pl.len().alias("count"),
                pl.col("bytes_").sum().alias("retained_bytes"),
                pl.col("row").first().alias("largest"),
                *more,
            )
        )

    def with_largest(self, groups: pl.DataFrame, limit: object, *by: str) -> list[Row]:
        """The first rows of groups in some order, each with ``largest_address``."""
        assert isinstance(limit, int)
        found = ordered(groups, *by).head(limit)
        return found.with_columns(
            largest_address=self.addresses_of(found["largest"])
        ).to_dicts()
