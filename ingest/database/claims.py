"""Which process owns a Dump node: claiming, publishing and dropping dumps.

A node has the name of the process that loads or drops its dump, as made by
`ingest.system.process_names`.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from ingest.database.dump_list import dump_nodes
from ingest.errors import (
    AlreadyLoaded,
    Conflict,
    IngestError,
    StoreError,
    UnknownDump,
)
from ingest.progress import silent
from ingest.system.interrupts import Interrupted
from ingest.system.process_names import NOBODY, is_alive, this_process
from ingest.tables.schema import KEY_BITS, LABELS
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.database.connection import Database
    from ingest.database.dump_list import DumpInfo, DumpNode
    from ingest.heap.identity import Identity
    from ingest.progress import Progress
    from ingest.tables.mapping import Counts, Tables

STALE_SECONDS = 600
"""A load on another machine that gave no sign of life for so long is dead."""

WINDOW_KEYS = 50_000
"""The number of objects linked in one step; a user waits for no more deletions."""

_STEP_KEYS = 10_000
"""A drop gives a sign of life, and checks whether to stop, after so many objects."""

_DELETE_ROWS = 2_000
"""Relationships or nodes per transaction; with 20,000 drops take a quarter longer."""


def take_over(database: Database) -> list[int]:
    """Become the owner of the dumps that dead loads and drops have left.

    Returns:
        Numbers of dumps to `delete`, which no other process deletes.
    """
    taken = []
    for node in dump_nodes(database):
        if node.state == "ready":
            continue
        loader = cast("str", node.properties.get("loader", ""))
        alive, silent_seconds = is_alive(loader), node.silent_seconds or 0
        if alive or (alive is None and silent_seconds < STALE_SECONDS):
            continue
        if _take(database, node.number, loader):
            taken.append(node.number)
    return sorted(taken)


def _take(database: Database, number: int, loader: str) -> bool:
    """Try to become the owner of a dump; return whether this process is now."""
    given = {"number": number, "loader": loader, "mine": this_process()}
    return bool(database.write(_TAKE_OVER, given)[0])


_TAKE_OVER = """
MATCH (d:Dump {number: $number})
SET d.heartbeat = datetime()
WITH d WHERE d.state <> 'ready' AND coalesce(d.loader, '') = $loader
SET d.loader = $mine, d.state = 'dropping'
REMOVE d.exclusive
RETURN d.number
"""


def take_dropped(database: Database) -> list[tuple[int, str]]:
    """Become the owner of the dumps that others are removing, which makes them stop.

    Returns:
        The number of each dump, and the process that may still be deleting it.
    """
    taken = []
    for node in dump_nodes(database):
        loader = cast("str", node.properties.get("loader", ""))
        if node.state != "dropping" or node.properties.get("exclusive"):
            continue
        if is_left_over(node) or _take(database, node.number, loader):
            taken.append((node.number, loader))
    return taken


def is_left_over(node: DumpNode) -> bool:
    """Whether a dump is dropped, and this process owns its remains."""
    return node.state == "dropping" and node.properties.get("loader") == this_process()


def hand_over(database: Database, numbers: Sequence[int]) -> None:
    """Let any process remove this process's unfinished dumps."""
    database.write(
        "MATCH (d:Dump) WHERE d.number IN $numbers AND d.state <> 'ready' "
        "AND d.loader = $mine SET d.loader = $nobody",
        {"numbers": list(numbers), "mine": this_process(), "nobody": NOBODY},
    )


