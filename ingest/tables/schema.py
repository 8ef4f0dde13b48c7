"""The graph, as one table: labels, relationships, properties, types and units.

Constraints, indexes, the rows that are written, the README's tables and the
query linter all follow from here. To add a property: a row here or in
`ingest.tables.labels`, and its column in `ingest.tables.columns` and
`ingest.tables.heap_tables`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingest.tables.labels import INT, KEY_BITS, LABELS, STR, Label, Property

__all__ = [
    "KEY_BITS",
    "LABELS",
    "LINKS",
    "RELATIONSHIPS",
    "SIZES",
    "Label",
    "Link",
    "Property",
    "Relationship",
]


@dataclass(frozen=True, slots=True)
class Relationship:
    """One relationship type between two labels.

    Attributes:
        table: The table of `ingest.tables.columns` whose rows are its relationships.
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


_FIELD = Property("field", STR, "the field; `[i]` for element or variable i", True)

RELATIONSHIPS: tuple[Relationship, ...] = (
    Relationship(
        "HAS_DOMAIN", "Dump", "Domain", "the dump's domains", "domains", None, "ordinal"
    ),
    Relationship(
        "HAS_SEGMENT",
        "Dump",
        "Segment",
        "the segments of its heap",
        "segments",
        None,
        "ordinal",
    ),
    Relationship(
        "HAS_GENERATION",
        "Dump",
        "Generation",
        "objects by their age",
        "generations",
        None,
        "generation",
    ),
    Relationship(
        "HAS_COLLECTION",
        "Dump",
        "GarbageCollection",
        "collections of its trace",
        "collections",
        None,
        "collection",
    ),
    Relationship(
        "FOLLOWED_BY",
        "GarbageCollection",
        "GarbageCollection",
        "the next one",
        "collections",
        "collection",
        "next",
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
        properties=(Property("reference_count", INT, "how many"),),
    ),
    Relationship(
        "HAS_ALLOCATION_SITE",
        "Dump",
        "AllocationSite",
        "where its objects come from",
        "allocation_sites",
        None,
        "site",
    ),
    Relationship(
        "ALLOCATED_AT",
        "Object",
        "AllocationSite",
        "where the object comes from",
        "objects",
        "object",
        "site",
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


@dataclass(frozen=True, slots=True)
class Link:
    """One relationship type from a dump to a later one of the same trace.

    Attributes:
        label: Of the nodes at both ends.
        equal: Their properties that are the same, the one with an index first.
    """

    name: str
    label: str
    meaning: str
    equal: tuple[str, ...]


LINKS: tuple[Link, ...] = (
    Link(
        "SURVIVED_AS",
        "Object",
        "the same object in another dump of the trace, a later one",
        ("known_at", "known_since_gc"),
    ),
)
"""They follow from the nodes, and belong to no dump: whatever writes or removes dumps
makes or removes them too."""

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
    for link in LINKS:
        ends = f"(:{link.label})-[:{link.name}]->(:{link.label})"
        lines.append(f"| `{ends}` | {link.meaning} |")
    return "\n".join(lines) + "\n"
