"""The graph, as one table: labels, relationships, properties, types and units.

Constraints, indexes, the rows that are written, the README's tables and the
query linter all follow from here. To add a property: a row here, and its
column in `ingest.store.columns` and `ingest.store.tables`.
"""

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
        table: The table of `ingest.store.columns` whose rows are its nodes; ``None``
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


@dataclass(frozen=True, slots=True)
class Relationship:
    """One relationship type between two labels.

    Attributes:
        table: The table of `ingest.store.columns` whose rows are its relationships.
        start_column, end_column: Its columns with the rows of the two nodes in
            their own tables; ``None`` as start is the Dump. Where either is null
            or negative, there is no relationship.
        where: A column and the value that it must have.
    """

    name: str
    start: str
    end: str
    meaning: str
    table: str
    start_column: str | None
    end_column: str
    where: tuple[str, bool | int] | None = None
    properties: tuple[Property, ...] = ()


_KEY = Property("key", "INTEGER", "dump number x 2^40 + index; unique in its label")
_DUMP = Property("dump", "INTEGER", "number of the dump it belongs to")
_INT, _STR, _BOOL = "INTEGER", "STRING", "BOOLEAN"

LABELS: tuple[Label, ...] = (
    Label(
        "Dump",
        "one loaded dump, and the super-root above all its roots",
        None,
        (
            Property("number", _INT, "what queries find in `$dump`"),
            Property("name", _STR, "what `--dump` takes"),
            Property("state", _STR, "`loading`, `ready` or `dropping`"),
            Property("format", _STR, "name of the reader"),
            Property("source", _STR, "file name as it was given"),
            Property("sha256", _STR, "digest of the decompressed file"),
            Property("producer", _STR, "what wrote the dump"),
            Property("object_count", _INT, "objects in the dump"),
            Property("missing_count", _INT, "placeholders for objects not in it"),
            Property("type_count", _INT, "types, declared or synthesised"),
            Property("root_count", _INT, "roots, weak ones included"),
            Property("weak_root_count", _INT, "roots that keep nothing alive"),
            Property("reference_count", _INT, "references, nulls left out"),
            Property("null_reference_count", _INT, "references to nothing"),
            Property("shallow_bytes", _INT, "bytes of all objects"),
            Property("reachable_count", _INT, "objects a strong root reaches"),
            Property("reachable_bytes", _INT, "bytes of those"),
            Property("warning_count", _INT, "irregularities the reader met"),
            Property("warnings", "LIST<STRING>", "each kind, its count, first line"),
            Property(
                "weak_only_count",
                _INT,
                "objects that nothing but weak references still sees",
            ),
            Property("weak_only_bytes", _INT, "bytes of those"),
            Property(
                "external_bytes", _INT, "memory outside the heap that goes with it"
            ),
            Property("folded_count", _INT, "objects left out: the runtime's own"),
            Property("folded_bytes", _INT, "bytes of those"),
            Property("folded_reference_count", _INT, "references from or to them"),
            Property("loaded_at", "ZONED DATETIME", "when the load ended", True),
            Property("loading_since", "ZONED DATETIME", "when the load began"),
            Property("loader", _STR, "host and process of the load", True),
            Property(
                "heartbeat", "ZONED DATETIME", "the load's last sign of life", True
            ),
            Property("exclusive", _BOOL, "true while a bulk load goes on", True),
            Property("tool_version", _STR, "version of heaproots"),
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
            Property("ordinal", _INT, "its place in the dump, from 0"),
            Property("name", _STR, "empty for records outside any domain"),
            Property("started_ms", _INT, "device's clock, ms since boot", True),
            Property("ended_ms", _INT, "the same at the end", True),
            Property("duration_ms", _INT, "from start to end, ms", True),
            Property("complete", _BOOL, "whether the dump closed it"),
            Property("object_count", _INT, "objects in it"),
            Property("shallow_bytes", _INT, "bytes of those"),
            Property("reachable_bytes", _INT, "bytes that a strong root reaches"),
        ),
    ),
    Label(
        "Type",
        "a type of one dump",
        "types",
        (
            _KEY,
            _DUMP,
            Property("name", _STR, "as the runtime spells it"),
            Property("namespace", _STR, "its namespace or library"),
            Property("domain", _INT, "ordinal of the domain that declares it"),
            Property("instance_count", _INT, "objects of it"),
            Property("reachable_count", _INT, "of those, reached by a strong root"),
            Property("shallow_bytes", _INT, "bytes of its instances"),
            Property("reachable_bytes", _INT, "bytes of the reached ones"),
            Property("retained_bytes", _INT, "bytes that go if all its instances go"),
            Property(
                "top_count", _INT, "instances that nothing but the roots dominates"
            ),
            Property("top_retained_bytes", _INT, "retained bytes of those, summed"),
            Property("top_address", _STR, "address of the largest of those", True),
            Property(
                "fields",
                _STR,
                "names of the fields that refer to something, one blank between",
                True,
            ),
            Property(
                "value_kind",
                _STR,
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
            Property("address", _STR, "hexadecimal, as a debugger prints it"),
            Property("type_name", _STR, "short name of its type, for captions"),
            Property("shallow_bytes", _INT, "its own bytes"),
            Property(
                "retained_bytes",
                _INT,
                "bytes that go if it goes; 0 where no strong root reaches it",
            ),
            Property("retained_count", _INT, "objects that go with it, itself too"),
            Property(
                "root_distance",
                _INT,
                "references from the nearest strong root, 1 if a root itself; "
                "absent where no strong root reaches it",
                True,
            ),
            Property("missing", _BOOL, "true on placeholders, else absent", True),
            Property(
                "weakly_referenced",
                _BOOL,
                "true where a weak reference of an object sees it, else absent",
                True,
            ),
            Property(
                "domain", _INT, "ordinal of its domain; absent where there is one", True
            ),
            Property(
                "value",
                _STR,
                "text, number or name that it holds; texts are cut at 128 characters",
                True,
            ),
            Property(
                "length",
                _INT,
                "elements of a list or map, code units of a string",
                True,
            ),
            Property(
                "external_bytes",
                _INT,
                "memory outside the heap that goes with it",
                True,
            ),
            Property("external_name", _STR, "what that memory is", True),
            Property(
                "identity_hash",
                _INT,
                "equal in two dumps of one process for one object; not unique",
                True,
            ),
        ),
        indexes=(
            ("dump", "retained_bytes"),
            ("dump", "address"),
            ("dump", "weakly_referenced"),
            ("dump", "external_bytes"),
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
                _STR,
                "`internal`, `local`, `finalizer_queue`, `handle`, `static`, "
                "`runtime`, `other`",
            ),
            Property("pinned", _BOOL, "the object may not be moved"),
            Property("weak", _BOOL, "does not keep alive"),
            Property("interior", _BOOL, "points into the object"),
            Property("name", _STR, "all that in words: `static root in GameEvents`"),
            Property("field", _STR, "the static field's name", True),
            Property("owner", _STR, "the isolate or thread that has it", True),
        ),
        indexes=(("dump",),),
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
                _STR,
                "`dominators`, or `root_paths`: the shortest ways, by kind of root",
            ),
            Property("name", _STR, "short name of the type, or the kind of root"),
            Property("depth", _INT, "steps from the top; 0 is the whole tree"),
            Property("object_count", _INT, "objects merged here"),
            Property("shallow_bytes", _INT, "bytes of those"),
            Property("total_count", _INT, "those objects, and all further down"),
            Property("total_bytes", _INT, "bytes of all of them"),
            Property(
                "rest_count", _INT, "of those, in smaller paths that are left out"
            ),
            Property("rest_bytes", _INT, "bytes of those"),
        ),
        indexes=(("dump",),),
    ),
)