@dataclass(frozen=True, slots=True)
class Place:
    """What a dump will be called, and what it replaces.

    Attributes:
        name: The name that was asked for, or one that is free.
        is_exact: Whether the name is required; otherwise a number may follow it.
        replaced: Dumps to remove when it is ready.
    """

    name: str
    is_exact: bool = False
    replaced: tuple[DumpInfo, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """Numbers of the dumps to replace."""
        return [dump.number for dump in self.replaced]


def place_for(
    present: Sequence[DumpInfo],
    identity: Identity | None,
    wished: str | None,
    stem: str = "",
    *,
    options: str = "",
    replace: bool = False,
) -> DumpInfo | Place:
    """Decide whether a dump must be loaded, and under which name.

    Args:
        present: The dumps of the database.
        identity: Identity of the dump; ``None`` for one that cannot be loaded yet.
        wished: The requested name; ``None`` for one made from ``stem``.
        stem: Beginning of a name.
        options: The dump's `ingest.heap.read_options.ReadOptions.recorded`.
        replace: Whether to load it again, and to replace a dump with the name.

    Returns:
        The loaded dump if it is there already, else the place of the new one.

    Raises:
        StoreError: another dump has the name, or the dump was loaded with other options
            of reading.
    """
    same = next((dump for dump in present if dump.identity == identity), None)
    named = next((dump for dump in present if dump.name == wished), None)
    if not replace:
        if named is not None and named is not same:
            raise StoreError(
                f"another dump is named {wished!r}; choose another --name, or "
                "--replace it"
            )
        if same is not None:
            _check_options(same, options)
            return same
    replaced = tuple(
        dump for dump in present if dump.identity == identity or dump.name == wished
    )
    if wished is not None:
        return Place(wished, is_exact=True, replaced=replaced)
    if same is not None:
        return Place(same.name, replaced=replaced)
    taken, name, count = {dump.name for dump in present}, stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return Place(name)


def _check_options(found: DumpInfo, options: str) -> None:
    """Make sure that a dump was read as it would be read now.

    Raises:
        StoreError: it was read with other options.
    """
    if found.read_options != options:
        raise StoreError(
            f"the dump is already loaded as {found.name}, read with "
            f"{found.read_options or 'no options'} instead of "
            f"{options or 'no options'}; to read it again, add --replace"
        )


@dataclass(frozen=True, slots=True)
class NewDump:
    """A dump that is claimed, and is being written to a database.

    Attributes:
        number: Its number.
        node: The server's id of its Dump node.
        place: What it will be called, and what it replaces.
        properties: Properties of its Dump node.
        tables: Its tables.
        counts: Nodes and relationships to be written, its Dump node included.
    """

    number: int
    node: int
    place: Place
    properties: dict[str, object]
    tables: Tables
    counts: Counts


class WrittenDump(NamedTuple):
    """A dump that is ready.

    Attributes:
        name: The name it got; differs from the requested one if that was taken.
        linked, not_linked: See `ingest.database.links.told_by_ids`.
    """

    name: str
    linked: tuple[str, ...] = ()
    not_linked: tuple[str, ...] = ()


def claim(
    database: Database,
    place: Place,
    identity: Identity,
    properties: dict[str, object],
    *,
    exclusive: bool,
) -> tuple[int, int]:
    """Make a Dump node in state ``loading``, under a number of its own.

    Until the dump is ready, its name is one that no user can give. While an exclusive
    claim stands, no other load or drop can begin.

    Returns:
        Its number, and its internal id.

    Raises:
        StoreError: another process is just loading the same dump, or one of two claims
            is exclusive.
        AlreadyLoaded: another process has loaded it in the meantime.
    """
    given = asdict(identity) | {"loader": this_process()} | properties
    for attempt in range(_CLAIMS):
        nodes = dump_nodes(database)
        _check_free(nodes, place, identity, exclusive=exclusive)
        number = max((node.number for node in nodes), default=0) + 1
        given["name"] = f"{place.name} loading as {number}"
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


@contextmanager
def given_up_if_failed(database: Database, number: int) -> Iterator[None]:
    """Let any process remove a claimed dump if the block fails.

    This process may be a program or an agent that goes on to load another dump.
    """
    try:
        yield
    except Interrupted:  # no time, and this process ends: see `cleaned_if_interrupted`
        raise
    except BaseException:
        with suppress(IngestError):
            hand_over(database, [number])
        raise


def plan_claim(database: Database) -> None:
    """Let the server plan the query of `claim`, which takes a new server 0.5 s."""
    given = {"number": 0, "properties": {}, "exclusive": None}
    database.plan(f"EXPLAIN {_CLAIM}", given)


def _check_free(
    nodes: Iterable[DumpNode], place: Place, identity: Identity, *, exclusive: bool
) -> None:
    """Check that a load may begin; see `claim`."""
    same = set()
    for node in nodes:
        is_busy = node.state != "ready" and not is_left_over(node)
        if node.properties.get("exclusive") or (exclusive and is_busy):
            raise StoreError(
                "another load or drop is in progress, and one of them is in bulk; "
                "wait for it"
            )
        if node.identity == identity and node.number not in place.numbers:
            same.add(node.state)
    if "ready" in same:
        raise AlreadyLoaded(f"{place.name} has just been loaded by another process")
    if "loading" in same:
        raise StoreError(
            f"{place.name} is being loaded by another process; wait for it: "
            f"{command('list')}"
        )


_CLAIMS = 20
_CLAIM = """
CYPHER 5
CREATE (d:Dump {number: $number, state: 'loading', loading_since: datetime(),
  heartbeat: datetime(), exclusive: $exclusive})
SET d += $properties
RETURN id(d)
"""


def beat(database: Database, number: int) -> bool:
    """Record that this load or drop is still running.

    Returns:
        Whether the dump is still this process's.
    """
    rows, _ = database.write(
        "MATCH (d:Dump {number: $number}) SET d.heartbeat = datetime() "
        "RETURN d.loader = $mine",
        {"number": number, "mine": this_process()},
    )
    return rows == [(True,)]


def publish(database: Database, number: int, place: Place) -> str:
    """Make a dump ready under its name, and unpublish what it replaces, at once.

    Returns:
        The name that the dump got; a number follows if the requested name was taken.

    Raises:
        Conflict: the name is required, and was taken in the meantime.
    """
    values = {"number": number, "name": place.name, "replaces": place.numbers}
    try:
        database.write(_PUBLISH, values)
    except Conflict:
        if place.is_exact:
            raise
        values["name"] = f"{place.name}-{number}"
        database.write(_PUBLISH, values)
    return str(values["name"])


_PUBLISH = """
MATCH (d:Dump {number: $number})
OPTIONAL MATCH (old:Dump) WHERE old.number IN $replaces
SET old.state = 'dropping', old.loader = d.loader, old.heartbeat = datetime(),
  old.name = old.name + ' dropping as ' + old.number
WITH DISTINCT d
SET d.name = $name, d.state = 'ready', d.loaded_at = datetime()
REMOVE d.loader, d.heartbeat
"""


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

    No dump follows it any more, and it follows none.

    Args:
        database: The database with the dump.
        number: The dump's number.
        exclusive: Whether it must be the only dump, and no load may begin until it is
            deleted.
        to_anybody: Whether any other process may delete it, instead of this one.

    Raises:
        UnknownDump: another process is just dropping it.
        StoreError: a bulk load is in progress, or this drop is exclusive and there is
            another dump.
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
    """How many keys the objects of a dump take up, from the first one on."""
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

    It stops as soon as another process is the owner of the dump.

    Relationships are deleted before nodes, so that a hub needs no large transaction.
    The time is proportional to the dump: 90,000 relationships a second, nearly all of
    it the server's commits, about as long as writing takes. Another order is not
    faster, nor are two windows at a time, which wait for each other's locks.
    """
    first, total = number << KEY_BITS, max(object_rows(database, number), 1)
    stage = "drop"
    for step, match in enumerate(
        (
            "MATCH (o:Object) WHERE $first <= o.key < $last MATCH (o)-[x]->()",
            "MATCH (x:Object) WHERE $first <= x.key < $last",
        )
    ):
        for begin in range(0, total, _STEP_KEYS):
            progress(stage, step * total + begin, 2 * total)
            if not beat(database, number):
                return
            _delete_window(database, match, first + begin, _STEP_KEYS)
    if not beat(database, number):
        return
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


def _delete_window(database: Database, match: str, first: int, size: int) -> None:
    detach = "" if match.endswith("->()") else "DETACH "
    database.run(
        f"{match} CALL (x) {{ {detach}DELETE x }} "
        f"IN TRANSACTIONS OF {_DELETE_ROWS} ROWS",
        {"first": first, "last": first + size},
    )
