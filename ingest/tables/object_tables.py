"""Tables of objects, types, roots and references: one row for each column.

To add a property of objects: a row here, and the column of `HeapGraph` that a reader
fills. All else follows: the Parquet column, the Neo4j property over Bolt and in bulk,
the README, and what the linter of queries knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.tables.column import FLAG, FLOAT, INT32, INT64, TEXT, Column, Table

if TYPE_CHECKING:
    from ingest.tables.derived import HeapColumns


def row_number(heap: HeapColumns) -> object:
    """Source of a table's row numbers."""
    return heap.row_number


# fmt: off
OBJECTS = Table(
    "objects",
    "objects in the order of the dump, then placeholders for missing ones",
    lambda heap: len(heap.graph.object_id),
    (
        Column("object", INT32, "row number, from 0", row_number, is_property=False),
        Column("address", TEXT, "hexadecimal, as a debugger prints it",
            lambda heap: heap.address),
        Column("type", INT32, "row of `types`; null for placeholders",
            lambda heap: heap.graph.type_index, absent=-1, is_property=False),
        Column("type_name", TEXT, "short name of its type, for captions",
            lambda heap: heap.type_name),
        Column("shallow_bytes", INT64, "size of the object itself",
            lambda heap: heap.graph.shallow_bytes),
        Column("retained_bytes", INT64,
            "bytes freed if it is freed; 0 if unreachable",
            lambda heap: heap.metrics.retained_bytes),
        Column("retained_count", INT64,
            "objects freed if it is freed, including itself; 0 if unreachable",
            lambda heap: heap.metrics.retained_count),
        Column(
            "root_distance",
            INT32,
            "length of the shortest path from a root, 1 if a root refers to it; "
            "absent if unreachable",
            lambda heap: heap.metrics.root_distance,
            absent=-1,
        ),
        Column("referrer_count", INT64,
            "references of roots and reachable objects that hold it; only of the "
            "10,000 objects with the most",
            lambda heap: heap.referrer_count, absent=None),
        Column("reference_count", INT64,
            "references from it that hold their target; only of the 10,000 reachable "
            "objects with the most",
            lambda heap: heap.reference_count, absent=None),
        Column("missing", FLAG, "true for placeholders, else absent",
            lambda heap: heap.missing, absent=False),
        Column("weakly_referenced", FLAG,
            "true if a reference weaker than strong refers to it, else absent",
            lambda heap: heap.weakly_referenced, absent=False),
        Column("strength", TEXT,
            "`soft`, `weak`, `finalizer` or `phantom` if nothing stronger holds it; "
            "absent if it is strongly reachable, or unreachable",
            lambda heap: heap.strength, absent=None),
        Column("domain", INT32,
            "ordinal of its domain; absent if the dump has only one",
            lambda heap: heap.graph.domain_index, absent=None),
        Column("value", TEXT,
            "its text, number or name; texts are cut at 128 characters",
            lambda heap: heap.value, absent=None),
        Column("length", INT64,
            "elements of a collection, UTF-16 code units of a string",
            lambda heap: heap.graph.length, absent=-1),
        Column("external_bytes", INT64,
            "memory outside the heap that is freed with it",
            lambda heap: heap.external_bytes, absent=None),
        Column("external_name", TEXT, "kind of that memory, as the runtime names it",
            lambda heap: heap.external_name, absent=None),
        Column("passing_id", FLAG,
            "true if nothing identifies it in other dumps of its process, but other "
            "objects, else absent",
            lambda heap: heap.passing_id, absent=False),
        Column("identity_hash", INT64,
            "the same in all dumps of one process; in Ruby and Mono of one object only",
            lambda heap: heap.graph.identity_hash, absent=0),
        Column("generation", INT32,
            "0, 1 or 2; 3 for large objects, 4 for pinned ones",
            lambda heap: heap.graph.generation, absent=-1),
        Column("space", TEXT, "part of the heap: `app`, `zygote` or `image` on Android",
            lambda heap: heap.space, absent=None),
        Column("segment", INT32, "ordinal of its segment",
            lambda heap: heap.graph.segment_index, absent=-1),
        Column("born_in_gc", INT64,
            "number of the first collection after its allocation, of a large object "
            "the earliest possible one; absent if it was allocated before the trace",
            lambda heap: heap.origins.born_in_gc, absent=None),
        Column("collections_survived", INT64,
            "collections of the trace that it survived",
            lambda heap: heap.origins.collections_survived, absent=None),
        Column("known_since_gc", INT64,
            "number of the first collection in which the trace records it",
            lambda heap: heap.origins.known_since_gc, absent=None),
        Column("known_at", TEXT,
            "its address when that collection began; the same in every dump of the "
            "trace in which it could be identified",
            lambda heap: heap.origins.known_at, absent=None),
        Column("allocated_ms", INT64,
            "time of its allocation, from the start of the log",
            lambda heap: heap.origins.allocated_ms, absent=None),
        Column("site", INT32, "row of `allocation_sites`; null if not recorded",
            lambda heap: heap.origins.site, absent=-1, is_property=False),
    ),
)

