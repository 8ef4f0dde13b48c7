"""The graph of a fleet: labels and relationships, one row for each property.

It is beside the graphs of loaded dumps, and shares no label with them. A key identifies
each node, so writing a fleet again writes nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.tables.column import FLOAT, INT64, TEXT, TIME, Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


@dataclass(frozen=True, slots=True)
class FleetLabel:
    """A node label.

    Attributes:
        properties: The first one is the key.
    """

    name: str
    meaning: str
    properties: tuple[Column, ...]

    @property
    def key(self) -> str:
        """The property that is unique."""
        return self.properties[0].name


@dataclass(frozen=True, slots=True)
class FleetRelationship:
    """A relationship type; two nodes have at most one relationship of it."""

    name: str
    start: str
    end: str
    meaning: str
    properties: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetFrames:
    """All graphs of fleets in a store, as tables.

    Attributes:
        nodes: By label: a column for each property; times are text.
        relationships: By type: ``start`` and ``end``, the keys of both ends, then a
            column for each property.
    """

    nodes: Mapping[str, pl.DataFrame]
    relationships: Mapping[str, pl.DataFrame]


# fmt: off
FLEET_LABELS = (
    FleetLabel("Program", "a program that was dumped", (
        Column("name", TEXT, "from the label `program` or `service`"),
    )),
    FleetLabel("Version", "a version of a program", (
        Column("key", TEXT, "program and version as a JSON list"),
        Column("program", TEXT, "name of the program"),
        Column("version", TEXT, "from the label"),
        Column("position", INT64, "place among the program's versions, from 1"),
    )),
    FleetLabel("Host", "a host that a program ran on", (
        Column("name", TEXT, "from the label"),
    )),
    FleetLabel("FleetType", "a type, by its name", (
        Column("key", TEXT, "digest of the name"),
        Column("name", TEXT, "full name, as the runtime spells it"),
    )),
    FleetLabel("Fingerprint", "a leak, the same in all dumps that have it", (
        Column("fingerprint", TEXT, "equal for the same leak in another dump"),
        Column("leak", TEXT, "what accumulates where"),
        Column("pattern", TEXT, "how it is held, such as `list` or `map`"),
        Column("sentence", TEXT, "the leak of its largest dump in a sentence"),
    )),
    FleetLabel("FleetDump", "a dump of the fleet, loaded into Neo4j or not", (
        Column("dump_id", TEXT, "as in the datasets"),
        Column("name", TEXT, "name of the file without its suffixes"),
        Column("source", TEXT, "its location when it was read: a path or an address"),
        Column("format", TEXT, "name of the format"),
        Column("program", TEXT, "from a label", absent=None),
        Column("version", TEXT, "from a label", absent=None),
        Column("host", TEXT, "from a label", absent=None),
        Column("taken_at", TIME, "from the label `time`", absent=None),
        Column("uptime_s", FLOAT, "from the label `uptime`", absent=None),
        Column("object_count", INT64, "objects in the dump"),
        Column("reachable_bytes", INT64, "shallow size of the reachable ones"),
    )),
)

FLEET_RELATIONSHIPS = (
    FleetRelationship("HAS_VERSION", "Program", "Version",
        "the versions of a program that dumps are of"),
    FleetRelationship("OF_PROGRAM", "FleetDump", "Program", "what was dumped"),
    FleetRelationship("OF_VERSION", "FleetDump", "Version", "its version"),
    FleetRelationship("ON_HOST", "FleetDump", "Host", "where it ran"),
    FleetRelationship("HAS_LEAK", "FleetDump", "Fingerprint",
        "a leak suspect of the dump", (
        Column("rank", INT64, "1 for the dump's best suspect"),
        Column("retained_bytes", INT64, "what the leaked objects retain"),
        Column("object_count", INT64, "how many there are"),
        Column("share", FLOAT, "of the reachable bytes, 0 to 1"),
    )),
    FleetRelationship("ACCUMULATES", "Fingerprint", "FleetType",
        "the type whose objects accumulate"),
    FleetRelationship("HAS_TYPE", "FleetDump", "FleetType",
        "one of the largest types of the dump", (
        Column("reachable_count", INT64, "instances reachable from a root"),
        Column("reachable_bytes", INT64, "shallow size of those"),
    )),
)
# fmt: on


def fleet_label(name: str) -> FleetLabel:
    """The label of that name."""
    return next(entry for entry in FLEET_LABELS if entry.name == name)


def fleet_constraints() -> dict[str, str]:
    """Cypher that makes the constraint of each key, by its name; safe to run again."""
    return {
        name: f"CREATE CONSTRAINT {name} IF NOT EXISTS "
        f"FOR (n:{entry.name}) REQUIRE n.{entry.key} IS UNIQUE"
        for entry in FLEET_LABELS
        for name in (f"{entry.name.lower()}_{entry.key}",)
    }


def fleet_graph_markdown() -> str:
    """The graph as tables of a document."""
    lines = ["| label | property | type | meaning |", "| --- | --- | --- | --- |"]
    for entry in FLEET_LABELS:
        lines.append(f"| **`{entry.name}`** | | | {entry.meaning} |")
        lines += [f"| | {_row(column)} |" for column in entry.properties]
    lines += ["", "| relationship | property | type | meaning |"]
    lines.append("| --- | --- | --- | --- |")
    for relation in FLEET_RELATIONSHIPS:
        ends = f"(:{relation.start})-[:{relation.name}]->(:{relation.end})"
        lines.append(f"| `{ends}` | | | {relation.meaning} |")
        lines += [f"| | {_row(column)} |" for column in relation.properties]
    return "\n".join(lines) + "\n"


def _row(column: Column) -> str:
    unit = f", {column.unit}" if column.unit else ""
    absent = ", may be absent" * column.optional
    kind = f"{column.dtype.cypher}{unit}{absent}"
    return f"`{column.name}` | {kind} | {column.meaning}"
