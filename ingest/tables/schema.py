"""The tables and the graph that they become: labels, relationships, links, sizes.

The columns are declared in `object_tables`, `analysis_tables`, `place_tables` and
`dump_properties`, one row each. Parquet columns, the rows that are written over Bolt,
import headers, constraints, the README and the linter of queries follow from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.tables.analysis_tables import (
    DOMINATOR_TREE,
    SUSPECTS,
    TYPE_PATHS,
    TYPE_REFERENCES,
)
from ingest.tables.column import KEY, Label, Link, Relationship
from ingest.tables.dump_properties import DUMP_PROPERTIES, EXPORTED
from ingest.tables.object_tables import (
    FIELD_VALUES,
    OBJECTS,
    REFERENCES,
    ROOTS,
    SUPERTYPES,
    TYPES,
)
from ingest.tables.place_tables import (
    ALLOCATION_SITES,
    COLLECTIONS,
    DOMAINS,
    GENERATIONS,
    SEGMENTS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.tables.column import Column, Table


KEY_BITS = 40
"""A node's key is dump number x 2^40 + its row number in the table of its label."""

TABLES: tuple[Table, ...] = (
    OBJECTS,
    TYPES,
    SUPERTYPES,
    ROOTS,
    REFERENCES,
    FIELD_VALUES,
    DOMINATOR_TREE,
    TYPE_REFERENCES,
    DOMAINS,
    SEGMENTS,
    GENERATIONS,
    COLLECTIONS,
    ALLOCATION_SITES,
    TYPE_PATHS,
    SUSPECTS,
)

# fmt: off
LABELS: tuple[Label, ...] = (
    Label("Dump", "a loaded dump, and the super-root above all its roots", None,
        DUMP_PROPERTIES, unique=("number", "name"), indexes=(("sha256",), ("trace",))),
    Label("Domain", "an application domain of the dump", DOMAINS),
    # No index by name: a name can be longer than an index takes, and one dump has
    # few types.
    Label("Type", "a type of one dump", TYPES, indexes=(("dump",),)),
    Label(
        "Object",
        "an object of the dump, or a placeholder for one that is missing",
        OBJECTS,
        indexes=(
            ("dump", "retained_bytes"),
            ("dump", "address"),
            ("dump", "referrer_count"),
            ("dump", "reference_count"),
            ("dump", "weakly_referenced"),
            ("dump", "strength"),
            ("dump", "external_bytes"),
            ("dump", "generation"),
            ("dump", "segment"),
            ("dump", "collections_survived"),
            ("dump", "known_at"),
            ("dump", "identity_hash"),
        ),
    ),
    Label("Root", "a garbage-collection root", ROOTS, indexes=(("dump",),)),
    Label("Segment", "a contiguous part of the heap", SEGMENTS),
    Label("Generation", "the objects of one generation", GENERATIONS),
    Label("GarbageCollection",
        "a garbage collection of the trace that contains the dump", COLLECTIONS),
    Label("AllocationSite", "a call stack that allocated objects of the dump",
        ALLOCATION_SITES),
    Label("TypePath",
        "objects whose paths from the top of a tree have the same types, merged",
        TYPE_PATHS, indexes=(("dump",), ("fingerprint",))),
    Label("Suspect",
        "a leak suspect: objects of one type that one holder keeps alive",
        SUSPECTS, indexes=(("fingerprint",),)),
)

