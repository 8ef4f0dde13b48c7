"""One heap as tables: what is exported, kept beside the store, and written to it.

Rows refer to rows of other tables by number, counted from 0 in the order of the
dump. `ingest.tables.schema` says which columns become nodes and relationships. A
table is made slice by slice, so that no heap stands in memory twice.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.merged import NOTHING, merged
from ingest.heap.graph import MISSING_TYPE_NAME, NO_FIELD, RefKind, RootFlag, RootKind
from ingest.heap.values import ValueKind
from ingest.progress import silent
from ingest.tables import estimates
from ingest.tables.columns import table
from ingest.tables.origins import OriginColumns
from ingest.tables.regions import Regions
from ingest.tables.series import (
    addresses,
    from_end,
    not_negative,
    nulls,
    scattered,
    texts_of,
    true_or_null,
)
from ingest.text import caption_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ingest.analysis.merged import MergedTree
    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress

    Columns = dict[str, pl.Series | NDArray[Any]]

SLICE_ROWS = 1 << 18
TOP = ROOT
"""In ``dominator_tree.dominator``: nothing but the roots."""


class HeapTables:
    """The tables of a heap that has just been read and analysed."""

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self.graph = graph
        self.metrics = metrics
        captions = [*map(caption_of, graph.type_names), MISSING_TYPE_NAME]
        self._captions = pl.Series(captions, dtype=pl.String)
        regions = Regions(graph, metrics)
        self._origins = OriginColumns(graph, metrics)
        self._makers: dict[str, tuple[int, Callable[[int, int], Columns]]] = {
            "objects": (len(graph.object_id), self._objects),
            "types": (len(graph.type_names), self._types),
            "roots": (len(graph.root_object), self._roots),
            "references": (graph.reference_count, self._references),
            "dominator_tree": (
                int(np.count_nonzero(metrics.dominator != UNREACHABLE)),
                self._dominator_tree,
            ),
            "type_references": (len(metrics.pair_count), self._type_references),
            "domains": (len(graph.domains), regions.domains),
            "segments": (len(graph.segments), regions.segments),
            "generations": (len(regions.ages), regions.generations),
            "collections": (len(graph.collections), regions.collections),
            "allocation_sites": (self._origins.site_count, self._origins.sites),
            "type_paths": (
                sum(len(tree.parent) for tree in self.merged.values()),
                self._type_paths,
            ),
        }

    @cached_property
    def merged(self) -> dict[str, MergedTree]:
        """Merged trees by the name that they have in the graph."""
        graph, metrics = self.graph, self.metrics
        return {
            "dominators": merged(graph, metrics.dominator),
            "root_paths": merged(graph, metrics.path_parent, by_root=True),
        }

    def close(self) -> None:
        """Let go of the heap; nothing can be asked any more."""
        self._makers.clear()
        del self.graph, self.metrics, self._origins

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self._makers[name][0]

    def part(self, name: str, begin: int, end: int) -> pl.DataFrame:
        """Rows ``begin`` to ``end`` of a table, columns as `table` tells them."""
        columns = self._makers[name][1](begin, end)
        return pl.DataFrame(columns, schema_overrides=table(name).schema).select(
            table(name).schema.names()
        )

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table that is made in slices while it is written somewhere."""
        rows = self.rows(name)

        def slices(
            with_columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            del batch_size
            last = rows if n_rows is None else min(rows, n_rows)
            for begin in range(0, last, SLICE_ROWS):
                end = min(begin + SLICE_ROWS, last)
                frame = self.part(name, begin, end)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if with_columns is None else frame.select(with_columns)
                progress(name, end, rows)

        return register_io_source(slices, schema=table(name).schema)

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that are null in every row, for the heap tells none."""
        graph = self.graph
        told: dict[str, dict[str, object]] = {
            "objects": {
                "weakly_referenced": self._weak_targets,
                "domain": graph.domain_index,
                "value": graph.values,
                "length": graph.length,
                "external_bytes": graph.external,
                "external_name": graph.external,
                "identity_hash": graph.identity_hash,
                "generation": graph.generation,
                "segment": graph.segment_index,
            },
            "references": {"field": graph.ref_field},
            "types": dict.fromkeys(
                ("estimated_count", "estimated_bytes"), graph.sampling
            ),
            "roots": {"field": graph.root_field, "owner": graph.root_owner},
        }
        absent = {c for c, what in told.get(name, {}).items() if what is None}
        return frozenset(absent | self._origins.absent if name == "objects" else absent)

    def _objects(self, begin: int, end: int) -> Columns:
        graph, metrics, part = self.graph, self.metrics, slice(begin, end)
        row = np.arange(begin, end, dtype=np.int32)
        kinds = graph.type_index[part]
        domain = graph.domain_index
        return {
            "object": row,
            "address": addresses(graph.object_id[part]),
            "type": not_negative(kinds),
            "type_name": self._captions.gather(from_end(kinds, len(self._captions))),
            "shallow_bytes": graph.shallow_bytes[part],
            "retained_bytes": metrics.retained_bytes[part],
            "retained_count": metrics.retained_count[part],
            "root_distance": not_negative(metrics.root_distance[part]),
            "missing": true_or_null(row >= graph.object_count),
            "weakly_referenced": nulls(end - begin, pl.Boolean)
            if self._weak_targets is None
            else true_or_null(self._weak_targets[part]),
            "domain": nulls(end - begin, pl.Int32) if domain is None else domain[part],
            **self._details(begin, end),
            **self._origins.objects(begin, end),
        }

    def _details(self, begin: int, end: int) -> Columns:
        """What only some formats tell of an object."""
        graph, part, rows = self.graph, slice(begin, end), end - begin
        found: Columns = {
            "value": nulls(rows, pl.String),
            "length": nulls(rows, pl.Int64),
            "external_bytes": nulls(rows, pl.Int64),
            "external_name": nulls(rows, pl.String),
            "identity_hash": nulls(rows, pl.Int64),
            "generation": nulls(rows, pl.Int32),
            "segment": nulls(rows, pl.Int32),
        }
        if graph.values is not None:
            at, texts = graph.values.between(begin, end)
            found["value"] = scattered(
                at - begin, pl.Series(texts, dtype=pl.String), rows
            )
        if graph.length is not None:
            found["length"] = not_negative(graph.length[part])
        if graph.generation is not None:
            found["generation"] = not_negative(graph.generation[part].astype(np.int32))
        if graph.segment_index is not None:
            found["segment"] = not_negative(graph.segment_index[part])
        if graph.identity_hash is not None:
            hashes = pl.Series(graph.identity_hash[part])
            found["identity_hash"] = pl.select(
                pl.when(hashes != 0).then(hashes)
            ).to_series()
        if (external := graph.external) is not None:
            first, last = np.searchsorted(external.object_index, [begin, end])
            at = external.object_index[first:last] - begin
            names = pl.Series(external.names, dtype=pl.String)
            names = names.gather(external.name_index[first:last].astype(np.uint32))
            sizes = pl.Series(external.size_bytes[first:last])
            found["external_bytes"] = scattered(at, sizes, rows)
            found["external_name"] = scattered(at, names, rows)
        return found

    @cached_property
    def _type_fields(self) -> pl.Series:
        """Of each type the fields through which its instances refer, in their order."""
        graph, types = self.graph, len(self.graph.type_names)
        if graph.ref_field is None:
            return nulls(types, pl.String)
        kinds = np.repeat(graph.type_index, np.diff(graph.ref_start))
        named = graph.ref_field >= 0
        pairs = (
            pl.DataFrame({"type": kinds[named], "field": graph.ref_field[named]})
            .unique()
            .sort("type", "field")
        )
        names = pl.Series(graph.field_names, dtype=pl.String)
        joined = (
            pairs.with_columns(names.gather(pairs["field"]).alias("field"))
            .group_by("type")
            .agg(pl.col("field").str.join(" "))
        )
        at = joined["type"].to_numpy()
        return scattered(at, joined["field"], types)

    @cached_property
    def _value_kinds(self) -> pl.Series:
        """What the instances of each type hold, by the first one that holds any."""
        graph = self.graph
        kinds = np.full(len(graph.type_names), -1, np.int32)
        if graph.values is not None:
            of = graph.type_index[graph.values.object_index]
            kinds[of[::-1]] = graph.values.kind[::-1]
        labels = pl.Series([*(kind.label for kind in ValueKind), None])
        return labels.gather(from_end(kinds, len(labels)))

    @cached_property
    def _top_addresses(self) -> pl.Series:
        """Of each type's instances that only the roots dominate, the largest's.

        Of equals the first one's in the dump; null where there is none.
        """
        graph, metrics = self.graph, self.metrics
        rows = np.flatnonzero((metrics.dominator == TOP) & (graph.type_index >= 0))
        rows = rows[np.argsort(-metrics.retained_bytes[rows], kind="stable")]
        kinds, first = np.unique(graph.type_index[rows], return_index=True)
        largest = pl.DataFrame(
            {"type": kinds, "address": addresses(graph.object_id[rows[first]])}
        )
        types = pl.DataFrame({"type": np.arange(len(graph.type_names), dtype=np.int32)})
        return types.join(
            largest, on="type", how="left", maintain_order="left"
        ).to_series(1)

    @cached_property
    def _weak_targets(self) -> NDArray[np.bool_] | None:
        """Bool (N + M,); ``None`` where all references are strong."""
        graph = self.graph
        if graph.ref_kind is None or not graph.ref_kind.any():
            return None
        seen = np.zeros(len(graph.object_id), np.bool_)
        seen[graph.ref_target[graph.ref_kind != RefKind.STRONG]] = True
        return seen

    def _types(self, begin: int, end: int) -> Columns:
        graph, metrics, part = self.graph, self.metrics, slice(begin, end)
        names = graph.type_names[part]
        return {
            "type": np.arange(begin, end, dtype=np.int32),
            "name": pl.Series(names, dtype=pl.String),
            "namespace": pl.Series(map(namespace_of, names), dtype=pl.String),
            "domain": graph.type_domain[part],
            "instance_count": metrics.instance_count[part],
            "reachable_count": metrics.type_reachable_count[part],
            "shallow_bytes": metrics.type_shallow_bytes[part],
            "reachable_bytes": metrics.type_reachable_bytes[part],
            "retained_bytes": metrics.type_retained_bytes[part],
            "top_count": metrics.type_top_count[part],
            "top_retained_bytes": metrics.type_top_retained_bytes[part],
            "top_address": self._top_addresses[begin:end],
            "fields": self._type_fields[begin:end],
            "value_kind": self._value_kinds[begin:end],
            **estimates.columns(graph, metrics, begin, end),
        }

    def _roots(self, begin: int, end: int) -> Columns:
        graph, part = self.graph, slice(begin, end)
        kinds, flags = graph.root_kind[part], graph.root_flags[part]
        labels = pl.Series([kind.label for kind in RootKind])
        container = graph.root_type[part]
        static = texts_of(graph.root_field, graph.field_names, part)
        words = pl.DataFrame(
            {
                "kind": labels.gather(kinds.astype(np.uint32)),
                "of": self._captions.gather(from_end(container, len(self._captions))),
                "static": container >= 0,
                "field": static,
            },
            schema_overrides={"field": pl.String},
        ).select(
            pl.col("kind").str.replace_all("_", " ", literal=True)
            + " root"
            + pl.when("static").then(" in " + pl.col("of")).otherwise(pl.lit(""))
            + pl.when(pl.col("field").is_null())
            .then(pl.lit(""))
            .when("static")
            .then("." + pl.col("field"))
            .otherwise(" " + pl.col("field"))
        )
        return {
            "root": np.arange(begin, end, dtype=np.int32),
            "object": graph.root_object[part],
            "type": not_negative(container),
            "kind": labels.gather(kinds.astype(np.uint32)),
            "pinned": (flags & RootFlag.PINNED) != 0,
            "weak": (flags & RootFlag.WEAK) != 0,
            "interior": (flags & RootFlag.INTERIOR) != 0,
            "name": words.to_series(),
            "field": static,
            "owner": texts_of(graph.root_owner, graph.owners, part),
        }

    def _references(self, begin: int, end: int) -> Columns:
        graph = self.graph
        first = int(np.searchsorted(graph.ref_start, begin, "right")) - 1
        last = int(np.searchsorted(graph.ref_start, end, "left"))
        bounds = np.clip(graph.ref_start[first : last + 1], begin, end)
        source = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(bounds))
        weak = (
            np.zeros(end - begin, np.bool_)
            if graph.ref_kind is None
            else graph.ref_kind[begin:end] != RefKind.STRONG
        )
        return {
            "source": source,
            "target": graph.ref_target[begin:end],
            "weak": weak,
            "field": self._fields(begin, end),
        }

    def _fields(self, begin: int, end: int) -> pl.Series:
        """Names of the fields of some references; ``[i]`` for an element."""
        graph = self.graph
        if graph.ref_field is None:
            return nulls(end - begin, pl.String)
        row = graph.ref_field[begin:end]
        names = pl.Series([*graph.field_names, None], dtype=pl.String)
        named = names.gather(from_end(np.maximum(row, -1), len(names)))
        element = pl.Series(-1 - row.astype(np.int64))
        return pl.select(
            pl.when((element >= 0) & (pl.Series(row) != NO_FIELD))
            .then("[" + element.cast(pl.String) + "]")
            .otherwise(named)
        ).to_series()

    def _dominator_tree(self, begin: int, end: int) -> Columns:
        rows = self._by_dominator[begin:end]
        return {"object": rows, "dominator": self.metrics.dominator[rows]}

    @cached_property
    def _by_dominator(self) -> NDArray[np.int32]:
        """int32: reachable objects, those of one dominator together."""
        reachable = np.flatnonzero(self.metrics.dominator != UNREACHABLE)
        reachable = reachable.astype(np.int32)
        order = np.argsort(self.metrics.dominator[reachable], kind="stable")
        return np.asarray(reachable[order])

    def _type_references(self, begin: int, end: int) -> Columns:
        metrics, part = self.metrics, slice(begin, end)
        return {
            "source": metrics.pair_source[part],
            "target": metrics.pair_target[part],
            "reference_count": metrics.pair_count[part],
        }

    def _type_paths(self, begin: int, end: int) -> Columns:
        frames, first = [], 0
        names = self._captions.to_list()
        for name, tree in self.merged.items():
            at = [
                RootKind(root).label
                if root >= 0
                else ("" if kind == NOTHING else names[kind])
                for kind, root in zip(
                    tree.kind.tolist(), tree.root_kind.tolist(), strict=True
                )
            ]
            frames.append(
                pl.DataFrame(
                    {
                        "parent": not_negative(
                            np.where(tree.parent < 0, -1, tree.parent + first)
                        ),
                        "type": not_negative(tree.kind),
                        "name": pl.Series(at, dtype=pl.String),
                        "depth": tree.depth,
                        "object_count": tree.object_count,
                        "shallow_bytes": tree.shallow_bytes,
                        "total_count": tree.total_count,
                        "total_bytes": tree.total_bytes,
                        "rest_count": tree.rest_count,
                        "rest_bytes": tree.rest_bytes,
                    }
                ).with_columns(tree=pl.lit(name))
            )
            first += len(tree.parent)
        return dict(
            pl.concat(frames)
            .with_row_index("path")[begin:end]
            .select(table("type_paths").schema.names())
            .to_dict()
        )

    def dump(self) -> dict[str, object]:
        """What the Dump node says of the heap itself."""
        graph, metrics = self.graph, self.metrics
        weak = int(np.count_nonzero(graph.root_flags & RootFlag.WEAK))
        return {
            "format": graph.format_name,
            "producer": graph.producer,
            "object_count": graph.object_count,
            "missing_count": graph.missing_count,
            "type_count": len(graph.type_names),
            "root_count": len(graph.root_object),
            "weak_root_count": weak,
            "reference_count": graph.reference_count,
            "null_reference_count": graph.null_reference_count,
            "shallow_bytes": int(graph.shallow_bytes.sum()),
            "reachable_count": metrics.reachable_count,
            "reachable_bytes": metrics.reachable_bytes,
            "weak_only_count": metrics.weak_only_count,
            "weak_only_bytes": metrics.weak_only_bytes,
            "external_bytes": graph.external_bytes,
            **estimates.of_heap(graph),
            "folded_count": graph.folded.object_count,
            "folded_bytes": graph.folded.shallow_bytes,
            "folded_reference_count": graph.folded.reference_count,
            "collection_number": next(
                (one.number for one in graph.collections if one.is_dump), None
            ),
            "warning_count": sum(i.count for i in graph.irregularities),
            "warnings": [f"{i.kind}: {i.count}{i.place}" for i in graph.irregularities],
        }


def write_parquet(frame: pl.LazyFrame, path: Path) -> None:
    """Stream a table into a Parquet file.

    Raises:
        OSError: it cannot be written.
    """
    with _told_as_os_errors():
        frame.sink_parquet(path, compression="zstd", compression_level=1)


def write_csv(frame: pl.LazyFrame, path: Path, *, header: bool = True) -> None:
    """Stream a table into a CSV file.

    Raises:
        OSError: it cannot be written.
    """
    with _told_as_os_errors():
        frame.sink_csv(path, include_header=header)


@contextmanager
def _told_as_os_errors() -> Iterator[None]:
    """The system's errors by their number, which polars has in its texts only."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number)) from error
        raise