TYPES = Table(
    "types",
    "types, declared in the dump or synthesized",
    lambda heap: len(heap.graph.type_names),
    (
        Column("type", INT32, "row number, from 0", row_number, is_property=False),
        Column("name", TEXT, "full name, as the runtime spells it",
            lambda heap: heap.type_names),
        Column("caption", TEXT, "short name, unlike those of all other types",
            lambda heap: heap.type_captions),
        Column("namespace", TEXT, "its namespace or library",
            lambda heap: heap.namespaces),
        Column("domain", INT32, "ordinal of the domain that declares it",
            lambda heap: heap.graph.type_domain),
        Column("instance_count", INT64, "instances in the dump",
            lambda heap: heap.metrics.instance_count),
        Column("reachable_count", INT64, "instances reachable from a root",
            lambda heap: heap.metrics.type_reachable_count),
        Column("shallow_bytes", INT64, "shallow size of all instances",
            lambda heap: heap.metrics.type_shallow_bytes),
        Column("reachable_bytes", INT64, "shallow size of the reachable instances",
            lambda heap: heap.metrics.type_reachable_bytes),
        Column("retained_bytes", INT64, "bytes freed if all instances are freed",
            lambda heap: heap.metrics.type_retained_bytes),
        Column("top_count", INT64, "instances that no other object dominates",
            lambda heap: heap.metrics.type_top_count),
        Column("top_retained_bytes", INT64, "retained size of those, summed",
            lambda heap: heap.metrics.type_top_retained_bytes),
        Column("top_address", TEXT, "address of the one that retains most",
            lambda heap: heap.top_addresses, absent=None),
        Column("estimated_count", INT64,
            "estimated instances in the process, if the dump is a sample",
            lambda heap: heap.type_estimates.get("estimated_count"), absent=None),
        Column("estimated_bytes", INT64, "estimated shallow size of those",
            lambda heap: heap.type_estimates.get("estimated_bytes"), absent=None),
        Column("class_address", TEXT,
            "address of the object that describes it, such as a `java.lang.Class`",
            lambda heap: heap.type_addresses("type_object"), absent=None),
        Column("loader_address", TEXT, "address of its class loader",
            lambda heap: heap.type_addresses("type_loader"), absent=None),
        Column("fields", TEXT,
            "names of its fields that hold references, separated by blanks",
            lambda heap: heap.type_fields, absent=None),
        Column("value_kind", TEXT,
            "kind of value that its instances hold: `string`, `name`, `integer`, "
            "`double`, `boolean`", lambda heap: heap.value_kinds, absent=None),
    ),
)

SUPERTYPES = Table(
    "supertypes",
    "types and what they extend, where the dump records classes",
    lambda heap: len(heap.supertypes[0]),
    (
        Column("type", INT32, "row of `types`", lambda heap: heap.supertypes[0],
            is_property=False),
        Column("supertype", INT32, "row of `types`: what it directly extends",
            lambda heap: heap.supertypes[1], is_property=False),
    ),
    of_nodes=False,
)

