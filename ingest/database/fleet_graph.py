"""Writing the graph of a fleet, over Bolt and from one machine.

Each node is found by its key and each relationship by its ends, and created if missing.
So an interrupted run can be repeated, and a fleet that has grown can be written again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from ingest.analysis.fingerprints import rule_of
from ingest.errors import StoreError
from ingest.progress import silent
from ingest.tables.column import TIME
from ingest.tables.fleet_graph import (
    FLEET_LABELS,
    FLEET_RELATIONSHIPS,
    FleetFrames,
    fleet_constraints,
    fleet_label,
)
from ingest.tables.mapping import END, START, Counts
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from ingest.database.connection import Database
    from ingest.progress import Progress
    from ingest.tables.column import Column

    Rows = list[tuple[object, ...]]

_DELETED_TOGETHER = 5_000
_READ_TOGETHER = 20_000


class GraphRows(Protocol):
    """Where the rows come from.

    Attributes:
        rule: Version of the rule of the fingerprints; 0 if there are none.
    """

    rule: int

    def nodes(self, label: str) -> Iterator[Rows]:
        """Rows with the properties of the label's nodes, in order."""

    def relationships(self, name: str) -> Iterator[Rows]:
        """Rows with the keys of both ends, then the properties."""


def write_fleet_graph(
    database: Database, rows: GraphRows, progress: Progress = silent
) -> Counts:
    """Write the graph of a fleet, constraints first.

    Args:
        database: The database to write to.
        rows: What to write.
        progress: Receives the rows of each label and type.

    Returns:
        Nodes and relationships of the fleet; some may have existed before.

    Raises:
        StoreError: the server refused or was lost, so run it again; or it has leaks
            whose fingerprints follow another rule.
    """
    _check_rule(database, rows.rule)
    for text in fleet_constraints().values():
        database.run(text)
    done = Counts()
    for label in FLEET_LABELS:
        text = (
            f"UNWIND $rows AS r MERGE (n:{label.name} {{{label.key}: r[0]}})"
            + _assignments("n", label.properties[1:], 1)
        )
        for batch in rows.nodes(label.name):
            database.write(text, {"rows": _with_zones(batch)})
            done += Counts({label.name: len(batch)})
            progress(label.name, done.nodes[label.name], None)
    for relation in FLEET_RELATIONSHIPS:
        start, end = fleet_label(relation.start), fleet_label(relation.end)
        text = (
            f"UNWIND $rows AS r MATCH (a:{start.name} {{{start.key}: r[0]}}) "
            f"MATCH (b:{end.name} {{{end.key}: r[1]}}) "
            f"MERGE (a)-[n:{relation.name}]->(b)"
            + _assignments("n", relation.properties, 2)
        )
        for batch in rows.relationships(relation.name):
            database.write(text, {"rows": _with_zones(batch)})
            done += Counts({}, {relation.name: len(batch)})
            progress(relation.name, done.relationships[relation.name], None)
    return done


def _check_rule(database: Database, rule: int) -> None:
    """Make sure that the fingerprints in the database follow the rule of a fleet."""
    _, found = database.read("MATCH (n:Fingerprint) RETURN n.fingerprint LIMIT 1", {})
    there = rule_of(str(found[0][0])) if found else 0
    if there and rule and there != rule:
        raise StoreError(
            f"the database has a fleet with fingerprints of rule {there}, and this "
            f"fleet has those of rule {rule}, so that old leaks would count as new: "
            f"first remove the other one: {command('fleet', 'graph', '--drop')}"
        )


def read_fleet_graph(database: Database) -> FleetFrames:
    """All graphs of fleets that are in a database.

    Raises:
        StoreError: the server was lost, or a node or relationship has one of their
            labels but other properties.
    """
    nodes, relationships = {}, {}
    for label in FLEET_LABELS:
        nodes[label.name] = _frame(
            database, f"MATCH (n:{label.name}) RETURN ", label.properties
        )
    for relation in FLEET_RELATIONSHIPS:
        start, end = fleet_label(relation.start), fleet_label(relation.end)
        relationships[relation.name] = _frame(
            database,
            f"MATCH (a:{start.name})-[n:{relation.name}]->(b:{end.name}) "
            f"RETURN a.{start.key} AS {START}, b.{end.key} AS {END}, ",
            relation.properties,
            ends=(START, END),
        )
    return FleetFrames(nodes, relationships)


def _frame(
    database: Database, text: str, columns: Sequence[Column], ends: Sequence[str] = ()
) -> pl.DataFrame:
    import polars as pl

    returned = [
        f"toString(n.{c.name}) AS {c.name}" if c.dtype is TIME else f"n.{c.name}"
        for c in columns
    ]
    schema = pl.Schema(dict.fromkeys(ends, pl.String()))
    for column in columns:
        is_time = column.dtype is TIME
        schema[column.name] = pl.String() if is_time else column.dtype.polars
    answer = database.stream((text + ", ".join(returned)).rstrip(", "), {})
    rows = (row for _, row in answer if row is not None)
    frames = [pl.DataFrame(schema=schema)]
    try:
        while batch := list(islice(rows, _READ_TOGETHER)):
            frames.append(pl.DataFrame(batch, schema, orient="row"))
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "somebody has added nodes or relationships to the fleet, which a bulk load "
            "would change: load with --via bolt"
        ) from error
    return pl.concat(frames)


def drop_fleet_graph(database: Database, progress: Progress = silent) -> int:
    """Remove the graph of all fleets; returns the number of nodes."""
    removed = 0
    # Dumps go first: most relationships are theirs.
    for label in reversed(FLEET_LABELS):
        while True:
            rows, _ = database.write(
                f"MATCH (n:{label.name}) WITH n LIMIT {_DELETED_TOGETHER} "
                "DETACH DELETE n RETURN count(*)",
                {},
            )
            count = rows[0][0]
            assert isinstance(count, int)
            if not count:
                break
            removed += count
            progress("remove", removed, None)
    return removed


def _assignments(name: str, columns: Sequence[Column], first: int) -> str:
    pairs = (f"{name}.{c.name} = r[{i}]" for i, c in enumerate(columns, first))
    return f" SET {', '.join(pairs)}" if columns else ""


def _with_zones(rows: Rows) -> Rows:
    """Add the time zone, UTC, to times."""
    return [
        tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row)
        for row in rows
    ]
