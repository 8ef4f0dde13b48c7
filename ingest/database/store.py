"""A Neo4j with dumps in it: opening it, finding dumps, writing and dropping them.

Most commands only read, so modules that write, and polars, are imported when needed.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.database import claims, dump_list
from ingest.database.connection import connect
from ingest.database.indexes import ensure_constraints
from ingest.database.links import link_next
from ingest.database.writing import Via, writer_for
from ingest.errors import (
    NeedsRestart,
    ServerFailed,
    ServerUnavailable,
    StoreError,
    UnknownDump,
)
from ingest.progress import silent
from ingest.server.embedded import DATABASE, EmbeddedServer, target_of
from ingest.server.process import full_disk, is_full
from ingest.server.target import own_target
from ingest.system import interrupts
from ingest.system.settings import settings
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.database.claims import Place
    from ingest.database.connection import Database
    from ingest.database.dump_list import ChosenDump, DumpInfo
    from ingest.heap.identity import Identity
    from ingest.progress import Progress
    from ingest.server.target import Target
    from ingest.system.settings import Settings
    from ingest.tables.mapping import Counts, DumpTables, Tables

_LEFT = "what was written of it is being removed"


@dataclass(frozen=True, slots=True)
class Written:
    """The dump that was written.

    Attributes:
        name: The dump's name; differs from the requested one if that was taken.
        number: The dump's number.
        counts: Its nodes and relationships.
        linked, not_linked: See `ingest.database.links.told_by_ids`.
    """

    name: str
    number: int
    counts: Counts
    linked: tuple[str, ...] = ()
    not_linked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Store:
    """The dumps of a Neo4j, open.

    Attributes:
        database: The connection.
    """

    database: Database

    @classmethod
    @contextmanager
    def open(
        cls,
        uri: str | None = None,
        username: str | None = None,
        password: str | None = None,
        database: str | None = None,
        progress: Progress = silent,
        *,
        for_dumps: bool = True,
        on_notice: Callable[[str], None] = lambda _: None,
    ) -> Iterator[Store]:
        """Open the server that the arguments or the settings name.

        By default it is the embedded one, which is started, and started again when it
        is lost.

        Args:
            uri: The server's address.
            username: The user there.
            password: The password there.
            database: The name of its database.
            progress: Receives the start of the server.
            for_dumps: Whether only its dumps are of interest: no server is started just
                to find that it has none.
            on_notice: Called with what happened to the server.

        Raises:
            StoreError: it cannot be opened.
            EmbeddedError: the embedded one cannot be fetched or started.
            UnknownDump: ``for_dumps`` is set, and the embedded one was never started.
        """
        known = settings()
        target = own_target(known, uri, username, password, database)
        if target is not None:
            with connect(target) as opened:
                yield cls(opened)
            return
        server, name = EmbeddedServer(known), database or DATABASE
        if for_dumps and not server.has_database():
            raise UnknownDump(dump_list.NO_DUMP)

        def find(error: StoreError, lost: Target) -> Target:
            if not isinstance(error, NeedsRestart):
                return target_of(server.start(progress), name)
            endpoint = server.restart(lost.pid, progress)
            on_notice("Neo4j had met a critical error and has been restarted")
            return target_of(endpoint, name)

        started = target_of(server.start(progress), name)
        try:
            with connect(started, find, server=server) as opened:
                yield cls(opened)
        except (ServerFailed, ServerUnavailable) as error:
            if is_full(server.home):
                raise full_disk(server.home) from error
            raise

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server, if the database is its own."""
        return self.database.server

    def ensure_constraints(self) -> None:
        """Make what claiming and publishing dumps needs."""
        with self.database.writing():
            ensure_constraints(self.database)

    def prepare(self) -> None:
        """Import what `write` needs, and let the server plan the first query."""
        import_module("ingest.database.bulk")
        claims.plan_claim(self.database)

    def dumps(self) -> list[DumpInfo]:
        """All ready dumps, the newest first."""
        return dump_list.list_dumps(self.database)

    def find(self, name: str | None) -> DumpInfo:
        """The ready dump of that name; the newest if no name is given.

        Raises:
            UnknownDump: there is none.
        """
        return self.select(name).dump

    def select(self, name: str | None, number: int | None = None) -> ChosenDump:
        """The ready dump of that name, else of that number, else the newest.

        Raises:
            UnknownDump: there is none.
        """
        return dump_list.select_dump(self.database, name, number)

    def rename(self, number: int, name: str) -> None:
        """Give a ready dump another name.

        Raises:
            Conflict: another dump has it.
            StoreError: a bulk load is in progress, or the dump has just been dropped.
        """
        claims.rename(self.database, number, name)

    def write(
        self,
        tables: DumpTables,
        place: Place,
        *,
        via: Via = Via.AUTO,
        source: str,
        identity: Identity,
        progress: Progress = silent,
    ) -> Written:
        """Write one dump under a number of its own and make it ready.

        Args:
            tables: The dump; closed once its tables are stored beside a server.
            place: What to call it, and what it replaces.
            via: How to write it.
            source: The file's name.
            identity: Identifies the dump and its file.
            progress: Receives all stages.

        Raises:
            AlreadyLoaded: another process has loaded the same file in the meantime.
            StoreError, EmbeddedError: see `ingest.database.loading.Loader.load`.
        """
        from ingest.database import bulk, cleaner
        from ingest.tables import mapping

        database, server = self.database, self.server
        about: dict[str, object] = {"source": source, "tool_version": __version__}
        properties = tables.dump() | about
        storing = bulk.storing(server, tables, progress) if server else nullcontext()
        with database.writing(), storing as put:
            cleaner.clean_up(database, progress)
            writer = writer_for(database, via, tables, place.numbers, progress)
            with (
                interrupts.leaving(_interrupted(place)),
                cleaner.cleaned_if_interrupted(database),
                cleaner.going_on_if_failed(database, is_stopped=writer.is_exclusive),
                writer.ready(),
            ):
                number, node = claims.claim(
                    database, place, identity, about, exclusive=writer.is_exclusive
                )
                with claims.given_up_if_failed(database, number):
                    writer.look()
                    chosen: Tables = tables
                    if put is None:
                        counts = mapping.counts(tables)
                    else:
                        chosen = stored = put(number, identity.sha256)
                        counts = stored.counts()
                        tables.close()  # its memory is needed, and files have it all
                    new = claims.NewDump(
                        number, node, place, properties, chosen, counts
                    )
                    name, linked, others = writer.write(new)
                    if not writer.is_exclusive:
                        database.note_stored(number)
        return Written(name, number, counts, linked, others)

    def drop(self, name: str, progress: Progress = silent) -> DumpInfo:
        """Drop a loaded dump, and return its description.

        No reader sees it any more. A background process removes a large dump; if the
        embedded server has nothing else, it starts with a new empty store instead.

        Raises:
            UnknownDump: no dump has that name.
            StoreError: the server refused or was lost.
        """
        database, found = self.database, self.find(name)
        with database.writing():
            return self._drop(found, progress)

    def _drop(self, found: DumpInfo, progress: Progress) -> DumpInfo:
        from ingest.database import bulk, cleaner

        database, server = self.database, self.server
        cleaner.clean_up(database, progress)
        gone = f"{found.name} is dropped; the rest of it is still being removed"
        large = claims.is_large(found.object_count)
        if server is not None and large:
            with bulk.exclusive(server), cleaner.cleaned_if_interrupted(database):
                if bulk.is_all(database, found.number):
                    claims.unpublish(database, found.number, exclusive=True)
                    given_up = claims.given_up_if_failed(database, found.number)
                    with interrupts.leaving(gone), given_up:
                        bulk.start_over(database, progress)
                    return found
        with cleaner.cleaned_if_interrupted(database):
            claims.unpublish(database, found.number, to_anybody=large)
            given_up = claims.given_up_if_failed(database, found.number)
            with interrupts.leaving(gone), given_up:
                if large:
                    cleaner.start(database)
                else:
                    cleaner.remove(database, [found.number], progress)
                    link_next(database)
        return found


def running_target(settings: Settings) -> Target | None:
    """The user's own server, or the embedded one if it runs already."""
    if own := own_target(settings):
        return own
    endpoint = EmbeddedServer(settings).running()
    return None if endpoint is None else target_of(endpoint)


def _interrupted(place: Place) -> str:
    """The message after an interrupted load, which replaced nothing."""
    if not place.replaced:
        return f"this dump was not loaded; {_LEFT}"
    names = printable(", ".join(dump.name for dump in place.replaced))
    verb = "is" if len(place.replaced) == 1 else "are"
    return f"this dump was not loaded, {names} {verb} as before; {_LEFT}"