_FIELD = Property("field", _STR, "the field; `[i]` for element or variable i", True)

RELATIONSHIPS: tuple[Relationship, ...] = (
    Relationship(
        "HAS_DOMAIN", "Dump", "Domain", "the dump's domains", "domains", None, "ordinal"
    ),
    Relationship(
        "HAS_ROOT",
        "Dump",
        "Root",
        "the dump's roots, weak ones too",
        "roots",
        None,
        "root",
    ),
    Relationship(
        "REFERENCES",
        "Root",
        "Object",
        "a strong root keeps its object",
        "roots",
        "root",
        "object",
        ("weak", False),
    ),
    Relationship(
        "WEAKLY_REFERENCES",
        "Root",
        "Object",
        "a weak root only sees it",
        "roots",
        "root",
        "object",
        ("weak", True),
    ),
    Relationship(
        "STATIC_IN",
        "Root",
        "Type",
        "the type with the static field",
        "roots",
        "root",
        "type",
    ),
    Relationship(
        "REFERENCES",
        "Object",
        "Object",
        "a strong reference; one each",
        "references",
        "source",
        "target",
        ("weak", False),
        (_FIELD,),
    ),
    Relationship(
        "WEAKLY_REFERENCES",
        "Object",
        "Object",
        "a weak reference",
        "references",
        "source",
        "target",
        ("weak", True),
        (_FIELD,),
    ),
    Relationship(
        "INSTANCE_OF",
        "Object",
        "Type",
        "the object's type",
        "objects",
        "object",
        "type",
    ),
    Relationship(
        "DOMINATES",
        "Object",
        "Object",
        "immediate dominator",
        "dominator_tree",
        "dominator",
        "object",
    ),
    Relationship(
        "DOMINATES",
        "Dump",
        "Object",
        "the top of the tree: nothing but the roots",
        "dominator_tree",
        None,
        "object",
        ("dominator", -1),
    ),
    Relationship(
        "REFERENCES_TYPE",
        "Type",
        "Type",
        "references between their instances, counted",
        "type_references",
        "source",
        "target",
        properties=(Property("reference_count", _INT, "how many"),),
    ),
    Relationship(
        "HAS_PATH",
        "Dump",
        "TypePath",
        "the tops of its merged trees",
        "type_paths",
        None,
        "path",
        ("depth", 0),
    ),
    Relationship(
        "CONTAINS",
        "TypePath",
        "TypePath",
        "one step further from the top",
        "type_paths",
        "parent",
        "path",
    ),
    Relationship(
        "OF_TYPE",
        "TypePath",
        "Type",
        "the type at its end",
        "type_paths",
        "path",
        "type",
    ),
)


