"""From a file to a graph that answers: read, analyse, write."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeVar, cast

from ingest.database.writing import Via
from ingest.dumps import Opener
from ingest.dumps.dump import source_name, stem_name
from ingest.errors import AlreadyLoaded, DumpError, StoreError
from ingest.heap.identity import Identity
from ingest.heap.read_options import DEFAULTS, ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, parts
from ingest.readers.digests import digest_of, is_rereadable
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ingest.database.claims import Place
    from ingest.database.dump_list import DumpInfo
    from ingest.database.store import Store
    from ingest.dumps.dump import Dump
    from ingest.heap.graph import Part
    from ingest.progress import Progress
    from ingest.readers.digests import Digests
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import DumpTables

    Result = TypeVar("Result")

_AT_ONCE_S = 0.05
"""A server that has answered before answers within this time, so that no file is read
in vain. One that was just started takes a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """Loads dumps that are not in the database yet.

    Attributes:
        store: The store to load into.
        via: How to write them.
        name: Name for the dump; by default it is made from the file's name. If a part
            is chosen, its number follows. A dump that is there already is renamed.
        replace: Load again what is there, and replace any dump that has the name.
        options: How to read dumps.
        digests: Digests of the files, if they are being computed already.
        progress: Receives all stages.
        analysed: Called with the path and the tables of each dump before it is written.
    """

    store: Store = field(kw_only=False)
    via: Via = Via.AUTO
    name: str | None = None
    replace: bool = False
    options: ReadOptions = DEFAULTS
    digests: Digests | None = None
    progress: Progress = silent
    analysed: Callable[[str, HeapTables], None] = lambda _dump, _tables: None

    def load(self, dump: str) -> Receipt:
        """Load one dump of a file.

        Args:
            dump: A path, or ``-``.

        Raises:
            DumpError: the dump cannot be read.
            StoreError: the server refused or was lost, the name is taken, or no bulk
                load is possible. What was written stays invisible, and the next load
                EmbeddedError: the embedded server could not be changed over; its state
                    is as before.
                before.
        """
        return self._with_names_of(dump)._load_file(dump)

    def _with_names_of(self, dump: str) -> Loader:
        """This loader, with the original names of the dump's build."""
        return replace(self, options=self.options.of_dump(dump))

    def _load_file(self, dump: str) -> Receipt:
        begun = time.monotonic()
        if is_rereadable(dump):
            opened, found = self._read_beside(dump)
        else:
            found = self._early(dump, self._present())
            opened = self._opener.open(dump)
        if found is not None:
            return found
        names_part = self.options.part is not None
        return self._load(opened, begun, names_part=names_part)

    def _read_beside(self, dump: str) -> tuple[Dump, Receipt | None]:
        """Read and analyse a file while the server lists its dumps.

        Once it has, reading goes on only if the dump is not there already.

        Returns:
            The dump, and a receipt if it is there already.
        """
        answer = _Answer(
            self._present,
            partial(self._early, dump),
            self.progress,
            then=self.store.prepare,
        )
        try:
            opened = replace(self._opener, progress=answer).open(dump)
            try:
                answer.stop_if_there()
                _ = opened.metrics
            except Exception:
                if answer.receipt() is None:
                    raise
            found = answer.receipt()
        except Exception:
            answer.wait()
            raise
        answer.wait()
        return opened, found

    def load_all(self, dump: str) -> Iterator[Receipt | DumpError]:
        """Load each dump of a file as a dump of its own.

        The file is parsed once, and not at all if all its dumps are there already.

        Yields:
            A receipt for each dump, or why it cannot be read.

        Raises:
            DumpError: there is no dump in the file.
            StoreError, EmbeddedError: see `load`.
        """
        loader = self._with_names_of(dump)
        if found := loader._early_all(dump):
            yield from found
            return
        for opened in loader._opener.open_parts(dump):
            try:
                yield loader._load_part(opened)
            except DumpError as error:
                yield error

    @property
    def _opener(self) -> Opener:
        return Opener(options=self.options, origins=True, progress=self.progress)

    def _early(self, dump: str, present: Sequence[DumpInfo]) -> Receipt | None:
        """The receipt of a dump that is there already, found before it is parsed.

        Raises:
            StoreError: another dump has the name.
        """
        wished = self._wished(self.options.part)
        identity = None
        # A source that can be read only once is digested only if it is not parsed.
        if is_rereadable(dump) or any(entry.name == wished for entry in present):
            listed, digest = self._listed(dump, present)
            for part in listed:
                if _is_chosen(part, self.options.part):
                    identity = Identity.of(digest, part)
                    break
        place = self._place(present, identity, wished)
        return place if isinstance(place, Receipt) else None

    def _early_all(self, dump: str) -> list[Receipt]:
        """The receipts of all dumps of the file, if all are there already."""
        if not is_rereadable(dump):
            return []
        present = self._present()
        listed, digest = self._listed(dump, present)
        chosen = next((part for part in listed if _is_chosen(part, None)), None)
        found = []
        for part in listed:
            if part is None or chosen is None or part.process == chosen.process:
                identity = Identity.of(digest, part)
                if all(entry.identity != identity for entry in present):
                    return []
                wished = self._wished(None if part is None else part.number)
                there = self._place(present, identity, wished)
                assert isinstance(there, Receipt)
                process, left_out = _processes(part, listed)
                found.append(replace(there, process=process, left_out=left_out))
        return found

    def _place(
        self,
        present: Sequence[DumpInfo],
        identity: Identity | None,
        wished: str | None,
        stem: str = "",
        *,
        again: bool = False,
        options: str | None = None,
    ) -> Receipt | Place:
        """The place for a dump, or its receipt if it is there already; see `place_for`.

        A dump that is there is renamed if another name was requested.

        Args:
            present: The dumps of the database.
            identity: Identifies the dump and its file.
            wished: The requested name.
            stem: Beginning of a name.
            again: Whether to load again what is there.
            options: Options that it was read with; ``None`` for those of this loader.

        Raises:
            StoreError: another dump has the name, or the dump in the database was read
                with other options.
        """
        from ingest.database.claims import Place, place_for
        from ingest.database.dump_list import warning_counts

        if options is None:
            options = self.options.recorded()
        found = place_for(
            present, identity, wished, stem, options=options, replace=again
        )
        if isinstance(found, Place):
            return found
        if self.options.strict and found.warning_count:
            raise StoreError(
                f"the dump is already loaded as {found.name}, with "
                f"{counted(found.warning_count, 'irregularities')}, "
                "which --strict refuses"
            )
        before = None
        if wished is not None and wished != found.name:
            self.store.rename(found.number, wished)
            before = found.name
        return Receipt(
            wished or found.name,
            found.number,
            loaded=False,
            object_count=found.object_count,
            reference_count=found.reference_count,
            node_count=0,
            relationship_count=0,
            warnings=warning_counts(found.warnings),
            shallow_bytes=found.shallow_bytes,
            folded_count=found.folded_count,
            folded_bytes=found.folded_bytes,
            incomplete=found.incomplete,
            renamed_from=before,
        )

    def _present(self) -> list[DumpInfo]:
        """The loaded dumps; empty if they do not matter."""
        self.store.ensure_constraints()
        return [] if self.replace else self.store.dumps()

    def _listed(
        self, dump: str, present: Sequence[DumpInfo]
    ) -> tuple[Sequence[Part | None], str]:
        """The dumps of the file, and its digest.

        Returns:
            ``None`` alone if files of the format have one dump only. Nothing if no dump
            of the file is loaded, or if the file cannot be read.
        """
        if is_rereadable(dump):
            if not present:
                return (), ""
            of_file = self.digests.of(dump) if self.digests else digest_of(dump)
            digest = None if of_file is None else self.options.digest(of_file)
            if all(entry.sha256 != digest for entry in present):
                return (), ""
        with open_source(dump) as source:
            if self.options.any_expansion:
                source.allow_any_expansion()
            listed = parts(source, self.progress)
        redacted = [self.options.redacted_part(p, source.sha256) for p in listed]
        return redacted or (None,), self.options.digest(source.sha256)

    def _wished(self, part: int | None) -> str | None:
        """The requested name, followed by the number of the part if one is selected."""
        if self.name is None or part is None:
            return self.name
        return f"{self.name}-part{part}"

    def _load_part(self, dump: Dump) -> Receipt:
        """Load one of several dumps; its graph is not made if it is there already."""
        identity = dump.identity
        assert identity is not None
        place = self._place(self._present(), identity, self._wished(identity.part))
        if isinstance(place, Receipt):
            return place
        return self._load(dump, time.monotonic(), names_part=True)

    def _load(self, dump: Dump, begun: float, *, names_part: bool) -> Receipt:
        """Read a dump, analyse it and write it.

        Args:
            dump: The dump, which is closed.
            begun: When the load began.
            names_part: Whether the number of the part follows the name.
        """
        graph, identity = dump.graph, dump.identity
        assert identity is not None
        number = identity.part if names_part else None
        stem = stem_name(dump.what, self.options)
        if number is not None:
            stem = f"{stem}-part{number}"
        wished = self._wished(number)
        present = self.store.dumps()
        place = self._place(present, identity, wished, stem, again=self.replace)
        if isinstance(place, Receipt):
            return place
        process, left_out = _processes(graph.part, graph.other_parts)
        del graph  # `write` frees it
        tables = dump.take_tables()
        self.analysed(dump.what, tables)
        receipt = self._write(tables, identity, place, dump.source, begun)
        return replace(receipt, process=process, left_out=left_out)

    def load_tables(self, tables: DumpTables, identity: Identity, dump: str) -> Receipt:
        """Load a dump that was read before, from its tables.

        Args:
            tables: All tables of the dump.
            identity: Identifies the dump and its file.
            dump: The file's path or address.

        Raises:
            StoreError, EmbeddedError: see `load`.
        """
        begun = time.monotonic()
        self.store.ensure_constraints()
        present, stem = self.store.dumps(), stem_name(dump)
        place = self._place(
            present,
            identity,
            self.name,
            stem,
            again=self.replace,
            options=cast("str", tables.dump().get("read_options") or ""),
        )
        if isinstance(place, Receipt):
            return place
        return self._write(tables, identity, place, source_name(dump), begun)

    def _write(
        self,
        tables: DumpTables,
        identity: Identity,
        place: Place,
        source: str,
        begun: float,
    ) -> Receipt:
        """Write the tables of a dump, and free them."""
        from ingest.database.dump_list import warning_counts

        about = tables.dump()
        try:
            written = self.store.write(
                tables,
                place,
                via=self.via,
                source=source,
                identity=identity,
                progress=self.progress,
            )
        except AlreadyLoaded:
            wished = place.name if place.is_exact else None
            read = cast("str", about.get("read_options") or "")
            found = self._place(self.store.dumps(), identity, wished, options=read)
            if isinstance(found, Receipt):
                return found
            raise

        def count(name: str) -> int:
            return cast("int", about[name] or 0)

        return Receipt(
            written.name,
            written.number,
            loaded=True,
            object_count=count("object_count"),
            reference_count=count("reference_count"),
            node_count=sum(written.counts.nodes.values()),
            relationship_count=sum(written.counts.relationships.values()),
            warnings=warning_counts(cast("list[str]", about["warnings"] or [])),
            shallow_bytes=count("shallow_bytes"),
            folded_count=count("folded_count"),
            folded_bytes=count("folded_bytes"),
            incomplete=cast("str", about.get("incomplete") or ""),
            seconds=round(time.monotonic() - begun, 3),
            replaced=tuple(dump.name for dump in place.replaced),
            linked=written.linked,
            not_linked=written.not_linked,
        )


