"""The dumps of a database, ready or not, and choosing one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ingest.errors import UnknownDump
from ingest.heap.identity import Identity
from ingest.server.target import FIRST_QUERY
from ingest.tables.schema import KEY_BITS
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ingest.database.connection import Database

_LISTED = 10
_DIGITS = 9
NO_DUMP = f"no dump is loaded; load one: {command('load', 'DUMP')}"


@dataclass(frozen=True, slots=True)
class DumpNode:
    """A Dump node.

    Attributes:
        number: The dump's number.
        state: ``loading``, ``ready`` or ``dropping``.
        properties: All properties; dates are text.
        silent_seconds: Time since the last sign of life of its load or drop.
    """

    number: int
    state: str
    properties: dict[str, object]
    silent_seconds: int | None

    @property
    def identity(self) -> Identity:
        """Identifies the dump and its file."""
        return Identity(
            cast("str", self.properties["sha256"]),
            cast("str | None", self.properties.get("trace")),
            cast("int | None", self.properties.get("part")),
        )


def dump_nodes(database: Database) -> list[DumpNode]:
    """All dumps, also those being loaded or dropped; the newest first."""
    _, rows = database.read(FIRST_QUERY, {})
    found = []
    for node, now in cast("list[tuple[Mapping[str, object], object]]", rows):
        number, state = cast("int", node["number"]), cast("str", node["state"])
        beat = node.get("heartbeat") or node.get("loading_since")
        seconds = int(_moment(now) - _moment(beat)) if beat is not None else None
        properties = {name: _as_text(value) for name, value in node.items()}
        loaded_at = _moment(node.get("loaded_at"))
        found.append((loaded_at, DumpNode(number, state, properties, seconds)))
    found.sort(key=lambda one: (one[0], one[1].number), reverse=True)
    return [dump for _, dump in found]


def _moment(value: object) -> float:
    """Seconds since 1970; infinite without a date."""
    from neo4j.time import DateTime

    return value.to_native().timestamp() if isinstance(value, DateTime) else math.inf


def _as_text(value: object) -> object:
    """The value; a date becomes text, as with Cypher's ``toString``."""
    from neo4j.time import DateTime

    if not isinstance(value, DateTime):
        return value
    clock, _, fraction = value.iso_format().partition(".")
    digits, zone = fraction[:_DIGITS].rstrip("0"), fraction[_DIGITS:]
    return clock + ("." + digits if digits else "") + zone.replace("+00:00", "Z")


_WARNING = re.compile(r"([\w ]+): (\d+)")


@dataclass(frozen=True, slots=True)
class DumpInfo:
    """One ready dump."""

    number: int
    name: str
    format: str
    source: str
    sha256: str
    trace: str | None
    part: int | None
    object_count: int
    type_count: int
    reference_count: int
    root_count: int
    shallow_bytes: int
    reachable_bytes: int
    warning_count: int
    warnings: list[str]
    folded_count: int
    folded_bytes: int
    redacted: bool
    strength_policy: str
    loaded_at: str
    runtime: str = ""
    read_options: str = ""
    incomplete: str = ""

    @property
    def identity(self) -> Identity:
        """Identifies the dump and its file."""
        return Identity(self.sha256, self.trace, self.part)


def warning_counts(warnings: Iterable[str]) -> dict[str, int]:
    """Irregularities by kind; each text is ``kind: count`` and a place."""
    found = (_WARNING.match(text) for text in warnings)
    return {match[1].replace(" ", "_"): int(match[2]) for match in found if match}


def list_dumps(database: Database) -> list[DumpInfo]:
    """All ready dumps, the newest first."""
    return [
        DumpInfo(**{name: _of_info(node, name) for name in DumpInfo.__slots__})
        for node in dump_nodes(database)
        if node.state == "ready"
    ]


_ABSENT = {
    "warnings": [],
    "folded_count": 0,
    "folded_bytes": 0,
    "redacted": False,
    "strength_policy": "",
    "runtime": "",
    "read_options": "",
    "incomplete": "",
}


def _of_info(node: DumpNode, name: str) -> Any:  # noqa: ANN401
    return node.properties.get(name, _ABSENT.get(name))


@dataclass(frozen=True, slots=True)
class ChosenDump:
    """The dump that an answer is about, among those that are loaded."""

    dump: DumpInfo
    loaded_count: int
    is_newest: bool


def find_dump(database: Database, name: str | None) -> DumpInfo:
    """The ready dump of that name; the newest if no name is given.

    Raises:
        UnknownDump: there is no such dump.
    """
    return select_dump(database, name).dump


def select_dump(
    database: Database, name: str | None, number: int | None = None
) -> ChosenDump:
    """The ready dump of that name, else of that number, else the newest.

    Raises:
        UnknownDump: there is no such dump.
    """
    dumps = list_dumps(database)
    dump = _selected(dumps, name, number)
    return ChosenDump(dump, len(dumps), dump is dumps[0])


def _selected(
    dumps: Sequence[DumpInfo], name: str | None, number: int | None
) -> DumpInfo:
    if not dumps:
        raise UnknownDump(NO_DUMP)
    if name is None and number is None:
        return dumps[0]
    if name is None:
        for dump in dumps:
            if dump.number == number:
                return dump
        raise UnknownDump(
            f"dump {number}, which the query was written for, is not loaded; "
            "--dump NAME chooses another"
        )
    for dump in dumps:
        if dump.name == name:
            return dump
    known = ", ".join(dump.name for dump in dumps[:_LISTED])
    if (more := len(dumps) - _LISTED) > 0:
        known += f" and {more:,} more: {command('list')}"
    raise UnknownDump(f"no dump is named {name!r}; loaded: {known}")


def objects_to_remove(database: Database) -> int:
    """Objects of dropped dumps that have not been removed yet."""
    _, rows = database.read(
        """
        MATCH (d:Dump {state: 'dropping'})
        CALL (d) {
          MATCH (o:Object)
          WHERE d.number * $keys <= o.key < (d.number + 1) * $keys
          RETURN count(o) AS objects
        }
        RETURN sum(objects)
        """,
        {"keys": 1 << KEY_BITS},
    )
    return cast("int", rows[0][0])


def is_any_being_dropped(database: Database) -> bool:
    """Whether a dump that is no longer visible has not been deleted yet."""
    return any(node.state == "dropping" for node in dump_nodes(database))