SIZES: tuple[tuple[str, int], ...] = (("Retains1Percent", 1), ("Retains10Percent", 10))
"""Further labels of an Object by its share of the reachable bytes, in percent: Neo4j
Browser can draw a label larger, but not a property. At most `MOST_OF_A_SIZE` each."""

MOST_OF_A_SIZE = 1000


def label(name: str) -> Label:
    """The label of that name."""
    return next(entry for entry in LABELS if entry.name == name)


def markdown() -> str:
    """The schema as the README's tables."""
    lines = ["| label | property | type | meaning |", "| --- | --- | --- | --- |"]
    for entry in LABELS:
        lines.append(f"| **`{entry.name}`** | | | {entry.meaning} |")
        for column in entry.properties:
            kind = column.type + (", may be absent" if column.optional else "")
            lines.append(f"| | `{column.name}` | {kind} | {column.meaning} |")
    for name, percent in SIZES:
        what = f"also an Object that retains {percent} % of the reachable bytes or more"
        lines.append(f"| **`{name}`** | | | {what}; the largest {MOST_OF_A_SIZE:,} |")
    lines += ["", "| relationship | meaning |", "| --- | --- |"]
    for relation in RELATIONSHIPS:
        inner = ", ".join(f"{column.name}" for column in relation.properties)
        inner = f" {{{inner}}}" if inner else ""
        lines.append(
            f"| `(:{relation.start})-[:{relation.name}{inner}]->(:{relation.end})` "
            f"| {relation.meaning} |"
        )
    return "\n".join(lines) + "\n"