RELATIONSHIPS: tuple[Relationship, ...] = (
    Relationship("HAS_DOMAIN", "Dump", "Domain", "the dump's domains", DOMAINS, None,
        "ordinal"),
    Relationship("HAS_SEGMENT", "Dump", "Segment", "the segments of its heap",
        SEGMENTS, None, "ordinal"),
    Relationship("HAS_GENERATION", "Dump", "Generation",
        "the generations of its heap", GENERATIONS, None, "generation"),
    Relationship("HAS_COLLECTION", "Dump", "GarbageCollection",
        "the collections of its trace", COLLECTIONS, None, "collection"),
    Relationship("FOLLOWED_BY", "GarbageCollection", "GarbageCollection",
        "the next collection", COLLECTIONS, "collection", "next"),
    Relationship("HAS_ROOT", "Dump", "Root", "the dump's roots, including weak ones",
        ROOTS, None, "root"),
    Relationship("REFERENCES", "Root", "Object", "the object that the root holds",
        ROOTS, "root", "object", ("holds", True)),
    Relationship("WEAKLY_REFERENCES", "Root", "Object",
        "the object of a weak root that something stronger holds", ROOTS, "root",
        "object", ("holds", False)),
    Relationship("STATIC_IN", "Root", "Type",
        "the type that declares the static field", ROOTS, "root", "type"),
    Relationship("REFERENCES", "Object", "Object",
        "a reference that holds its target; one relationship each", REFERENCES,
        "source", "target", ("holds", True)),
    Relationship("WEAKLY_REFERENCES", "Object", "Object",
        "a reference to what something stronger holds", REFERENCES, "source", "target",
        ("holds", False)),
    Relationship("INSTANCE_OF", "Object", "Type", "the object's type", OBJECTS,
        "object", "type"),
    Relationship("DOMINATES", "Object", "Object", "from the immediate dominator",
        DOMINATOR_TREE, "dominator", "object"),
    Relationship("DOMINATES", "Dump", "Object",
        "the top of the tree: objects that no other object dominates", DOMINATOR_TREE,
        None, "object", ("dominator", -1)),
    Relationship("REFERENCES_TYPE", "Type", "Type",
        "references between their instances, counted", TYPE_REFERENCES, "source",
        "target"),
    Relationship("EXTENDS", "Type", "Type",
        "a type that it directly extends, where the dump records classes", SUPERTYPES,
        "type", "supertype"),
    Relationship("HAS_ALLOCATION_SITE", "Dump", "AllocationSite",
        "where its objects were allocated", ALLOCATION_SITES, None, "site"),
    Relationship("ALLOCATED_AT", "Object", "AllocationSite",
        "where the object was allocated", OBJECTS, "object", "site"),
    Relationship("HAS_PATH", "Dump", "TypePath", "the tops of its merged trees",
        TYPE_PATHS, None, "path", ("depth", 0)),
    Relationship("CONTAINS", "TypePath", "TypePath",
        "a group one step further from the top", TYPE_PATHS, "parent", "path"),
    Relationship("OF_TYPE", "TypePath", "Type", "the type of the group's objects",
        TYPE_PATHS, "path", "type"),
    Relationship("HAS_SUSPECT", "Dump", "Suspect", "the dump's leak suspects",
        SUSPECTS, None, "suspect"),
    Relationship("SUSPECTS", "Suspect", "Object",
        "the object that retains most", SUSPECTS, "suspect",
        "object"),
    Relationship("ACCUMULATES_IN", "Suspect", "Object",
        "what they accumulate in, which may be the object itself", SUSPECTS, "suspect",
        "container"),
    Relationship("OF_TYPE", "Suspect", "Type",
        "the type of the object or of the group", SUSPECTS, "suspect", "type"),
)
# fmt: on

SURVIVED = Link(
    "SURVIVED_AS",
    "Object",
    "the same object in a later dump of the process",
)
CONTINUED = Link(
    "CONTINUED_AS",
    "Dump",
    "a later dump of the same process, into which its objects are followed",
)
LINKS: tuple[Link, ...] = (SURVIVED, CONTINUED)
"""They follow from the nodes and belong to no dump: a command that writes or removes
dumps makes or removes them, too."""

NEXT = Link("NEXT", "Dump", "the next loaded dump of the same program")
"""Made by `ingest.database.links` whenever a dump is loaded or dropped."""

SIZES: tuple[tuple[str, int], ...] = (("Retains1Percent", 1), ("Retains10Percent", 10))
"""Further labels of an Object by its share of the reachable bytes, in percent: Neo4j
Browser can draw a label larger, but not a property. At most `MAX_OF_A_SIZE` each."""

MAX_OF_A_SIZE = 1000

MOST, MAX_OF_MOST = "RetainsMost", 10_000
"""Label of the objects that retain more than all others of their dump, and the most it
can have. The first answers need only these, and find them by a small index."""


def table(name: str) -> Table:
    """The table of that name."""
    return next(entry for entry in (EXPORTED, *TABLES) if entry.name == name)


def label(name: str) -> Label:
    """The label of that name."""
    return next(entry for entry in LABELS if entry.name == name)


