"""The labels of the graph and their properties: half of `ingest.tables.schema`."""

from __future__ import annotations

from dataclasses import dataclass

KEY_BITS = 40
"""A node's key is dump number x 2^40 + its index within the dump and label."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property.

    Attributes:
        name: With its unit, snake_case.
        type: Cypher's name of the type.
        meaning: One line for the reader of the schema.
        optional: Whether it can be absent.
    """

    name: str
    type: str
    meaning: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """One node label.

    Attributes:
        table: The table of `ingest.tables.columns` whose rows are its nodes; ``None``
            for Dump, which is no row. But for key and dump, the properties are
            columns of the same names.
        unique: Properties that are unique each for itself.
        indexes: Range indexes, each a tuple of properties. Each is populated in
            full after a bulk load, so there are few.
    """

    name: str
    meaning: str
    table: str | None
    properties: tuple[Property, ...]
    unique: tuple[str, ...] = ("key",)
    indexes: tuple[tuple[str, ...], ...] = ()


_KEY = Property("key", "INTEGER", "dump number x 2^40 + index; unique in its label")
_DUMP = Property("dump", "INTEGER", "number of the dump it belongs to")
INT, STR, BOOL = "INTEGER", "STRING", "BOOLEAN"

LABELS: tuple[Label, ...] = (
    Label(
        "Dump",
        "one loaded dump, and the super-root above all its roots",
        None,
        (
            Property("number", INT, "what queries find in `$dump`"),
            Property("name", STR, "what `--dump` takes"),
            Property("state", STR, "`loading`, `ready` or `dropping`"),
            Property("format", STR, "name of the reader"),
            Property("source", STR, "file name as it was given"),
            Property(
                "sha256",
                STR,
                "digest of the decompressed file; which dump of it, if it has several",
            ),
            Property("producer", STR, "what wrote the dump"),
            Property("object_count", INT, "objects in the dump"),
            Property("missing_count", INT, "placeholders for objects not in it"),
            Property("type_count", INT, "types, declared or synthesised"),
            Property("root_count", INT, "roots, weak ones included"),
            Property("weak_root_count", INT, "roots that keep nothing alive"),
            Property("reference_count", INT, "references, nulls left out"),
            Property("null_reference_count", INT, "references to nothing"),
            Property("shallow_bytes", INT, "bytes of all objects"),
            Property("reachable_count", INT, "objects a strong root reaches"),
            Property("reachable_bytes", INT, "bytes of those"),
            Property("warning_count", INT, "irregularities the reader met"),
            Property("warnings", "LIST<STRING>", "each kind, its count, first line"),
            Property(
                "weak_only_count",
                INT,
                "objects that nothing but weak references still sees",
            ),
            Property("weak_only_bytes", INT, "bytes of those"),
            Property(
                "external_bytes", INT, "memory outside the heap that goes with it"
            ),
            Property(
                "estimated_count", INT, "objects of the heap, if this is a sample", True
            ),
            Property("estimated_bytes", INT, "bytes of those", True),
            Property("folded_count", INT, "objects left out: the runtime's own"),
            Property("folded_bytes", INT, "bytes of those"),
            Property("folded_reference_count", INT, "references from or to them"),
            Property(
                "collection_number",
                INT,
                "number of the collection that the dump is what it found",
                True,
            ),
            Property("loaded_at", "ZONED DATETIME", "when the load ended", True),
            Property("loading_since", "ZONED DATETIME", "when the load began"),
            Property("loader", STR, "host and process of the load", True),
            Property(
                "heartbeat", "ZONED DATETIME", "the load's last sign of life", True
            ),
            Property("exclusive", BOOL, "true while a bulk load goes on", True),
            Property("tool_version", STR, "version of heaproots"),
        ),
        unique=("number", "name"),
        indexes=(("sha256",),),
    ),
    Label(
        "Domain",
        "an application domain of the dump",
        "domains",
        (
            _KEY,
            _DUMP,
            Property("ordinal", INT, "its place in the dump, from 0"),
            Property("name", STR, "empty for records outside any domain"),
            Property("started_ms", INT, "device's clock, ms since boot", True),
            Property("ended_ms", INT, "the same at the end", True),
            Property("duration_ms", INT, "from start to end, ms", True),
            Property("complete", BOOL, "whether the dump closed it"),
            Property("object_count", INT, "objects in it"),
            Property("shallow_bytes", INT, "bytes of those"),
            Property("reachable_bytes", INT, "bytes that a strong root reaches"),
        ),
    ),
    Label(
        "Type",
        "a type of one dump",
        "types",
        (
            _KEY,
            _DUMP,
            Property("name", STR, "as the runtime spells it"),
            Property("namespace", STR, "its namespace or library"),
            Property("domain", INT, "ordinal of the domain that declares it"),
            Property("instance_count", INT, "objects of it"),
            Property("reachable_count", INT, "of those, reached by a strong root"),
            Property("shallow_bytes", INT, "bytes of its instances"),
            Property("reachable_bytes", INT, "bytes of the reached ones"),
            Property("retained_bytes", INT, "bytes that go if all its instances go"),
            Property(
                "top_count", INT, "instances that nothing but the roots dominates"
            ),
            Property("top_retained_bytes", INT, "retained bytes of those, summed"),
            Property("top_address", STR, "address of the largest of those", True),
            Property(
                "estimated_count",
                INT,
                "objects of it in the heap, if the dump is a sample",
                True,
            ),
            Property("estimated_bytes", INT, "bytes of those", True),
            Property(
                "fields",
                STR,
                "names of the fields that refer to something, one blank between",
                True,
            ),
            Property(
                "value_kind",
                STR,
                "what its instances hold beside references: `string`, `name`, "
                "`integer`, `double`, `boolean`",
                True,
            ),
        ),
        # No index by name: a name can be longer than an index takes, and one dump
        # has few types.
        indexes=(("dump",),),
    ),
    Label(
        "Object",
        "an object of the dump, or a placeholder for one that is missing",
        "objects",
        (
            _KEY,
            _DUMP,
            Property("address", STR, "hexadecimal, as a debugger prints it"),
            Property("type_name", STR, "short name of its type, for captions"),
            Property("shallow_bytes", INT, "its own bytes"),
            Property(
                "retained_bytes",
                INT,
                "bytes that go if it goes; 0 where no strong root reaches it",
            ),
            Property("retained_count", INT, "objects that go with it, itself too"),
            Property(
                "root_distance",
                INT,
                "references from the nearest strong root, 1 if a root itself; "
                "absent where no strong root reaches it",
                True,
            ),
            Property("missing", BOOL, "true on placeholders, else absent", True),
            Property(
                "weakly_referenced",
                BOOL,
                "true where a weak reference of an object sees it, else absent",
                True,
            ),
            Property(
                "domain", INT, "ordinal of its domain; absent where there is one", True
            ),
            Property(
                "value",
                STR,
                "text, number or name that it holds; texts are cut at 128 characters",
                True,
            ),
            Property(
                "length",
                INT,
                "elements of a list or map, code units of a string",
                True,
            ),
            Property(
                "external_bytes",
                INT,
                "memory outside the heap that goes with it",
                True,
            ),
            Property("external_name", STR, "what that memory is", True),
            Property(
                "identity_hash",
                INT,
                "equal in two dumps of one process for one object; not unique",
                True,
            ),
            Property(
                "generation",
                INT,
                "0, 1 or 2; 3 for large objects, 4 for pinned ones",
                True,
            ),
            Property("segment", INT, "ordinal of its segment", True),
            Property(
                "born_in_gc",
                INT,
                "number of the first collection after its allocation; absent where it "
                "was there before the trace",
                True,
            ),
            Property(
                "collections_survived",
                INT,
                "collections of the trace that looked at it and left it alive",
                True,
            ),
            Property(
                "known_since_gc",
                INT,
                "number of the collection that first tells of it",
                True,
            ),
            Property(
                "known_at",
                STR,
                "its address when that one began; the same in every dump of the "
                "trace to which it could be followed",
                True,
            ),
            Property(
                "allocated_ms",
                INT,
                "the log's clock at its allocation, milliseconds",
                True,
            ),
        ),
        indexes=(
            ("dump", "retained_bytes"),
            ("dump", "address"),
            ("dump", "weakly_referenced"),
            ("dump", "external_bytes"),
            ("dump", "generation"),
            ("dump", "segment"),
            ("dump", "collections_survived"),
            ("dump", "known_at"),
        ),
    ),
    Label(
        "Root",
        "one reason of the collector to keep an object",
        "roots",
        (
            _KEY,
            _DUMP,
            Property(
                "kind",
                STR,
                "`internal`, `local`, `finalizer_queue`, `handle`, `static`, "
                "`runtime`, `other`",
            ),
            Property("pinned", BOOL, "the object may not be moved"),
            Property("weak", BOOL, "does not keep alive"),
            Property("interior", BOOL, "points into the object"),
            Property("name", STR, "all that in words: `static root in GameEvents`"),
            Property("field", STR, "the static field's name", True),
            Property("owner", STR, "the isolate or thread that has it", True),
        ),
        indexes=(("dump",),),
    ),
    Label(
        "Segment",
        "a part of the heap that lies in one piece",
        "segments",
        (
            _KEY,
            _DUMP,
            Property("ordinal", INT, "its place by address, from 0"),
            Property("name", STR, "its kind and ordinal, for captions"),
            Property("kind", STR, "`ephemeral`, `gen2`, `loh`, `poh` or `unknown`"),
            Property("start", STR, "first address, hexadecimal"),
            Property("end", STR, "address behind its last object"),
            Property("reserved_end", STR, "behind its reserved memory", True),
            Property("used_bytes", INT, "from start to end"),
            Property("object_count", INT, "objects of the dump in it"),
            Property("shallow_bytes", INT, "bytes of those"),
            Property("reachable_bytes", INT, "bytes that a strong root reaches"),
        ),
    ),
    Label(
        "Generation",
        "objects of one age",
        "generations",
        (
            _KEY,
            _DUMP,
            Property("number", INT, "0, 1 or 2; 3 for large objects, 4 for pinned"),
            Property("name", STR, "such as `gen 2` or `large objects`"),
            Property("object_count", INT, "objects of the dump in it"),
            Property("shallow_bytes", INT, "bytes of those"),
            Property("reachable_count", INT, "of those, reached by a strong root"),
            Property("reachable_bytes", INT, "bytes of the reached ones"),
        ),
    ),
    Label(
        "GarbageCollection",
        "a collection of the trace that the dump was in",
        "collections",
        (
            _KEY,
            _DUMP,
            Property("number", INT, "the runtime's own"),
            Property("name", STR, "the number in words, for captions"),
            Property("generation", INT, "the highest that it collected", True),
            Property("reason", STR, "why it ran; empty if not told"),
            Property("mode", STR, "`blocking`, `background` or `foreground`"),
            Property("started_us", INT, "microseconds after the start of the trace"),
            Property("duration_us", INT, "how long it took, microseconds", True),
            Property("heap_bytes", INT, "size of the heap after it", True),
            Property("promoted_bytes", INT, "what outlived it", True),
            Property("moved_bytes", INT, "what it moved", True),
            Property("kept_bytes", INT, "what it left in place", True),
            Property("is_dump", BOOL, "whether the dump is what it found"),
            Property(
                "tells_survivors",
                BOOL,
                "whether it told all that outlived it; absent behind the dump",
                True,
            ),
        ),
    ),
    Label(
        "AllocationSite",
        "a place in the program that allocated objects of the dump",
        "allocation_sites",
        (
            _KEY,
            _DUMP,
            Property("name", STR, "the innermost function, for captions"),
            Property(
                "stack", STR, "the 32 innermost functions, ` < ` between two of them"
            ),
            Property("object_count", INT, "objects of the dump from it"),
            Property("shallow_bytes", INT, "bytes of those"),
            Property("reachable_count", INT, "of those, reached by a strong root"),
            Property("reachable_bytes", INT, "bytes of the reached ones"),
        ),
    ),
    Label(
        "TypePath",
        "objects whose ways from the top of a tree lead through the same types, merged",
        "type_paths",
        (
            _KEY,
            _DUMP,
            Property(
                "tree",
                STR,
                "`dominators`, or `root_paths`: the shortest ways, by kind of root",
            ),
            Property("name", STR, "short name of the type, or the kind of root"),
            Property("depth", INT, "steps from the top; 0 is the whole tree"),
            Property("object_count", INT, "objects merged here"),
            Property("shallow_bytes", INT, "bytes of those"),
            Property("total_count", INT, "those objects, and all further down"),
            Property("total_bytes", INT, "bytes of all of them"),
            Property("rest_count", INT, "of those, in smaller paths that are left out"),
            Property("rest_bytes", INT, "bytes of those"),
        ),
        indexes=(("dump",),),
    ),
)