ROOTS = Table(
    "roots",
    "roots, including weak ones",
    lambda heap: len(heap.graph.root_object),
    (
        Column("root", INT32, "row number, from 0", row_number, is_property=False),
        Column("object", INT32, "row of `objects`: the object it refers to",
            lambda heap: heap.graph.root_object, is_property=False),
        Column("type", INT32,
            "row of `types` that declares the static field, else null",
            lambda heap: heap.graph.root_type, absent=-1, is_property=False),
        Column("kind", TEXT,
            "`internal`, `local`, `finalizer_queue`, `handle`, `static`, `runtime`, "
            "`other`; of .NET also `thread_static`, `dependent_handle`; of the JVM "
            "also `jni_global`, `jni_local`, `java_frame`, "
            "`native_stack`, `system_class`, `thread`, `thread_block`, `monitor`, "
            "`interned_string`; `not_recorded` of what is alive and nothing in the "
            "file holds", lambda heap: heap.roots.kind),
        Column("pinned", FLAG, "whether the collector may not move the object",
            lambda heap: heap.roots.pinned),
        Column("weak", FLAG,
            "whether it is weak, so that it does not keep the object alive",
            lambda heap: heap.roots.weak),
        Column("holds", FLAG,
            "whether it holds the object: it is strong, or nothing stronger does",
            lambda heap: heap.roots.holds, is_property=False),
        Column("interior", FLAG,
            "whether it points into the object, not at its start",
            lambda heap: heap.roots.interior),
        Column("name", TEXT, "kind and static field: `static root in GameEvents`",
            lambda heap: heap.roots.name),
        Column("field", TEXT, "name of the static field",
            lambda heap: heap.roots.field, absent=None),
        Column("owner", TEXT, "isolate or thread that it belongs to",
            lambda heap: heap.roots.owner, absent=None),
        Column("frame", TEXT, "stack frame that has the local: `Main.run(Main.java:9)`",
            lambda heap: heap.roots.frame, absent=None),
        Column("frame_number", INT32, "number of that frame, 0 for the innermost",
            lambda heap: heap.roots.frame_number, absent=-1),
        Column("stack", TEXT,
            "stack of a thread, innermost frame first, separated by ` < `",
            lambda heap: heap.roots.stack, absent=None),
    ),
)

REFERENCES = Table(
    "references",
    "references by source; two from one object to another are two rows",
    lambda heap: heap.graph.reference_count,
    (
        Column("source", INT32, "row of `objects`",
            lambda heap: heap.reference_source, is_property=False),
        Column("target", INT32, "row of `objects`",
            lambda heap: heap.graph.ref_target, is_property=False),
        Column("holds", FLAG,
            "whether it holds the target: no path to the target is stronger than the "
            "best one through it",
            lambda heap: heap.reference_holds, is_property=False),
        Column("strength", TEXT,
            "`soft`, `weak`, `finalizer` or `phantom`; absent if strong",
            lambda heap: heap.reference_strength, absent=None),
        Column("field", TEXT, "name of the field; `[i]` for element or variable i",
            lambda heap: heap.reference_field, absent=None),
    ),
    of_nodes=False,
)

FIELD_VALUES = Table(
    "field_values",
    "values in fields of objects, of the types that `--values` named",
    lambda heap: 0 if heap.graph.field_values is None
    else len(heap.graph.field_values.bits),
    (
        Column("object", INT32, "row of `objects`",
            lambda heap: heap.valued_objects, is_property=False),
        Column("field", TEXT, "name of the field",
            lambda heap: heap.valued_fields, is_property=False),
        Column("integer", INT64, "its value, if that is an integer",
            lambda heap: heap.field_values("integer"), absent=None,
            is_property=False),
        Column("float", FLOAT, "its value, if that is a floating-point number",
            lambda heap: heap.field_values("double"), absent=None,
            is_property=False),
        Column("boolean", FLAG, "its value, if that is true or false",
            lambda heap: heap.field_values("boolean"), absent=None,
            is_property=False),
        Column("text", TEXT, "its value, if that is a character or a constant's name",
            lambda heap: heap.field_values("name"), absent=None,
            is_property=False),
    ),
    of_nodes=False,
)
