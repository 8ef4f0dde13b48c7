"""What answers are made of: references as frames, and groups with the largest of each.

Frames have rows of objects as int64.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.view import HeapLookup, whole
from ingest.heap.graph import MISSING_TYPE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Rows = NDArray[np.integer[Any]] | pl.Series | Sequence[int]
    Values = Mapping[str, Any]

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


def shown(frame: pl.DataFrame, values: Values, *by: str) -> pl.DataFrame:
    """The rows of an answer: the first in an order of `ordered`."""
    return ordered(frame, *by).head(values["limit"])


def shares_of(parts: pl.Series, of: pl.Series) -> pl.Series:
    """Numbers as shares of the sum of others, 0 if that is 0."""
    total = of.sum()
    shares = [part / total if total else 0.0 for part in parts]  # Polars rounds twice
    return pl.Series(shares, dtype=pl.Float64)


def of_rows(rows: Rows) -> pl.DataFrame:
    """Objects as ``row``."""
    return pl.DataFrame({"row": pl.Series(rows, dtype=pl.Int64)})


class HeapView(HeapLookup):
    """A heap as answers see it, in frames of Polars."""

    def completed(self, frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """With the columns that are wanted and follow from the objects of the rows.

        Of the object in ``row`` these are columns of the table of objects, ``type`` and
        ``alive``; of the one in ``owner``, ``owner_address`` and so on.
        """
        for name in sorted(frame.columns, key="row".__eq__):
            prefix = "" if name == "row" else f"{name}_"
            lacking = [
                one.removeprefix(prefix)
                for one in columns
                if one not in frame.columns and one.startswith(prefix)
            ]
            if lacking:
                own = self._of_objects(frame[name], lacking, text=name == "row")
                frame = frame.hstack(own.rename(prefix.__add__))
        return frame

    def _of_objects(
        self, rows: pl.Series, names: Sequence[str], *, text: bool
    ) -> pl.DataFrame:
        """Columns of some objects; ``text``: whether placeholders have a type."""
        made = {
            "type": self.type_texts if text else self.types_of,
            "shallow_bytes": self.sizes,
            "retained_bytes": self.kept,
            "alive": self.are_alive,
        }
        stored = self._stored(rows, [one for one in names if one not in made])
        return stored.select(
            made[one](rows).alias(one) if one in made else pl.col(one) for one in names
        )

    def of_each(
        self, values: Values, answer: Callable[[int], pl.DataFrame]
    ) -> pl.DataFrame:
        """What is said of each object of an address, with its ``domain``."""
        found = [of_rows([])]
        for row in self.objects_at(values["address"]):
            domain = pl.lit(self.object(row)["domain"], pl.Int64)
            found.append(answer(row).with_columns(domain=domain))
        return pl.concat(found, how="diagonal_relaxed").head(values["limit"])

    def live_of(self, *names: str) -> pl.Series:
        """Reachable instances of types of these full names."""
        return self.live_instances(
            [kind for name in names for kind in self.types_named(name)]
        )

    def live_instances(self, kinds: Sequence[int]) -> pl.Series:
        """Reachable instances of types, by the rows of these."""
        return pl.Series(self.live(self.instances_of(kinds)), dtype=pl.Int64)

    def objects(self, first: str, *columns: str) -> pl.DataFrame:
        """Columns of all objects; of none if the heap has no ``first``."""
        if not self.has("objects", first):
            return whole(self, "objects", [first, *columns], 0)
        return whole(self, "objects", [first, *columns])

    def fitting(self, pattern: str) -> NDArray[np.bool_]:
        """Bool (T + 1,): which types match a pattern; placeholders do not."""
        fits = re.compile(pattern, re.ASCII).fullmatch
        return np.array([*(bool(fits(name)) for name in self.type_names), False])

    def live_fitting(self, pattern: str) -> pl.Series:
        """Reachable instances of types whose names match."""
        rows = self.live(np.flatnonzero(self.fitting(pattern)[self.type_index]))
        return pl.Series(rows, dtype=pl.Int64)

    def _references(
        self, rows: Rows, *, into: bool, live: bool, weak: bool
    ) -> NDArray[np.int64]:
        """Rows of references; see `links`."""
        given = np.asarray(pl.Series(rows, dtype=pl.Int64).drop_nulls(), np.int64)
        given = given[given >= 0]
        if not into:
            found = self.references_from(np.unique(given), weak=weak)
        else:
            found = self.references_to(given) if len(given) else given
            found = found if weak else self.holding(found)
        if live and len(found):
            found = found[self.root_distance[self.sources(found)] >= 0]
        return found

    def pairs(
        self, rows: Rows, *, into: bool = False, live: bool = False
    ) -> pl.DataFrame:
        """Only ``source`` and ``target`` of `links`, which takes less time."""
        found = self._references(rows, into=into, live=live, weak=False)
        pair = {"source": self.sources(found), "target": self.ref_target[found]}
        return pl.DataFrame(pair).cast(pl.Int64)

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
        found = self._references(rows, into=into, live=live, weak=weak)
        frame = self.frame("references", found.tolist(), _COLUMNS)
        if fields:
            frame = frame.filter(pl.col("field").is_in(fields))
        return frame.with_columns(
            pl.col("source", "target").cast(pl.Int64),
            pl.col("strength").cast(pl.String),
        )

    def links_to(
        self, rows: Rows, *fields: str, to: Sequence[str], weak: bool = False
    ) -> pl.DataFrame:
        """Those of `links` to objects of types of some names."""
        found = self.links(rows, *fields, weak=weak)
        return found.filter(self.types_of(found["target"]).is_in(to))

    def holding_roots(self, *columns: str) -> pl.DataFrame:
        """Roots that hold their object: ``row``, ``object`` and other columns."""
        roots = whole(self, "roots", ["object", "holds", *columns])
        return roots.filter("holds")

    def holders_of(self, rows: Rows, *, outside: bool = False) -> pl.DataFrame:
        """Other reachable objects that hold some, once each: ``row`` and ``holder``.

        Args:
            rows: The objects.
            outside: Whether without those that the object immediately dominates.
        """
        held = self.pairs(rows, into=True, live=True)
        held = held.select(row="target", holder="source").unique()
        held = held.filter(pl.col("row") != pl.col("holder"))
        if outside:
            held = held.filter(self.above(held["holder"]).ne_missing(held["row"]))
        return held

    def kept(self, rows: Rows) -> pl.Series:
        """Retained sizes, bytes."""
        return _at(self.retained_bytes, rows).cast(pl.Int64)

    def kept_at_top(self, rows: Rows) -> pl.Series:
        """Retained size of each object that no other dominates; 0 for the others."""
        return self.kept(rows).zip_with(self.are_top(rows), pl.Series([0]))

    def kept_by(self, holders: Rows, rows: Rows) -> pl.Series:
        """Retained size of each object that its holder dominates; 0 for the others."""
        is_own = self.above(rows) == pl.Series(holders)
        return self.kept(rows).zip_with(is_own, pl.Series([0]))

    def sizes(self, rows: Rows) -> pl.Series:
        """Shallow sizes, bytes."""
        return _at(self.shallow_bytes, rows).cast(pl.Int64)

    def above(self, rows: Rows) -> pl.Series:
        """The immediate dominator of each object; null where that is a root."""
        found = _at(self.dominator, rows).cast(pl.Int64)
        return found.set(found < 0, None)

    def behind_views(self, rows: Rows, field: str) -> pl.Series:
        """What dominates some objects, a view on one through ``field`` left out."""
        above = self.above(rows)
        pairs = pl.DataFrame({"source": above, "target": rows})
        views = self.links(above, field).select("source", "target").unique()
        is_view = pairs.join(views, on=["source", "target"], how="semi")["target"]
        further = self.above(above).set(~pairs["target"].is_in(is_view.implode()), None)
        return pl.select(pl.coalesce(further, above)).to_series()

    def names_of(self, kinds: pl.Series) -> pl.Series:
        """Full names of types, given their rows; a null row has a null name."""
        return pl.Series(self.type_names, dtype=pl.String).gather(kinds)

    def kinds_of(self, rows: Rows) -> pl.Series:
        """Rows of their types; -1 of placeholders."""
        return _at(self.type_index, rows).cast(pl.Int64)

    def types_with(self, field: str) -> list[int]:
        """Rows of the types that have a field."""
        fields = " " + self.of_types("fields").fill_null("") + " "
        return fields.str.contains(f" {field} ", literal=True).arg_true().to_list()

    def types_of(self, rows: Rows, missing: str | None = None) -> pl.Series:
        """Full names of their types.

        Args:
            rows: The objects.
            missing: What placeholders have; no object has null.
        """
        names = pl.Series([*self.type_names, missing], dtype=pl.String)
        return names.gather(self.kinds_of(rows).replace(-1, len(names) - 1))

    def type_texts(self, rows: Rows) -> pl.Series:
        """The same with the name of placeholders."""
        return self.types_of(rows, MISSING_TYPE_NAME)

    def captions_of(self, rows: Rows) -> pl.Series:
        """Short names of their types, and of placeholders."""
        names = self.captions
        return names.gather(self.kinds_of(rows).replace(-1, len(names) - 1))

    def texts(self, rows: Rows, column: str = "value") -> pl.Series:
        """A column of the table of objects; null where the row is null or negative."""
        return self._stored(rows, [column])[column]

    def _stored(self, rows: Rows, columns: Sequence[str]) -> pl.DataFrame:
        asked = pl.Series(rows, dtype=pl.Int64)
        known = asked.drop_nulls()
        known = known.filter(known >= 0).unique().sort()
        own = pl.DataFrame({"row": known})
        if columns:
            own = own.hstack(self.frame("objects", known.to_list(), columns))
        return pl.DataFrame({"row": asked}).join(
            own, on="row", how="left", maintain_order="left"
        )

    def addresses_of(self, rows: Rows) -> pl.Series:
        """Addresses."""
        return self.texts(rows, "address")

    def are_alive(self, rows: Rows) -> pl.Series:
        """Which of some objects roots reach."""
        return _at(self.root_distance, rows) >= 0

    def are_top(self, rows: Rows) -> pl.Series:
        """Which of some objects no other one dominates."""
        return _at(self.dominator, rows) == ROOT

    def variables(self, sources: Rows, targets: Rows) -> pl.Series:
        """The field by which each source refers to its target.

        Of several, the first by name; null if there are only elements such as ``[3]``.
        """
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
        self,
        frame: pl.DataFrame,
        /,
        *keys: str,
        most: str = "retained_bytes",
        **more: pl.Expr,
    ) -> pl.DataFrame:
        """Groups of objects, with the one of each that has most bytes.

        Args:
            frame: With a column ``row``.
            keys: What they are grouped by.
            most: The bytes; retained ones of the objects, if there is no such column.
            more: What else to compute of each group.

        Returns:
            The keys, ``largest``, the first row of those with most, the sum of
            ``most``, and more.
        """
        if most not in frame.columns:
            frame = frame.with_columns(retained_bytes=self.kept(frame["row"]))
        return (
            ordered(frame, f"-{most}", "row")
            .group_by(keys, maintain_order=True)
            .agg(pl.col("row").first().alias("largest"), pl.col(most).sum(), **more)
        )

    def by_context(
        self,
        frame: pl.DataFrame,
        keys: Sequence[str],
        values: Values,
        order: Sequence[str],
        **more: pl.Expr,
    ) -> pl.DataFrame:
        """Groups of functions and the like by what their contexts retain.

        Args:
            frame: ``row``, and ``c``, its context or null; each context counts once.
            keys: What they are grouped by.
            values: Values of the parameters.
            order: The order of groups that have the same ``context_bytes``.
            more: What else to compute of each group.
        """
        frame = frame.with_columns(kept=self.kept(frame["c"]).fill_null(0))
        contexts = frame.unique([*keys, "c"]).group_by(keys).agg(
            context_count=pl.col("c").count(), context_bytes=pl.col("kept").sum()
        )  # fmt: skip
        groups = self.grouped(frame, *keys, most="kept", **more)
        groups = groups.join(contexts, on=keys, nulls_equal=True)
        return shown(groups, values, "-context_bytes", *order)
