"""What the columns of a heap's tables are computed from.

`ingest.tables.schema` names the columns and takes each from here, from the graph or
from the metrics. Large columns are computed for a slice of rows at a time; those that
are small, or needed for every slice, once.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis import fingerprints
from ingest.analysis.distances import (
    NOT_REACHED,
    ROOT,
    UNREACHABLE,
    holds,
    owner_ranks,
)
from ingest.analysis.merged import (
    MAX_GROUPS,
    NOT_A_TYPE,
    OWNER_PATHS,
    TREES,
    merged_tree,
)
from ingest.analysis.metrics import most_connected
from ingest.analysis.types import largest_first, supertypes
from ingest.heap.graph import MISSING_TYPE_NAME, NO_FIELD, RefKind, RootKind
from ingest.heap.values import ValueKind
from ingest.runtimes import named as runtime_named
from ingest.suspects.find import find_suspects
from ingest.suspects.ownership import from_owners, statics_of_program
from ingest.tables import estimates
from ingest.tables.origins import OriginColumns
from ingest.tables.regions import Regions
from ingest.tables.root_set import RootSetColumns
from ingest.tables.series import (
    addresses,
    from_end,
    scattered,
    shared_texts,
    strengths,
    texts_of,
)
from ingest.words.text import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.merged import MergedTree, Role
    from ingest.analysis.metrics import Counted, HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.find import Findings
    from ingest.suspects.suspect import Suspect

    Flags = NDArray[np.bool_]
    Slices = Callable[[slice], pl.Series]


class HeapColumns:
    """A heap that has been read and analysed, and columns derived from it.

    Attributes:
        graph: The heap.
        metrics: Its measures.
        regions: Columns of what objects lie in.
        origins: Columns about where objects come from.
        roots: Columns of the roots.
        own: Globs of types that are the program's own, for the leak suspects.
        path_limit: The most groups of each merged tree.
        trees: The merged trees, by their names in the graph.
        path_rows: Whether ``trees`` have the row of each object.
    """

    graph: HeapGraph
    metrics: HeapMetrics
    regions: Regions
    origins: OriginColumns
    roots: RootSetColumns
    options: str

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        own: Sequence[str] = (),
        *,
        path_limit: int = MAX_GROUPS,
        trees: Sequence[str] = TREES,
        path_rows: bool = False,
        options: str = "",
    ) -> None:
        self.graph = graph
        self.metrics = metrics
        self.regions = Regions(graph, metrics)
        self.origins = OriginColumns(graph, metrics)
        self.roots = RootSetColumns(graph, metrics)
        self.own = own
        self.path_limit = path_limit
        self.trees = trees
        self.path_rows = path_rows
        self.options = options

    def row_number(self, rows: slice) -> NDArray[np.int32]:
        """int32: row numbers."""
        return np.arange(rows.start, rows.stop, dtype=np.int32)

    # ------------------------------------------------------------ objects

    def address(self, rows: slice) -> pl.Series:
        """Addresses of objects, in hexadecimal."""
        return addresses(self.graph.object_id[rows])

    @property
    def last_object_id(self) -> int | None:
        """The highest id that stays the same in later dumps of the process.

        ``None`` if no id does, or if the highest is too large for the graph.
        """
        if self.passing_id is None:
            return None
        is_by_id = runtime_named(self.graph.runtime).identified_by == "address"
        by = self.graph.object_id if is_by_id else self.graph.identity_hash
        assert by is not None
        last = int(by.max(where=~self.passing_id, initial=0))
        return last if 0 < last < 1 << 63 else None

    @cached_property
    def passing_id(self) -> Flags | None:
        """Bool (N + M,): ids of this dump only; ``None`` where no ids last."""
        runtime, hashes = runtime_named(self.graph.runtime), self.graph.identity_hash
        if runtime.lasting_ids is not None:
            return ~runtime.lasting_ids(self.graph.object_id)
        return hashes == 0 if runtime.unique_hashes and hashes is not None else None

    @cached_property
    def captions(self) -> pl.Series:
        """Short names of all types, then the one of placeholders."""
        of_name = cache(self.graph.captions.of)
        captions = map(of_name, self.graph.type_names)
        return shared_texts([*captions, MISSING_TYPE_NAME])

    @cached_property
    def type_names(self) -> pl.Series:
        """Full names of all types."""
        return shared_texts(self.graph.type_names)

    @property
    def type_captions(self) -> pl.Series:
        """Short names of all types."""
        return self.captions[:-1]

    def type_name(self, rows: slice) -> pl.Series:
        """Short names of the objects' types."""
        kinds = self.graph.type_index[rows]
        return self.captions.gather(from_end(kinds, len(self.captions)))

    def missing(self, rows: slice) -> Flags:
        """Which objects are placeholders."""
        return self.row_number(rows) >= self.graph.object_count

    @cached_property
    def weakly_referenced(self) -> Flags | None:
        """Bool (N + M,); ``None`` where all references are strong."""
        graph = self.graph
        if graph.ref_kind is None or not graph.ref_kind.any():
            return None
        found = np.zeros(len(graph.object_id), np.bool_)
        found[graph.ref_target[graph.ref_kind != RefKind.STRONG]] = True
        return found

    @cached_property
    def _most_connected(self) -> tuple[Counted, Counted]:
        metrics = self.metrics
        return most_connected(self.graph, metrics.strength, metrics.root_distance)

    def referrer_count(self, rows: slice) -> pl.Series:
        """How many references lead to each object; null but for those with the most."""
        return self._counts(self._most_connected[0], rows)

    def reference_count(self, rows: slice) -> pl.Series:
        """How many references each object has; null for all but the most connected."""
        return self._counts(self._most_connected[1], rows)

    def _counts(self, most: Counted, rows: slice) -> pl.Series:
        first, last = np.searchsorted(most.rows, [rows.start, rows.stop]).tolist()
        counts = pl.Series(most.counts[first:last])
        return scattered(
            most.rows[first:last] - rows.start, counts, rows.stop - rows.start
        )

    @property
    def strength(self) -> Slices | None:
        """How strongly objects are reachable, where that is weaker than strong."""
        strength = self.metrics.strength
        if strength is None or not strength[strength != NOT_REACHED].any():
            return None
        return lambda rows: strengths(strength[rows])

    @property
    def value(self) -> Slices | None:
        """Values of objects, as text."""
        values = self.graph.values
        if values is None:
            return None

        def part(rows: slice) -> pl.Series:
            at, texts = values.between(rows.start, rows.stop)
            series = pl.Series(texts, dtype=pl.String)
            return scattered(at - rows.start, series, rows.stop - rows.start)

        return part

    @property
    def space(self) -> Slices | None:
        """Parts of the heap that objects are in."""
        graph = self.graph
        if (column := graph.space) is None:
            return None
        return lambda rows: texts_of(column[rows].astype(np.int32), graph.spaces)

    @property
    def external_bytes(self) -> Slices | None:
        """Bytes outside the heap that objects hold."""
        external = self.graph.external
        if external is None:
            return None
        return lambda rows: self._external(rows, pl.Series(external.size_bytes))

    @property
    def external_name(self) -> Slices | None:
        """Names of the kinds of those bytes."""
        external = self.graph.external
        if external is None:
            return None
        names = pl.Series(external.names, dtype=pl.String)
        return lambda rows: self._external(
            rows, names.gather(external.name_index.astype(np.uint32))
        )

    def _external(self, rows: slice, values: pl.Series) -> pl.Series:
        assert self.graph.external is not None
        holders = self.graph.external.object_index
        first, last = np.searchsorted(holders, [rows.start, rows.stop]).tolist()
        at = holders[first:last] - rows.start
        return scattered(at, values[first:last], rows.stop - rows.start)

    @property
    def valued_objects(self) -> NDArray[np.int32] | None:
        """int32: the object of each value in a field."""
        found = self.graph.field_values
        return None if found is None else found.object_index

    @property
    def valued_fields(self) -> Slices | None:
        """The field of each value in a field."""
        if (found := self.graph.field_values) is None:
            return None
        return lambda rows: texts_of(found.field[rows], found.names)

    def field_values(self, name: str) -> Slices | None:
        """Values in fields, null where they are not of a kind, by its name."""
        kind = ValueKind[name.upper()]
        if (known := self.graph.field_values) is None:
            return None

        def part(rows: slice) -> pl.Series:
            bits, is_kind = known.bits[rows], known.kind[rows] == kind
            if kind is ValueKind.NAME:
                at = np.where(is_kind, bits, -1).astype(np.int32)
                return texts_of(at, known.texts)
            is_float = kind is ValueKind.DOUBLE
            found = pl.Series(bits.view(np.float64) if is_float else bits)
            if kind is ValueKind.BOOLEAN:
                found = found != 0
            return pl.select(pl.when(pl.Series(is_kind)).then(found)).to_series()

        return part

    # ------------------------------------------------------------ types

    @cached_property
    def namespaces(self) -> pl.Series:
        """Namespace of each type."""
        return shared_texts(map(cache(namespace_of), self.graph.type_names))

    @cached_property
    def type_estimates(self) -> dict[str, NDArray[np.int64]]:
        """Estimates of each type; empty where the dump has all objects."""
        return estimates.of_types(self.graph, self.metrics)

    @cached_property
    def heap_estimates(self) -> dict[str, int]:
        """Estimates of the whole heap; empty where the dump has all objects."""
        return estimates.of_heap(self.graph)

    @cached_property
    def type_fields(self) -> pl.Series | None:
        """The fields of each type that hold its instances' references, in order."""
        graph, types = self.graph, len(self.graph.type_names)
        if graph.ref_field is None:
            return None
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
    def value_kinds(self) -> pl.Series:
        """The kind of value in each type's instances, from the first that has one."""
        graph = self.graph
        kinds = np.full(len(graph.type_names), -1, np.int32)
        if graph.values is not None:
            of = graph.type_index[graph.values.object_index]
            kinds[of[::-1]] = graph.values.kind[::-1]
        labels = pl.Series([*(kind.label for kind in ValueKind), None])
        return labels.gather(from_end(kinds, len(labels)))

    @cached_property
    def supertypes(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Types, and types that these extend."""
        return supertypes(self.graph)

    def type_addresses(self, name: str) -> pl.Series | None:
        """Addresses of objects by type, from a column of the graph."""
        rows: NDArray[np.int32] | None = getattr(self.graph, name)
        if rows is None:
            return None
        some = np.flatnonzero(rows >= 0).astype(np.int32)
        found = addresses(self.graph.object_id[rows[some]])
        return scattered(some, found, len(rows))

    @cached_property
    def top_addresses(self) -> pl.Series:
        """Address of each type's largest instance that no other object dominates.

        The first of equal ones in the dump; null where there is none.
        """
        graph, metrics = self.graph, self.metrics
        rows = np.flatnonzero((metrics.dominator == ROOT) & (graph.type_index >= 0))
        rows = largest_first(rows, metrics.retained_bytes)
        kinds, first = np.unique(graph.type_index[rows], return_index=True)
        found = addresses(graph.object_id[rows[first]])
        return scattered(kinds, found, len(graph.type_names))

    # ------------------------------------------------------------ relationships

    def reference_source(self, rows: slice) -> NDArray[np.int32]:
        """int32: objects that have the references."""
        start, begin, end = self.graph.ref_start, rows.start, rows.stop
        first, last = self.graph.sources([begin, end - 1]).tolist()
        last += 1
        bounds = np.clip(start[first : last + 1], begin, end)
        return np.repeat(np.arange(first, last, dtype=np.int32), np.diff(bounds))

    def reference_holds(self, rows: slice) -> Flags:
        """Which references hold their target."""
        strength = self.metrics.strength
        return holds(self.graph, strength, rows, self.reference_source(rows))

    @property
    def reference_strength(self) -> Slices | None:
        """Strengths of references, where weaker than strong."""
        kinds = self.graph.ref_kind
        if kinds is None:
            return None
        return lambda rows: strengths(kinds[rows])

    @property
    def reference_field(self) -> Slices | None:
        """Fields of references by name; ``[i]`` for an element."""
        graph = self.graph
        if (fields := graph.ref_field) is None:
            return None

        def part(rows: slice) -> pl.Series:
            some = fields[rows]
            named = texts_of(some, graph.field_names)
            element = pl.Series(-1 - some.astype(np.int64))
            return pl.select(
                pl.when((element >= 0) & (pl.Series(some) != NO_FIELD))
                .then("[" + element.cast(pl.String) + "]")
                .otherwise(named)
            ).to_series()

        return part

    @cached_property
    def dominated_count(self) -> int:
        """Reachable objects and placeholders."""
        return int(np.count_nonzero(self.metrics.dominator != UNREACHABLE))

    @cached_property
    def dominated(self) -> NDArray[np.int32]:
        """int32: reachable objects, those of one dominator together."""
        reachable = np.flatnonzero(self.metrics.dominator != UNREACHABLE)
        reachable = reachable.astype(np.int32)
        order = np.argsort(self.metrics.dominator[reachable], kind="stable")
        return np.asarray(reachable[order])

    def dominator(self, rows: slice) -> NDArray[np.int32]:
        """int32: the dominators of `dominated` objects."""
        return np.asarray(self.metrics.dominator[self.dominated[rows]])

    # ------------------------------------------------------------ analysis

    @cached_property
    def owned(self) -> HeapMetrics:
        """The metrics with paths from the best owners instead of shortest ones."""
        return from_owners(self.graph, self.metrics, self.own)

    @cached_property
    def merged(self) -> dict[str, MergedTree]:
        """Merged trees by the name that they have in the graph."""
        parent = {
            "dominators": self.metrics.dominator,
            "root_paths": self.metrics.path_parent,
        }
        rank = None
        if OWNER_PATHS in self.trees:
            parent[OWNER_PATHS] = self.owned.path_parent
            rank = owner_ranks(self.graph, statics_of_program(self.graph, self.own))
        return {
            name: merged_tree(
                self.graph,
                parent[name],
                by_root=None if name == "dominators" else self.roots.holding,
                rank=rank if name == OWNER_PATHS else None,
                limit=self.path_limit,
                rows=self.path_rows,
            )
            for name in self.trees
        }

    @cached_property
    def findings(self) -> Findings:
        """Leak suspects, and the size of the runtime's metadata."""
        return find_suspects(self.graph, self.metrics, self.own)

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Leak suspects, the best first."""
        return self.findings.suspects

    @cached_property
    def type_paths(self) -> pl.DataFrame:
        """The groups of all merged trees, one tree after the other."""
        frames, first = [], 0
        captions = self.captions.to_list()
        for name, tree in self.merged.items():
            of_roles = {role: captions[role.type_index] for role in tree.roles}
            frames.append(
                pl.DataFrame(
                    {
                        "parent": np.where(tree.parent < 0, -1, tree.parent + first),
                        "type": tree.type_index,
                        "name": pl.Series(
                            self._group_names(tree, captions, of_roles),
                            dtype=pl.String,
                        ),
                        "fingerprint": self._fingerprints(
                            "root_paths" if name == OWNER_PATHS else name, tree
                        ),
                        "depth": tree.depth,
                        "object_count": tree.object_count,
                        "shallow_bytes": tree.shallow_bytes,
                        "total_count": tree.total_count,
                        "total_bytes": tree.total_bytes,
                        "rest_count": tree.rest_count,
                        "rest_bytes": tree.rest_bytes,
                    }
                ).with_columns(
                    pl.when(pl.col("parent", "type") >= 0).then(
                        pl.col("parent", "type")
                    ),
                    tree=pl.lit(name),
                )
            )
            first += len(tree.parent)
        return pl.concat(frames)

    def _fingerprints(self, name: str, tree: MergedTree) -> list[str]:
        full = [*self.graph.type_names, MISSING_TYPE_NAME]
        normalised = {
            role: fingerprints.normalised_type(full[role.type_index])
            for role in tree.roles
        }
        kinds = np.where(
            tree.root_kind >= 0, "root", np.where(tree.role >= 0, "role", "")
        )
        names = self._group_names(tree, full, normalised)
        return fingerprints.of_tree(name, tree.parent.tolist(), names, kinds.tolist())

    @staticmethod
    def _group_names(
        tree: MergedTree, names: Sequence[str], of_roles: Mapping[Role, str]
    ) -> list[str]:
        """Names of types, or of kinds and roles of roots.

        Args:
            tree: The tree.
            names: Names of all types, then of placeholders.
            of_roles: Names of the types of roles.
        """
        found = []
        for kind, root, role in zip(
            tree.type_index.tolist(),
            tree.root_kind.tolist(),
            tree.role.tolist(),
            strict=True,
        ):
            if root >= 0:
                found.append(RootKind(root).label)
            elif role >= 0:
                of = tree.roles[role]
                found.append(of.named(of_roles[of] if of.type_index >= 0 else ""))
            else:
                found.append("" if kind == NOT_A_TYPE else names[kind])
        return found
