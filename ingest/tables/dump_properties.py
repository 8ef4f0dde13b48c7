"""Properties of the Dump node: one row each.

An export has some of them too, in its table `EXPORTED` of one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.heap.graph import RefKind
from ingest.runtimes import RUNTIMES
from ingest.tables.column import FLAG, INT64, TEXT, TEXTS, TIME, Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

# fmt: off
DUMP_PROPERTIES = (
    Column("number", INT64, "what queries find in `$dump`"),
    Column("name", TEXT, "what `--dump` takes"),
    Column("state", TEXT, "`loading`, `ready` or `dropping`"),
    Column("format", TEXT, "name of the format", lambda heap: heap.graph.format_name),
    Column("runtime", TEXT,
        "runtime of the program: "
        f"{', '.join(f'`{one.name}`' for one in RUNTIMES)}; absent where that is not "
        "known", lambda heap: heap.graph.runtime or None, absent=None),
    Column("source", TEXT, "name of the file"),
    Column("sha256", TEXT, "digest of the decompressed file"),
    Column("trace", TEXT,
        "equal for the dumps of one process in one file; absent if a file of the "
        "format has only one dump", absent=None),
    Column("part", INT64,
        "number of the dump in its file, as `--part` takes it; absent if a file of "
        "the format has only one dump", absent=None),
    Column("producer", TEXT, "what wrote the dump", lambda heap: heap.graph.producer),
    Column("notes", TEXTS, "what the reader inferred, such as the layout of objects",
        lambda heap: list(heap.graph.notes) or None, absent=None),
    Column("object_count", INT64, "objects in the dump",
        lambda heap: heap.graph.object_count),
    Column("missing_count", INT64,
        "placeholders for objects that are not in the dump",
        lambda heap: heap.graph.missing_count),
    Column("type_count", INT64, "types, declared in the dump or synthesized",
        lambda heap: len(heap.graph.type_names)),
    Column("root_count", INT64, "roots, including weak ones",
        lambda heap: len(heap.graph.root_object)),
    Column("weak_root_count", INT64, "weak roots", lambda heap: heap.roots.weak_count),
    Column("reference_count", INT64, "references, without null references",
        lambda heap: heap.graph.reference_count),
    Column("null_reference_count", INT64, "null references",
        lambda heap: heap.graph.null_reference_count),
    Column("shallow_bytes", INT64, "shallow size of all objects",
        lambda heap: int(heap.graph.shallow_bytes.sum())),
    Column("reachable_count", INT64, "objects reachable from a root",
        lambda heap: heap.metrics.reachable_count),
    Column("reachable_bytes", INT64, "shallow size of those",
        lambda heap: heap.metrics.reachable_bytes),
    Column("warning_count", INT64, "irregularities found while reading the dump",
        lambda heap: sum(found.count for found in heap.graph.irregularities)),
    Column(
        "warnings",
        TEXTS,
        "each kind of irregularity with its count and first line",
        lambda heap: [
            f"{found.kind.replace('_', ' ')}: {found.count}{found.place}"
            for found in heap.graph.irregularities
        ]
        or None,
        absent=None,
    ),
    Column("incomplete", TEXT,
        "why the dump is not the whole heap, such as that its file ends too early; "
        "absent if nothing speaks against it",
        lambda heap: heap.graph.incomplete or None, absent=None),
    Column("metadata_bytes", INT64,
        "reachable bytes of the runtime's metadata: classes, code, scripts",
        lambda heap: heap.findings.metadata_bytes),
    Column("smaller_groups", TEXTS,
        "groups of the program's own objects that are no suspects, in sentences",
        lambda heap: [one.sentence for one in heap.findings.smaller] or None,
        absent=None),
    Column("smaller_addresses", TEXTS,
        "of each of these, the address of the object that retains most",
        lambda heap: [
            heap.graph.address(one.object_index) for one in heap.findings.smaller
        ] or None, absent=None),
    Column("strength_policy", TEXT,
        "which weaker references hold their target: `strongest`, where nothing "
        "stronger does, or `mat`, all", lambda heap: str(heap.metrics.policy)),
    Column("read_options", TEXT,
        "options that the dump was read with and that change what is recorded, as in a "
        "command; absent if there were none", lambda heap: heap.options or None,
        absent=None),
    Column("soft_only_count", INT64,
        "reachable objects that nothing stronger than a soft reference holds",
        lambda heap: heap.metrics.count_by_strength[RefKind.SOFT]),
    Column("soft_only_bytes", INT64, "shallow size of those",
        lambda heap: heap.metrics.bytes_by_strength[RefKind.SOFT]),
    Column("weak_only_count", INT64,
        "reachable objects that nothing stronger than a weak reference holds",
        lambda heap: heap.metrics.weak_only_count),
    Column("weak_only_bytes", INT64, "shallow size of those",
        lambda heap: heap.metrics.weak_only_bytes),
    Column("external_bytes", INT64,
        "memory outside the heap that is freed with its objects",
        lambda heap: heap.graph.external_bytes),
    Column("estimated_count", INT64,
        "estimated objects in the process, if the dump is a sample",
        lambda heap: heap.heap_estimates.get("estimated_count"), absent=None),
    Column("estimated_bytes", INT64, "estimated shallow size of those",
        lambda heap: heap.heap_estimates.get("estimated_bytes"), absent=None),
    Column("field_value_count", INT64,
        "values of fields that were kept; absent if `--values` did not ask for any",
        lambda heap: None if (known := heap.graph.field_values) is None
        else len(known.bits), absent=None),
    Column("folded_count", INT64, "internal objects of the runtime that are left out",
        lambda heap: heap.graph.folded.object_count),
    Column("folded_bytes", INT64, "shallow size of those",
        lambda heap: heap.graph.folded.shallow_bytes),
    Column("folded_reference_count", INT64, "references from or to them",
        lambda heap: heap.graph.folded.reference_count),
    Column("collection_number", INT64,
        "number of the garbage collection during which the dump was taken",
        lambda heap: heap.regions.dump_collection, absent=None),
    Column("last_object_id", INT64,
        "highest id of its objects, or identity hash code, where these last as long "
        "as the process; in the order of these its dumps were taken",
        lambda heap: heap.last_object_id, absent=None),
    Column("loaded_at", TIME, "when the load wrote the dump", absent=None),
    Column("loading_since", TIME, "when the load began"),
    Column("loader", TEXT, "host and process of the load", absent=None),
    Column("heartbeat", TIME, "last sign of life of the load", absent=None),
    Column("exclusive", FLAG, "true during a bulk load, else absent", absent=None),
    Column("redacted", FLAG, "true if values were removed by `--redact`, else absent",
        lambda heap: heap.graph.is_redacted or None, absent=None),
    Column("tool_version", TEXT, "version of heaproots"),
)

_OF_STORE = {
    "number", "state", "loaded_at", "loading_since", "loader", "heartbeat", "exclusive",
}  # fmt: skip
"""Properties that only a database has."""

EXPORTED = Table(
    "dump",
    "the dump: one row",
    lambda _: 1,
    tuple(column for column in DUMP_PROPERTIES if column.name not in _OF_STORE),
    of_nodes=False,
)
"""What an export tells about its dump as a whole. `dump_row` makes its row of what the
heap knows and what the exporting command knows."""


def dump_row(properties: Mapping[str, object]) -> pl.DataFrame:
    """The row of `EXPORTED`; columns that are not among the properties are null."""
    import polars as pl

    schema = EXPORTED.schema
    return pl.DataFrame(
        {name: [properties.get(name)] for name in schema.names()}, schema=schema
    )
