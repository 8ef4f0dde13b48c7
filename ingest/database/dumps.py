"""The dumps of a database: which there are, claiming one, dropping one."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from ingest.database.dump_nodes import dump_nodes
from ingest.database.loaders import NOBODY, is_alive, this_process
from ingest.errors import NO_DUMP, AlreadyLoaded, Conflict, StoreError, UnknownDump
from ingest.heap.identity import Identity
from ingest.progress import silent
from ingest.tables.schema import KEY_BITS, LABELS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from ingest.database.connection import Database
    from ingest.database.dump_nodes import DumpNode
    from ingest.progress import Progress

STALE_SECONDS = 600
"""A load on another machine that gave no sign of life for so long is dead."""

WINDOW_KEYS = 50_000
"""Objects between two signs of life of a drop."""

_DELETE_ROWS = 2_000
"""Relationships or nodes a transaction; with 20,000 a drop takes a quarter longer."""


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
    loaded_at: str
    runtime: str = ""

    @property
    def identity(self) -> Identity:
        """Which dump of which file it is."""
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
    "runtime": "",
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
    """The ready dump of that name; the newest where none is given.

    Raises:
        UnknownDump: there is none.
    """
    return select_dump(database, name).dump


def select_dump(
    database: Database, name: str | None, number: int | None = None
) -> ChosenDump:
    """The ready dump of that name, else of that number, else the newest.

    Raises:
        UnknownDump: there is none.
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
    known = ", ".join(dump.name for dump in dumps[:10])
    raise UnknownDump(f"no dump is named {name!r}; loaded: {known}")


def take_over(database: Database) -> list[int]:
    """Become the owner of what dead loads and drops have left.

    Returns:
        Numbers of dumps to `delete`, which nobody else will.
    """
    taken = []
    for node in dump_nodes(database):
        if node.state == "ready":
            continue
        loader = cast("str", node.properties.get("loader", ""))
        alive, silent_seconds = is_alive(loader), node.silent_seconds or 0
        if alive or (alive is None and silent_seconds < STALE_SECONDS):
            continue
        given = {"number": node.number, "loader": loader, "mine": this_process()}
        if database.write(_TAKE_OVER, given)[0]:
            taken.append(node.number)
    return sorted(taken)


_TAKE_OVER = """
MATCH (d:Dump {number: $number})
SET d.heartbeat = datetime()
WITH d WHERE d.state <> 'ready' AND coalesce(d.loader, '') = $loader
SET d.loader = $mine, d.state = 'dropping'
REMOVE d.exclusive
RETURN d.number
"""


def hand_over(database: Database, numbers: Sequence[int]) -> None:
    """Leave dumps that one has taken over to whoever wants them."""
    database.write(
        "MATCH (d:Dump) WHERE d.number IN $numbers SET d.loader = $nobody",
        {"numbers": list(numbers), "nobody": NOBODY},
    )


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


def claim(
    database: Database,
    name: str,
    identity: Identity,
    properties: dict[str, object],
    *,
    replaces: Container[int] = (),
    exclusive: bool = False,
) -> tuple[int, int]:
    """Make a Dump node in state ``loading``, under a number of its own.

    Until it is ready it goes by a name that cannot be taken. While an exclusive
    claim stands, no other load or drop can begin.

    Returns:
        Its number, and its internal id.

    Raises:
        StoreError: the same dump is just being loaded by another process; or one of
            both claims is exclusive.
        AlreadyLoaded: another process has loaded it since one looked.
    """
    given = asdict(identity) | {"loader": this_process()} | properties
    for attempt in range(_CLAIMS):
        nodes = dump_nodes(database)
        _check_free(nodes, name, identity, replaces, exclusive=exclusive)
        number = max((node.number for node in nodes), default=0) + 1
        given["name"] = f"{name} loading as {number}"
        values = {
            "number": number,
            "properties": given,
            "exclusive": exclusive or None,
        }
        try:
            rows, _ = database.write(_CLAIM, values)
        except Conflict:  # another load took the number at the same moment
            if attempt == _CLAIMS - 1:
                raise
        else:
            break
    return number, cast("int", rows[0][0])


def _check_free(
    nodes: Iterable[DumpNode],
    name: str,
    identity: Identity,
    replaces: Container[int],
    *,
    exclusive: bool,
) -> None:
    """Check that a load may begin; see `claim`."""
    same = set()
    for node in nodes:
        if node.properties.get("exclusive") or (exclusive and node.state != "ready"):
            raise StoreError(
                "another load or drop is in progress, and one of them is in bulk; "
                "wait for it"
            )
        if node.identity == identity and node.number not in replaces:
            same.add(node.state)
    if "ready" in same:
        raise AlreadyLoaded(f"{name} has just been loaded by another process")
    if "loading" in same:
        raise StoreError(
            f"{name} is being loaded by another process; wait for it, see: ingest list"
        )


_CLAIMS = 20
_CLAIM = """
CYPHER 5
CREATE (d:Dump {number: $number, state: 'loading', loading_since: datetime(),
  heartbeat: datetime(), exclusive: $exclusive})
SET d += $properties
RETURN id(d)
"""


def beat(database: Database, number: int) -> None:
    """Record that this load or drop is still running."""
    database.write(
        "MATCH (d:Dump {number: $number}) SET d.heartbeat = datetime()",
        {"number": number},
    )


def publish_as(
    database: Database, number: int, name: str, replaces: list[int], *, exact: bool
) -> str:
    """`publish` under ``name``, or where it is not ``exact`` with a number behind it.

    Returns:
        The name that it got.

    Raises:
        Conflict: the name was taken meanwhile.
    """
    try:
        publish(database, number, name, replaces)
    except Conflict:
        if exact:
            raise
        name = f"{name}-{number}"
        publish(database, number, name, replaces)
    return name