def markdown() -> str:
    """The graph as the README's tables."""
    lines = ["| label | property | type | meaning |", "| --- | --- | --- | --- |"]
    for entry in LABELS:
        lines.append(f"| **`{entry.name}`** | | | {entry.meaning} |")
        lines += ["| " + row for row in _rows(entry.properties, in_graph=True)]
    for name, percent in SIZES:
        what = f"also an Object that retains {percent} % of the reachable bytes or more"
        lines.append(f"| **`{name}`** | | | {what}; the largest {MAX_OF_A_SIZE:,} |")
    what = "also an Object that retains more than all that do not have the label"
    lines.append(f"| **`{MOST}`** | | | {what}; at most {MAX_OF_MOST:,} |")
    lines += ["", "| relationship | meaning |", "| --- | --- |"]
    for relation in RELATIONSHIPS:
        inner = ", ".join(column.name for column in relation.properties)
        inner = f" {{{inner}}}" if inner else ""
        lines.append(
            f"| `(:{relation.start})-[:{relation.name}{inner}]->(:{relation.end})` "
            f"| {relation.meaning} |"
        )
    for link in (*LINKS, NEXT):
        ends = f"(:{link.label})-[:{link.name}]->(:{link.label})"
        lines.append(f"| `{ends}` | {link.meaning} |")
    return "\n".join(lines) + "\n"


def tables_markdown(suffix: str) -> str:
    """The tables as a document, each as a file of that suffix."""
    lines = [
        "# A heap as tables",
        "",
        "Rows refer to rows of other tables by number, from 0 in the dump's order.",
    ]
    for entry in (EXPORTED, *TABLES):
        lines += [
            "",
            f"## {entry.name}.{suffix}",
            "",
            entry.meaning[0].upper() + entry.meaning[1:] + ".",
            "",
            "| column | type | meaning |",
            "| --- | --- | --- |",
            *_rows(entry.columns),
        ]
    return "\n".join(lines) + "\n"


def _rows(columns: Sequence[Column], *, in_graph: bool = False) -> list[str]:
    """A row of a Markdown table for each column."""
    lines = []
    for column in columns:
        kind = column.dtype.cypher if in_graph else str(column.dtype.polars)
        unit = f", {column.unit}" if column.unit else ""
        absent = (", may be absent" if in_graph else ", may be null") * column.optional
        lines.append(f"| `{column.name}` | {kind}{unit}{absent} | {column.meaning} |")
    return lines


def index_statements() -> dict[str, str]:
    """Cypher that makes each index, by its name; safe to run again.

    In one transaction, one scan of a full store populates them all.
    """
    return needed_statements() | late_statements()


def needed_statements() -> dict[str, str]:
    """The statements that claiming, writing and removing dumps needs."""
    keys = ((entry.name, (KEY.name,)) for entry in LABELS if entry.table is not None)
    own = (
        (e.name, columns) for e in LABELS if e.table is None for columns in e.indexes
    )
    return dict(_index(label, columns) for label, columns in (*keys, *own))


def late_statements() -> dict[str, str]:
    """The statements that only queries need."""
    each = (
        (entry.name, columns)
        for entry in LABELS
        if entry.table is not None
        for columns in entry.indexes
    )
    most = (MOST, ("dump", "retained_bytes"))
    return dict(_index(label, columns) for label, columns in (*each, most))


def first_statements() -> dict[str, str]:
    """The statements that a report needs at once.

    The other indexes are on properties by which another query finds objects sooner, or
    a later command writes or removes them. They may be populated while a person reads
    the receipt.
    """
    later = {
        _index("Object", columns)[0]
        for columns in ((KEY.name,), *label("Object").indexes)
    }
    return {k: text for k, text in index_statements().items() if k not in later}


def _index(of: str, columns: tuple[str, ...]) -> tuple[str, str]:
    name = f"{of.lower()}_{'_'.join(columns)}"
    keys = ", ".join(f"n.{column}" for column in columns)
    return name, f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{of}) ON ({keys})"


def constraint_statements() -> dict[str, str]:
    """Cypher that makes each constraint, by its name; safe to run again."""
    return {
        name: f"CREATE CONSTRAINT {name} IF NOT EXISTS "
        f"FOR (n:{entry.name}) REQUIRE n.{column} IS UNIQUE"
        for entry in LABELS
        for column in entry.unique
        for name in (f"{entry.name.lower()}_{column}",)
    }
