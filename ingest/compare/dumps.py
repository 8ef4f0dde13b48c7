"""The columns of a dump that a comparison needs.

They come from the tables of a file that was just read, of an exported folder, or of the
graph; the comparison works the same for all three.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from ingest.analysis.fingerprints import RULE_VERSION, normalised_type
from ingest.analysis.merged import OWNER_PATHS, TREES
from ingest.arrays.compiled import kernel
from ingest.arrays.hashing import FNV_OFFSET, fnv1a
from ingest.errors import DumpError
from ingest.heap.completeness import incomplete_note
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.heap.values import ValueKind
from ingest.runtimes import named
from ingest.tables.schema import table
from ingest.words.text import Captions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs
    from ingest.dumps.dump import Dump, KeptDump
    from ingest.heap.graph import HeapGraph
    from ingest.heap.identity import Identity
    from ingest.heap.values import ObjectValues
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import Tables


_UTF16 = int(ValueKind.UTF16)
MOST_PATHS = 20_000
"""Paths of each tree of a heap; stored tables have fewer."""

TYPE_COLUMNS = (
    "type",
    "name",
    "reachable_count",
    "reachable_bytes",
    "retained_bytes",
    "instance_count",
    "shallow_bytes",
)
PATH_COLUMNS = (
    "path",
    "parent",
    "type",
    "tree",
    "name",
    "fingerprint",
    "depth",
    "object_count",
    "shallow_bytes",
    "total_bytes",
    "rest_bytes",
)
SUSPECT_COLUMNS = (
    "suspect",
    "type",
    "object_count",
    "retained_bytes",
    "share",
    "pattern",
    "path",
    "cut",
    "cut_step",
    "sentence",
    "fingerprint",
)


NEEDED = {
    "types": TYPE_COLUMNS,
    "type_paths": PATH_COLUMNS,
    "suspects": SUSPECT_COLUMNS,
}
"""Columns of the tables that a comparison needs."""


class Taken(NamedTuple):
    """What tells when a dump was taken; each is ``None`` if unknown.

    Attributes:
        clock_ms: The clock in the dump, milliseconds since 1970.
        file_ms: When its file was last written, milliseconds since 1970.
    """

    clock_ms: int | None = None
    file_ms: int | None = None


UNKNOWN = Taken()

_SOONEST_MS = 2000
"""Files that are copied, as by a checkout, are written about as fast as this."""


class TypeTotals(NamedTuple):
    """The reachable instances of a type.

    Attributes:
        name: Full name, or the common part of several that are normalised alike.
        object_count: How many instances there are.
        shallow_bytes: Their size.
        retained_bytes: What they retain together.
    """

    name: str
    object_count: int
    shallow_bytes: int
    retained_bytes: int


@dataclass(frozen=True, slots=False, eq=False)
class ComparedDump:
    """The part of a dump that a comparison needs.

    Attributes:
        name: Name of the dump.
        format_name: Its format; ``None`` if that is not known.
        identity: Identifies the dump and its file; ``None`` if unknown.
        types: `TYPE_COLUMNS`.
        paths: `PATH_COLUMNS`; ``parent`` is a value of ``path`` or null, parents come
            first, and ``name`` is the full name of the type or the kind of root.
        suspects: `SUSPECT_COLUMNS` and ``type_name``, the full name; the best first.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.
        runtime: Name of the runtime whose heap it is; empty if that is not known.
        taken: What tells when it was taken.
        collects: Whether the program's garbage collector was switched on; ``None`` if
            that is not known.
        objects: Objects with an identity, see `known_objects`; ``None`` if there are
            none, or they were not asked for.
    """

    name: str
    format_name: str | None
    identity: Identity | None
    types: pl.DataFrame
    paths: pl.DataFrame
    suspects: pl.DataFrame
    objects: pl.DataFrame | None = None
    incomplete: str = ""
    runtime: str = ""
    taken: Taken = UNKNOWN
    collects: bool | None = None

    @property
    def reachable_count(self) -> int:
        """Objects that are reachable, without placeholders."""
        return int(self.types["reachable_count"].sum())

    @property
    def reachable_bytes(self) -> int:
        """Their shallow size, bytes."""
        return int(self.types["reachable_bytes"].sum())

    @cached_property
    def totals(self) -> Mapping[str, TypeTotals]:
        """The types that have reachable instances, by normalised name."""
        found: dict[str, TypeTotals] = {}
        columns = TYPE_COLUMNS[1:5]
        for name, count, size, retained in self.types.select(columns).iter_rows():
            if count:
                key = normalised_type(name)
                before = found.get(key, TypeTotals(name, 0, 0, 0))
                # None of several types, such as lambdas, stands for the others.
                shown = name if key not in found or name == before.name else key
                found[key] = TypeTotals(
                    shown, before[1] + count, before[2] + size, before[3] + retained
                )
        return found

    @cached_property
    def instance_counts(self) -> Mapping[str, int]:
        """Instances of each type, reachable or not, by normalised name."""
        found: Counter[str] = Counter()
        for name, count in self.types.select("name", "instance_count").iter_rows():
            found[normalised_type(name)] += count
        return found

    @cached_property
    def unreachable(self) -> Mapping[str, tuple[int, int]]:
        """Garbage: objects and bytes of each type that has some, by normalised name."""
        found: dict[str, tuple[int, int]] = {}
        of_type = self.types.select(
            "name",
            pl.col("instance_count") - pl.col("reachable_count"),
            pl.col("shallow_bytes") - pl.col("reachable_bytes"),
        )
        for name, count, size in of_type.iter_rows():
            if count:
                key = normalised_type(name)
                before = found.get(key, (0, 0))
                found[key] = (before[0] + count, before[1] + size)
        return found

    @cached_property
    def captions(self) -> Captions:
        """Short names of the types."""
        return Captions.of_types(self.types["name"].to_list())

    def held_count(self, fingerprint: str) -> int:
        """Objects of a suspect in this dump; 0 if this dump does not have it."""
        found = self.suspects.filter(pl.col("fingerprint") == fingerprint)
        return int(found["object_count"].sum())

    def count_of(self, type_name: str) -> int:
        """Reachable instances of a type, by its normalised name."""
        found = self.totals.get(type_name)
        return 0 if found is None else found.object_count


def of_tables(
    name: str,
    tables: Tables,
    *,
    format_name: str | None = None,
    identity: Identity | None = None,
    objects: pl.DataFrame | None = None,
    incomplete: str = "",
    runtime: str = "",
) -> ComparedDump:
    """The columns of a dump, from its tables.

    Raises:
        DumpError: a version without fingerprints wrote the tables.
    """
    types, paths, suspects = (
        tables.part(entry, 0, tables.rows(entry), columns)
        for entry, columns in NEEDED.items()
    )
    for frame in (paths, suspects):
        of_rule = frame["fingerprint"].str.starts_with(f"{RULE_VERSION}-")
        if not of_rule.fill_null(value=False).all():
            raise DumpError(
                f"{name} was made by an earlier version, without fingerprints or with "
                "those of an earlier rule; load or export it again"
            )
    names = types.select("type", pl.col("name").alias("type_name"))
    # Placeholders have no type; kinds of roots and the top have no objects.
    full = pl.coalesce(
        "type_name",
        pl.when(pl.col("object_count") > 0)
        .then(pl.lit(MISSING_TYPE_NAME))
        .otherwise("name"),
    )
    return ComparedDump(
        name,
        format_name,
        identity,
        types,
        paths.join(names, on="type", how="left", maintain_order="left")
        .with_columns(full.alias("name"))
        .drop("type_name"),
        suspects.join(names, on="type", how="left", maintain_order="left"),
        objects,
        incomplete,
        runtime,
    )


def of_heap(
    name: str,
    tables: HeapTables,
    identity: Identity | None,
    file_ms: int | None = None,
) -> ComparedDump:
    """The columns of a heap in memory; see `Taken` for ``file_ms``."""
    graph = tables.graph
    found = of_tables(
        name,
        tables,
        format_name=graph.format_name,
        identity=identity,
        incomplete=graph.incomplete,
        runtime=graph.runtime,
    )
    taken = Taken(graph.taken_ms, file_ms)
    return replace(found, taken=taken, collects=graph.collects)


def of_dump(
    dump: Dump,
    *,
    name: str | None = None,
    objects: bool = False,
) -> ComparedDump:
    """The columns of an opened dump, from its heap or its stored tables.

    Args:
        dump: An opened dump.
        name: A name to use instead of its own.
        objects: Whether to keep the objects that have an identity.

    Raises:
        DumpError: it cannot be read, or its tables are incomplete.
    """
    kept = dump.kept
    if kept is not None and kept.strength in ("", dump.options.strength):
        return _of_kept(kept, dump.what)
    objects &= dump.metrics.origins is not None or identities(dump.graph) is not None
    trees = (*TREES, OWNER_PATHS)
    tables = dump.tables(path_limit=MOST_PATHS, trees=trees, path_rows=objects)
    found = of_heap(name or dump.name, tables, dump.identity, dump.file_ms)
    return replace(found, objects=known_objects(tables) if objects else None)


def _of_kept(kept: KeptDump, what: str) -> ComparedDump:
    """The columns of a dump that was read before, from its stored tables."""
    try:
        for one, columns in NEEDED.items():
            optional = {c.name for c in table(one).columns if c.optional}
            needed = {*columns} - optional - {"fingerprint"}
            if lost := kept.tables.absent(one) & needed:
                raise DumpError(
                    f"{one}.parquet has no column {min(lost)}; export it again",
                    path=what,
                )
        return of_tables(
            kept.name,
            kept.tables,
            format_name=kept.format_name or None,
            identity=kept.identity,
            incomplete=kept.incomplete,
            runtime=kept.runtime,
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DumpError(f"tables that cannot be read: {reason}", path=what) from error


def known_objects(tables: HeapTables) -> pl.DataFrame | None:
    """The reachable objects of a dump that have an identity.

    Columns: ``first`` and ``second``, which together identify an object; ``type`` and
    ``path``, rows of their tables; and ``shallow_bytes``. Where ids last, or hash codes
    are unique, ``first`` is one of these, ``second`` a number for the type of the
    object, and ``text`` a digest of its text, or 0.

    Memory: 32 to 40 bytes an object.

    Args:
        tables: Tables of a heap; those of its paths must have the row of each object.

    Returns:
        ``None`` if the format records no identity.
    """
    graph, origins = tables.graph, tables.metrics.origins
    row = tables.merged["dominators"].row
    assert row is not None
    count = graph.object_count
    columns = {
        "type": graph.type_index[:count],
        "path": row[:count],
        "shallow_bytes": graph.shallow_bytes[:count],
    }
    if origins is not None and graph.history is not None:
        numbers = [one.number for one in graph.history.collections]
        found = pl.DataFrame(
            {"first": origins.known_since, "second": origins.known_at, **columns}
        ).filter(pl.col("first") >= 0, pl.col("path") >= 0)
        return found.with_columns(
            pl.col("first").replace_strict(
                dict(enumerate(numbers)), return_dtype=pl.Int64
            )
        )
    identity = identities(graph)
    if identity is not None:
        if named(graph.runtime).identified_by:
            columns["text"] = _text_digests(graph.values, count)
        names = pl.Series([_number(name) for name in graph.type_names], dtype=pl.UInt64)
        found = pl.DataFrame({"first": identity[:count], **columns}).filter(
            pl.col("first") != 0, pl.col("path") >= 0
        )
        # Two objects can have the same hash code.
        return found.with_columns(second=names.gather(found["type"])).unique(
            ("first", "second"), keep="none"
        )
    return None


def identities(graph: HeapGraph) -> NDArray[np.int64] | None:
    """int64: what identifies an object in all dumps of its process; 0 for nothing.

    Returns:
        ``None`` if the format records no identity.
    """
    lasting = named(graph.runtime).lasting_ids
    if graph.identity_hash is None and lasting is not None:
        return np.where(lasting(graph.object_id), graph.object_id, 0).view("int64")
    return graph.identity_hash


def _number(type_name: str) -> int:
    """A 64-bit number that is the same for the same type in other dumps."""
    name = normalised_type(type_name).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


def with_objects_at_the_ends(dumps: Iterable[Dump]) -> list[ComparedDump]:
    """The columns of each dump; only the first and the last with objects."""
    found: list[ComparedDump] = []
    for dump in dumps:
        if len(found) > 1:
            found[-1] = replace(found[-1], objects=None)
        found.append(of_dump(dump, objects=True))
    return found


_FEW_IN_COMMON = 0.2
"""Share of common types, of the dump that has fewer."""


def notes_on_order(dumps: Sequence[ComparedDump]) -> Iterator[str]:
    """Notes on dumps that seem to be older than the one before."""
    for before, after in pairwise(dumps):
        if why := _why_reversed(before.taken, after.taken):
            yield (
                f"{after.name} seems to be older than {before.name}, which comes "
                f"before it: {why}. Give the dumps in the order in which they were "
                "taken."
            )


def _why_reversed(before: Taken, after: Taken) -> str:
    """What says that two dumps are in reversed order; empty if nothing does."""
    for one, other, apart, why in (
        (before.clock_ms, after.clock_ms, 1, "so says the clock in them"),
        (before.file_ms, after.file_ms, _SOONEST_MS, "its file was written earlier"),
    ):  # fmt: skip
        if one is not None and other is not None and one != other:
            return why if one - other >= apart else ""
    return ""


def notes_on(dumps: Sequence[ComparedDump]) -> Iterator[str]:
    """Notes on dumps that are incomplete, empty, repeated, or of other programs."""
    for dump in dumps:
        if dump.incomplete:
            yield incomplete_note(dump.name, dump.incomplete)
    formats = list(dict.fromkeys(d.format_name for d in dumps if d.format_name))
    if len(formats) > 1:
        yield (
            f"These are dumps of different formats ({', '.join(formats)}): objects of "
            "the runtime, sizes and roots differ for that reason too."
        )
    for at, dump in enumerate(dumps):
        for other in dumps[:at]:
            if dump.identity is not None and dump.identity == other.identity:
                yield f"{other.name} and {dump.name} are the same dump."
    for dump in dumps:
        if not dump.reachable_count:
            yield f"{dump.name} has no reachable objects."
    first, last = (dump.totals.keys() for dump in (dumps[0], dumps[-1]))
    if (
        first
        and last
        and len(first & last) < _FEW_IN_COMMON * min(map(len, (first, last)))
    ):
        yield (
            f"{dumps[0].name} and {dumps[-1].name} have {len(first & last):,} of "
            f"{min(len(first), len(last)):,} types in common: they seem to be of "
            "different programs. Only what they share is compared."
        )


@kernel
def _digest(row: Ints, kind: Bytes, start: Longs, content: Bytes, digest: Ids) -> None:
    """Fill ``digest`` where the value is a text, never with 0."""
    for i in range(len(row)):
        if kind[i] > _UTF16:
            continue
        found = fnv1a(content, start[i], start[i + 1], FNV_OFFSET)
        digest[row[i]] = found | np.uint64(1)


def _text_digests(values: ObjectValues | None, object_count: int) -> Ids:
    """uint64 (N,): a digest of each object that is a text; 0 for others."""
    digest = np.zeros(object_count, np.uint64)
    if values is not None:
        _digest(values.object_index, values.kind, values.start, values.content, digest)
    return digest