def publish(database: Database, number: int, name: str, replaces: list[int]) -> None:
    """Make the dump ready under its name, and unpublish what it replaces, at once."""
    database.write(
        """
        MATCH (d:Dump {number: $number})
        OPTIONAL MATCH (old:Dump) WHERE old.number IN $replaces
        SET old.state = 'dropping', old.loader = d.loader, old.heartbeat = datetime(),
          old.name = old.name + ' dropping as ' + old.number
        WITH DISTINCT d
        SET d.name = $name, d.state = 'ready', d.loaded_at = datetime()
        REMOVE d.loader, d.heartbeat
        """,
        {"number": number, "name": name, "replaces": replaces},
    )


def rename(database: Database, number: int, name: str) -> None:
    """Give a ready dump another name.

    Raises:
        Conflict: another dump has it.
        StoreError: a bulk load is in progress, or the dump has just been dropped.
    """
    rows, _ = database.write(
        """
        MATCH (d:Dump {number: $number, state: 'ready'})
        WHERE NOT EXISTS { MATCH (other:Dump) WHERE other.exclusive }
        SET d.name = $name
        RETURN d.number
        """,
        {"number": number, "name": name},
    )
    if not rows:
        raise StoreError(
            "the dump cannot be renamed while a bulk load is in progress or it is "
            "being dropped; try again"
        )


def is_large(object_count: int) -> bool:
    """Whether it takes too long to delete a dump while somebody waits for it."""
    return object_count > WINDOW_KEYS


def unpublish(
    database: Database,
    number: int,
    *,
    exclusive: bool = False,
    to_anybody: bool = False,
) -> None:
    """Hide a dump from every reader, as the first step of dropping it.

    No dump follows it any more, nor does it follow another.

    Args:
        database: Where it is.
        number: The dump's.
        exclusive: Whether it must be the only one, and no load may begin until it is
            deleted.
        to_anybody: Whether another process is to delete it, not this one.

    Raises:
        UnknownDump: somebody else is just dropping it.
        StoreError: a bulk load is in progress; or there is another dump, if this drop
            is exclusive.
    """
    loader = NOBODY if to_anybody else this_process()
    values = {"number": number, "loader": loader, "alone": exclusive or None}
    rows, _ = database.write(
        """
        MATCH (d:Dump {number: $number, state: 'ready'})
        WHERE NOT EXISTS {
          MATCH (other:Dump) WHERE other.exclusive OR ($alone AND other <> d)
        }
        SET d.state = 'dropping', d.loader = $loader, d.heartbeat = datetime(),
          d.name = d.name + ' dropping as ' + d.number, d.exclusive = $alone
        WITH d
        OPTIONAL MATCH (d)-[link:NEXT]-()
        DELETE link
        RETURN DISTINCT d.number
        """,
        values,
    )
    if not rows:
        other = "d.exclusive OR ($alone AND d.number <> $number)"
        if database.read(f"MATCH (d:Dump) WHERE {other} RETURN d.number", values)[1]:
            raise StoreError("another load or drop is in progress; wait for it")
        raise UnknownDump("the dump is being dropped by another process")


def object_rows(database: Database, number: int) -> int:
    """How many keys the objects of a dump take, from its first one on."""
    first = number << KEY_BITS
    _, rows = database.read(
        """
        OPTIONAL MATCH (o:Object) WHERE $first <= o.key < $last
        RETURN coalesce(max(o.key) - $first + 1, 0)
        """,
        {"first": first, "last": first + (1 << KEY_BITS)},
    )
    return cast("int", rows[0][0])


def delete(database: Database, number: int, progress: Progress = silent) -> None:
    """Delete all of a dump, in bounded transactions, the Dump node last.

    Relationships are deleted before nodes, so that a hub needs no large transaction.
    Time is proportional to the dump: 90,000 relationships a second, about what writing
    them takes, nearly all of it the server's commits. Neither two windows at a time,
    which wait for each other's locks, nor another order of the relationships is faster.
    """
    first, total = number << KEY_BITS, max(object_rows(database, number), 1)
    stage = "drop"
    for begin in range(0, total, WINDOW_KEYS):
        progress(stage, begin, 2 * total)
        _delete_window(
            database,
            "MATCH (o:Object) WHERE $first <= o.key < $last MATCH (o)-[x]->()",
            first + begin,
        )
        beat(database, number)
    for begin in range(0, total, WINDOW_KEYS):
        progress(stage, total + begin, 2 * total)
        _delete_window(
            database,
            "MATCH (x:Object) WHERE $first <= x.key < $last",
            first + begin,
        )
        beat(database, number)
    for label in LABELS:
        if label.table is not None and label.name != "Object":
            _delete_window(
                database,
                f"MATCH (x:{label.name}) WHERE $first <= x.key < $last",
                first,
                1 << KEY_BITS,
            )
    database.run("MATCH (d:Dump {number: $number}) DETACH DELETE d", {"number": number})
    progress(stage, 2 * total, 2 * total)


def _delete_window(
    database: Database, match: str, first: int, size: int = WINDOW_KEYS
) -> None:
    detach = "" if match.endswith("->()") else "DETACH "
    database.run(
        f"{match} CALL (x) {{ {detach}DELETE x }} "
        f"IN TRANSACTIONS OF {_DELETE_ROWS} ROWS",
        {"first": first, "last": first + size},
    )