class _IsThere(Exception):
    """The dump that is being read is there already."""


class _Answer:
    """What the server says about a dump while the dump is being read.

    It is a `Progress` too, and ends reading at its next report if that is in vain.
    After Ctrl-C a thread of its own still waits for the server, until its connection is
    closed.

    Args:
        present: Asks the server for its dumps.
        early: Called once with these dumps; see `Loader._early`.
        progress: Receives what is reported.
        then: What else to ask the server in the meantime if the dump is not there; it
            may fail.
    """

    def __init__(
        self,
        present: Callable[[], list[DumpInfo]],
        early: Callable[[list[DumpInfo]], Receipt | None],
        progress: Progress,
        then: Callable[[], None],
    ) -> None:
        self._early = early
        self._progress = progress
        self._present: Future[list[DumpInfo]] = Future()
        self._receipt: Future[Receipt | None] = Future()
        self._looking = Lock()

        def ask() -> None:
            _settle(self._present, present)
            with suppress(Exception):  # the reader is told
                if self.receipt() is None:
                    then()

        self._thread = Thread(
            target=copy_context().run, args=(ask,), name="present", daemon=True
        )
        self._thread.start()
        with suppress(Exception):  # an error is raised when the result is used
            self._present.result(_AT_ONCE_S)

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """See `Progress`."""
        self.stop_if_there()
        self._progress(stage, done, total)

    def stop_if_there(self) -> None:
        """Stop reading if the server has answered that the dump is there.

        Raises:
            StoreError: the server has refused.
        """
        if self._present.done() and self.receipt() is not None:
            raise _IsThere

    def receipt(self) -> Receipt | None:
        """The receipt if the dump is there already; waits for the server.

        Raises:
            StoreError: the server refuses.
        """
        with self._looking:
            if not self._receipt.done():
                _settle(self._receipt, lambda: self._early(self._present.result()))
        return self._receipt.result()

    def wait(self) -> None:
        """Wait until the server is asked for nothing more."""
        self._thread.join()


