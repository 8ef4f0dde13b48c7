"""The two ways of writing a dump, and which one it takes."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from ingest.errors import StoreError
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Container
    from contextlib import AbstractContextManager

    from ingest.database.bulk import Plan
    from ingest.database.claims import NewDump, WrittenDump
    from ingest.database.connection import Database
    from ingest.progress import Progress
    from ingest.tables.mapping import Tables

_DROPS_S, _POLL_S = 600.0, 0.5


class Via(StrEnum):
    """How a dump gets into a database, as the command line names it.

    ``BOLT`` writes into the running server, ``BULK`` makes a new store (see
    `ingest.database.bulk`), ``AUTO`` takes what is estimated to be faster.
    """

    AUTO = "auto"
    BOLT = "bolt"
    BULK = "bulk"


class Writer(Protocol):
    """A way of writing a dump.

    Attributes:
        is_exclusive: Whether no other load or drop may be in progress at the same time.
    """

    is_exclusive: bool

    def ready(self) -> AbstractContextManager[None]:
        """Do what takes time before the dump is claimed."""

    def look(self) -> None:
        """Look up what the database contains; call it when no other load can begin."""

    def write(self, dump: NewDump) -> WrittenDump:
        """Write a claimed dump and make it ready."""


def writer_for(
    database: Database,
    via: Via,
    tables: Tables,
    replaced: Container[int],
    progress: Progress,
) -> Writer:
    """Choose how to write a dump.

    Args:
        database: The database to write to.
        via: The requested way.
        tables: The dump.
        replaced: Numbers of dumps that will be removed.
        progress: Receives all stages.

    Raises:
        StoreError: a bulk load was asked for and is not possible.
    """
    from ingest.database.bolt import BoltWriter
    from ingest.database.bulk import BulkWriter
    from ingest.tables.mapping import entity_estimate

    entities = entity_estimate(tables)
    chosen = _bulk_plan(database, via, entities, replaced, progress)
    if chosen is None:
        return BoltWriter(database, progress)
    return BulkWriter(database, progress)


def _bulk_plan(
    database: Database,
    via: Via,
    entities: int,
    replaced: Container[int],
    progress: Progress,
) -> Plan | None:
    """The plan of a bulk load; ``None`` if the dump is to be written over Bolt."""
    from ingest.database import cleaner
    from ingest.database.bulk import LEAST_ENTITIES, plan

    if database.server is None:
        if via is Via.BULK:
            raise StoreError(
                "a bulk load needs the embedded Neo4j; for your own server: "
                + command("export", "DUMP", "DIR", "--for", "neo4j-admin")
            )
        return None
    if via is Via.BOLT or (via is Via.AUTO and entities < LEAST_ENTITIES):
        return None
    if not cleaner.stop(database, progress):
        _wait_for_drops(database, progress)
    found = plan(database, entities, replaced)
    if found.obstacle is None and (via is Via.BULK or found.is_faster):
        return found
    is_any_deleted = cleaner.go_on(database)
    if via is Via.AUTO:
        return None
    if is_any_deleted:  # which may be the obstacle
        _wait_for_drops(database, progress)
        found = plan(database, entities, replaced)
    if found.obstacle is not None:
        raise StoreError(f"no bulk load is possible: {found.obstacle}; use --via bolt")
    return found


def _wait_for_drops(database: Database, progress: Progress) -> None:
    from ingest.database.dump_list import is_any_being_dropped

    begun = time.monotonic()
    while is_any_being_dropped(database):
        waited = time.monotonic() - begun
        if waited > _DROPS_S:
            return
        progress("wait until a dropped dump is deleted", int(waited), None)
        time.sleep(_POLL_S)
