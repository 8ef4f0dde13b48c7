"""Writing a dump into a database and dropping one, over Bolt or in bulk."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest import __version__, interrupts
from ingest.database import bolt, bulk, cleaner, dumps, next_dumps
from ingest.database import trace_links as links
from ingest.database.via import Via
from ingest.errors import StoreError
from ingest.progress import silent
from ingest.tables import mapping

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ingest.database.connection import Database
    from ingest.database.dumps import DumpInfo
    from ingest.heap.identity import Identity
    from ingest.progress import Progress
    from ingest.server.embedded import EmbeddedServer
    from ingest.tables.mapping import Counts, DumpTables, Tables


_DROPS_S, _POLL_S = 600.0, 0.5


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        name: The dump's name; differs from the requested one if that was taken.
        number: The dump's number.
        counts: Its nodes and relationships.
    """

    name: str
    number: int
    counts: Counts


def write(
    tables: DumpTables,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    via: Via = Via.AUTO,
    name: str,
    exact_name: bool = True,
    source: str,
    identity: Identity,
    replaces: Sequence[int] = (),
    progress: Progress = silent,
) -> Written:
    """Write one dump under a number of its own and make it ready.

    Args:
        tables: The dump; closed where its tables are stored beside a server.
        database: Where to; constraints and indexes are there.
        server: Whose database that is, if it is the embedded one's.
        via: How.
        name: What to call it.
        exact_name: Whether ``name`` must be had, or may get a number behind it.
        source: The file's name.
        identity: Which dump of which file it is.
        replaces: Numbers of dumps to remove when this one is ready.
        progress: Receives all stages.

    Raises:
        AlreadyLoaded: another process has loaded the same file since.
        StoreError, EmbeddedError: see `ingest.pipeline.load`.
    """
    cleaner.clean_up(database, server, progress)
    in_bulk = _in_bulk(via, server, database, tables, replaces, progress)
    about: dict[str, object] = {"source": source, "tool_version": __version__}
    new = None
    with ExitStack() as stack:
        if server is not None and in_bulk:
            stack.enter_context(bulk.exclusive(server))
        stack.enter_context(interrupts.leaving(_INTERRUPTED))
        stack.enter_context(cleaner.cleaned_if_interrupted(database, server))
        if server is not None and in_bulk:
            new = stack.enter_context(bulk.begun(server, progress))
        number, node = dumps.claim(
            database, name, identity, about, replaces=replaces, exclusive=in_bulk
        )
        properties = tables.dump() | about
        chosen: Tables = tables
        if server is None:
            counts = mapping.counts(tables)
        else:
            chosen = stored = bulk.store(
                server, number, identity.sha256, tables, progress
            )
            counts = stored.counts()
            tables.close()  # they are read from the files, and the memory is needed
        if server is not None and new is not None:
            name = bulk.write(
                new,
                server,
                database,
                number=number,
                name=name,
                exact_name=exact_name,
                properties=properties,
                replaces=replaces,
                progress=progress,
            )
        else:
            bolt.write(database, chosen, number, node, properties, counts, progress)
            linked = links.siblings(database, number)
            links.link(database, number, linked, progress)
            name = dumps.publish_as(
                database, number, name, list(replaces), exact=exact_name
            )
            with interrupts.leaving(f"{name} is loaded"):
                # A load of another dump of the trace that ended meanwhile did not see
                # ours.
                late = links.siblings(database, number) - linked
                links.link(database, number, late, progress)
                cleaner.remove(database, server, replaces, progress)
                next_dumps.link(database)
    return Written(name, number, counts)


_INTERRUPTED = "this dump is not loaded, and what was written is being removed"


def _in_bulk(
    via: Via,
    server: EmbeddedServer | None,
    database: Database,
    tables: DumpTables,
    replaces: Container[int],
    progress: Progress,
) -> bool:
    """Whether to load in bulk.

    Raises:
        StoreError: it was requested and is not possible.
    """
    if server is None:
        if via is Via.BULK:
            raise StoreError(
                "a bulk load makes a new store, which only the tool's own Neo4j can "
                "take; for yours: ingest export DUMP DIR --for neo4j-admin"
            )
        return False
    entities = 3 * tables.rows("objects") + tables.rows("references")
    if via is Via.BOLT or (via is Via.AUTO and entities < bulk.LEAST_ENTITIES):
        return False
    _wait_for_drops(database, progress)  # a new store is made of what is there
    plan = bulk.plan(server, database, entities, replaces)
    if via is Via.AUTO:
        return plan.obstacle is None and plan.is_faster
    if plan.obstacle is not None:
        raise StoreError(f"no bulk load is possible: {plan.obstacle}; use --via bolt")
    return True


def _wait_for_drops(database: Database, progress: Progress) -> None:
    begun = time.monotonic()
    while dumps.is_any_being_dropped(database):
        waited = time.monotonic() - begun
        if waited > _DROPS_S:
            return
        progress("wait until a dropped dump is deleted", int(waited), None)
        time.sleep(_POLL_S)


def drop(
    name: str,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    progress: Progress = silent,
) -> DumpInfo:
    """Drop a loaded dump; returns what it was.

    No reader sees it any more. A large one is removed by a process in the background;
    if the embedded server has nothing else, it starts anew with an empty store.

    Raises:
        UnknownDump: there is none of that name.
        StoreError: the server refused or was lost.
    """
    found = dumps.find_dump(database, name)
    cleaner.clean_up(database, server, progress)
    gone = f"{found.name} is dropped, and the rest of it is being removed"
    large = dumps.is_large(found.object_count)
    if server is not None and large:
        with bulk.exclusive(server), cleaner.cleaned_if_interrupted(database, server):
            if bulk.is_all(server, database, found.number):
                dumps.unpublish(database, found.number, exclusive=True)
                with interrupts.leaving(gone):
                    bulk.start_over(server, database, progress)
                return found
    with cleaner.cleaned_if_interrupted(database, server):
        dumps.unpublish(database, found.number, to_anybody=large)
        with interrupts.leaving(gone):
            if large:
                cleaner.start(database, server)
            else:
                cleaner.remove(database, server, [found.number], progress)
                next_dumps.link(database)
    return found