def _settle(future: Future[Result], work: Callable[[], Result]) -> None:
    """Give a future the result of some work, or its error."""
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)


def _is_chosen(part: Part | None, number: int | None) -> bool:
    """Whether ``--part`` chooses a dump of a file; without it, the default one."""
    if part is None:
        return number is None
    return part.is_default if number is None else part.number == number


def _processes(
    part: Part | None, parts: Iterable[Part | None]
) -> tuple[str, tuple[str, ...]]:
    """The process of a part, and the other processes in its file."""
    if part is None:
        return "", ()
    others = {other.process for other in parts if other is not None}
    return part.process, tuple(sorted(others - {part.process}))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a dump that was to be loaded.

    Attributes:
        name: Name for ``--dump``.
        number: What queries find in ``$dump``.
        loaded: False if the dump was there already.
        object_count, reference_count: Sizes of the dump.
        shallow_bytes: Shallow size of its objects.
        node_count, relationship_count: Nodes and relationships written.
        warnings: Irregularities by kind.
        folded_count, folded_bytes: Objects of the runtime that were left out.
        seconds: How long the load took.
        renamed_from: Its previous name, if only the name was changed.
        replaced: Names of the dumps that it replaces.
        process: Process of the dump, if its file records several; else empty.
        linked: Names of the dumps whose objects are linked to its own by their ids.
        not_linked: Names of other dumps whose ids last, but are of another numbering.
        left_out: The other processes, whose dumps ``--all-dumps`` does not load.
        incomplete: Why the dump is not the whole heap; empty if nothing speaks against
            it.
    """

    name: str
    number: int
    loaded: bool
    object_count: int
    reference_count: int
    node_count: int
    relationship_count: int
    warnings: dict[str, int]
    shallow_bytes: int = 0
    folded_count: int = 0
    folded_bytes: int = 0
    seconds: float = 0.0
    renamed_from: str | None = None
    replaced: tuple[str, ...] = ()
    process: str = ""
    left_out: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    not_linked: tuple[str, ...] = ()
    incomplete: str = ""
