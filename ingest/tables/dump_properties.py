"""Properties of the Dump node: one row each."""

from __future__ import annotations

from ingest.tables.column import FLAG, INT64, TEXT, TEXTS, TIME, Column

DUMP_PROPERTIES = (
    Column("number", INT64, "what queries find in `$dump`"),
    Column("name", TEXT, "what `--dump` takes", free_text=True),
    Column("state", TEXT, "`loading`, `ready` or `dropping`"),
    Column("format", TEXT, "name of the format", lambda heap: heap.graph.format_name),
    Column("source", TEXT, "name of the file", free_text=True),
    Column("sha256", TEXT, "digest of the decompressed file"),
    Column(
        "trace",
        TEXT,
        "equal for the dumps of one process in one file; absent where files of the "
        "format have one dump",
        absent=None,
    ),
    Column(
        "part",
        INT64,
        "number of the dump in its file, as `--part` takes it; likewise",
        absent=None,
    ),
    Column(
        "producer",
        TEXT,
        "what wrote the dump",
        lambda heap: heap.graph.producer,
        free_text=True,
    ),
    Column(
        "object_count",
        INT64,
        "objects in the dump",
        lambda heap: heap.graph.object_count,
    ),
    Column(
        "missing_count",
        INT64,
        "placeholders for objects that are not in the dump",
        lambda heap: heap.graph.missing_count,
    ),
    Column(
        "type_count",
        INT64,
        "types, declared in the dump or synthesized",
        lambda heap: len(heap.graph.type_names),
    ),
    Column(
        "root_count",
        INT64,
        "roots, including weak ones",
        lambda heap: len(heap.graph.root_object),
    ),
    Column(
        "weak_root_count",
        INT64,
        "weak roots",
        lambda heap: heap.weak_root_count,
    ),
    Column(
        "reference_count",
        INT64,
        "references, without null references",
        lambda heap: heap.graph.reference_count,
    ),
    Column(
        "null_reference_count",
        INT64,
        "null references",
        lambda heap: heap.graph.null_reference_count,
    ),
    Column(
        "shallow_bytes",
        INT64,
        "shallow size of all objects",
        lambda heap: int(heap.graph.shallow_bytes.sum()),
    ),
    Column(
        "reachable_count",
        INT64,
        "objects reachable from a strong root",
        lambda heap: heap.metrics.reachable_count,
    ),
    Column(
        "reachable_bytes",
        INT64,
        "shallow size of those",
        lambda heap: heap.metrics.reachable_bytes,
    ),
    Column(
        "warning_count",
        INT64,
        "irregularities found while reading the dump",
        lambda heap: sum(found.count for found in heap.graph.irregularities),
    ),
    Column(
        "warnings",
        TEXTS,
        "each kind of irregularity with its count and first line",
        lambda heap: [
            f"{found.kind}: {found.count}{found.place}"
            for found in heap.graph.irregularities
        ],
        free_text=True,
    ),
    Column(
        "weak_only_count",
        INT64,
        "objects that are only weakly reachable",
        lambda heap: heap.metrics.weak_only_count,
    ),
    Column(
        "weak_only_bytes",
        INT64,
        "shallow size of those",
        lambda heap: heap.metrics.weak_only_bytes,
    ),
    Column(
        "external_bytes",
        INT64,
        "memory outside the heap that is freed with its objects",
        lambda heap: heap.graph.external_bytes,
    ),
    Column(
        "estimated_count",
        INT64,
        "estimated objects in the process, if the dump is a sample",
        lambda heap: heap.heap_estimates.get("estimated_count"),
        absent=None,
    ),
    Column(
        "estimated_bytes",
        INT64,
        "estimated shallow size of those",
        lambda heap: heap.heap_estimates.get("estimated_bytes"),
        absent=None,
    ),
    Column(
        "folded_count",
        INT64,
        "internal objects of the runtime that are left out",
        lambda heap: heap.graph.folded.object_count,
    ),
    Column(
        "folded_bytes",
        INT64,
        "shallow size of those",
        lambda heap: heap.graph.folded.shallow_bytes,
    ),
    Column(
        "folded_reference_count",
        INT64,
        "references from or to them",
        lambda heap: heap.graph.folded.reference_count,
    ),
    Column(
        "collection_number",
        INT64,
        "number of the garbage collection during which the dump was taken",
        lambda heap: heap.regions.dump_collection,
        absent=None,
    ),
    Column("loaded_at", TIME, "when the load ended", absent=None),
    Column("loading_since", TIME, "when the load began"),
    Column("loader", TEXT, "host and process of the load", absent=None, free_text=True),
    Column("heartbeat", TIME, "last sign of life of the load", absent=None),
    Column("exclusive", FLAG, "true during a bulk load, else absent", absent=None),
    Column("tool_version", TEXT, "version of heaproots"),
)
