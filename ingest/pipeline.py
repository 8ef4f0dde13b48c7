"""From a file to a graph that answers: read, analyse, write."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ingest.database.via import Via
from ingest.dumps import Opener
from ingest.dumps.names import numbered, source_name, stem_name
from ingest.errors import AlreadyLoaded, DumpError, StoreError
from ingest.heap.identity import Identity
from ingest.heap.read_options import DEFAULTS, ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, parts
from ingest.readers.digests import digest_of, is_rereadable
from ingest.receipt import Place, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ingest.database.connection import Database
    from ingest.database.dumps import DumpInfo
    from ingest.dumps.dump import Dump
    from ingest.heap.graph import Part
    from ingest.progress import Progress
    from ingest.readers.digests import Digests
    from ingest.server.embedded import EmbeddedServer
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import DumpTables


def load(
    dump: str,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    via: Via = Via.AUTO,
    name: str | None = None,
    replace: bool = False,
    options: ReadOptions = DEFAULTS,
    progress: Progress = silent,
) -> Receipt:
    """Load one dump; see `Loader`."""
    loader = Loader(
        database,
        server=server,
        via=via,
        name=name,
        replace=replace,
        options=options,
        progress=progress,
    )
    return loader.load(dump)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """Loads dumps, unless the same ones are there already.

    Attributes:
        database: Where to.
        server: Whose database that is, if it is the embedded one's. Then the tables
            of dumps are stored beside its store.
        via: How to write them.
        name: What to call a dump; made from the file's name otherwise. Where a part is
            chosen, its number follows. A dump that is there already is renamed.
        replace: Load again what is there, and replace whatever has the name.
        options: How to read dumps.
        digests: Of the files, if they are being computed already.
        progress: Receives all stages.
        analysed: Called with the path and the tables of each dump before it is written.
    """

    database: Database = field(kw_only=False)
    server: EmbeddedServer | None = None
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
                removes it.
            EmbeddedError: the embedded server could not be changed over; it is as
                before.
        """
        found = self._early(dump)
        if found is not None:
            return found
        names_part = self.options.part is not None
        return self._load(self._opener.open(dump), names_part=names_part)

    def load_all(self, dump: str) -> Iterator[Receipt | DumpError]:
        """Load each dump of a file as a dump of its own.

        The file is parsed once, and not at all where all its dumps are there already.

        Yields:
            A receipt for each dump, or why it cannot be read.

        Raises:
            DumpError: there is no dump in the file.
            StoreError, EmbeddedError: see `load`.
        """
        if found := self._early_all(dump):
            yield from found
            return
        for opened in self._opener.open_parts(dump):
            try:
                yield self._load_part(opened)
            except DumpError as error:
                yield error

    @property
    def _opener(self) -> Opener:
        return Opener(options=self.options, origins=True, progress=self.progress)

    def _early(self, dump: str) -> Receipt | None:
        """The receipt of a dump that is there already, found before it is parsed.

        Raises:
            StoreError: another dump has the name.
        """
        present = self._present()
        wished = self._wished(self.options.part)
        is_taken = any(entry.name == wished for entry in present)
        # What can be read only once is looked at only if it will not be parsed.
        if is_taken or is_rereadable(dump):
            listed, digest = self._listed(dump, present)
            for part in listed:
                if _is_chosen(part, self.options.part):
                    identity = Identity.of(digest, part)
                    same = [entry for entry in present if entry.identity == identity]
                    if same:
                        return self._there_already(same[0], wished, present)
                    break
        if is_taken:
            raise _name_taken(wished)
        return None

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
                same = [entry for entry in present if entry.identity == identity]
                if not same:
                    return []
                wished = self._wished(None if part is None else part.number)
                there = self._there_already(same[0], wished, present)
                process, left_out = _processes(part, listed)
                found.append(replace(there, process=process, left_out=left_out))
        return found

    def _there_already(
        self, dump: DumpInfo, wished: str | None, present: Sequence[DumpInfo]
    ) -> Receipt:
        """The receipt of a dump that is loaded already, renamed if that is wished.

        Raises:
            StoreError: another dump has the name.
        """
        from ingest.database import dumps

        before = None
        if wished is not None and wished != dump.name:
            if any(entry.name == wished for entry in present):
                raise _name_taken(wished)
            dumps.rename(self.database, dump.number, wished)
            before = dump.name
        return Receipt(
            wished or dump.name,
            dump.number,
            loaded=False,
            object_count=dump.object_count,
            reference_count=dump.reference_count,
            node_count=0,
            relationship_count=0,
            warnings=dumps.warning_counts(dump.warnings),
            shallow_bytes=dump.shallow_bytes,
            folded_count=dump.folded_count,
            folded_bytes=dump.folded_bytes,
            renamed_from=before,
        )

    def _present(self) -> list[DumpInfo]:
        """The loaded dumps; none where they do not matter."""
        from ingest.database import dumps, indexes

        indexes.ensure_schema(self.database)
        return [] if self.replace else dumps.list_dumps(self.database)

    def _listed(
        self, dump: str, present: Sequence[DumpInfo]
    ) -> tuple[Sequence[Part | None], str]:
        """The dumps of the file, and its digest.

        Returns:
            One dump, ``None``, where files of the format have no others. No dump
            where none of the file is loaded, or it cannot be read.
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
        present, wished = self._present(), self._wished(identity.part)
        for entry in present:
            if entry.identity == identity:
                return self._there_already(entry, wished, present)
        if any(entry.name == wished for entry in present):
            raise _name_taken(wished)
        return self._load(dump, names_part=True)

    def _load(self, dump: Dump, *, names_part: bool) -> Receipt:
        """Read a dump, analyse it and write it.

        Args:
            dump: The dump, which is closed.
            names_part: Whether the number of the part follows the name.
        """
        begun = time.monotonic()
        graph, identity = dump.graph, dump.identity
        assert identity is not None
        number = identity.part if names_part else None
        stem = stem_name(dump.what, self.options)
        if number is not None:
            stem = f"{stem}-part{number}"
        place = self._place(identity, self._wished(number), stem)
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
            tables: All of them.
            identity: Which dump of which file they are.
            dump: The file's path or address.

        Raises:
            StoreError, EmbeddedError: see `load`.
        """
        begun = time.monotonic()
        self._present()
        place = self._place(identity, self._wished(None), stem_name(dump))
        if isinstance(place, Receipt):
            return place
        return self._write(tables, identity, place, source_name(dump), begun)

    def _place(
        self, identity: Identity, name: str | None, stem: str
    ) -> Receipt | Place:
        """What a dump will be called, and which dumps it replaces.

        Args:
            identity: Which dump of which file it is.
            name: What it is to be called; ``None`` for a name made of ``stem``.
            stem: Part of a name.

        Returns:
            The receipt instead if it is loaded already and shall not be replaced.

        Raises:
            StoreError: another dump has the name.
        """
        from ingest.database import dumps

        present = dumps.list_dumps(self.database)
        same = [entry for entry in present if entry.identity == identity]
        if same and not self.replace:
            return self._there_already(same[0], name, present)
        named = [entry for entry in present if name is not None and entry.name == name]
        if named and not self.replace:
            raise _name_taken(name)
        replaced = {entry.number: entry for entry in [*same, *named]}
        taken = {entry.name for entry in present if entry.number not in replaced}
        free = same[0].name if same else numbered(stem, taken)
        return Place(name, free, tuple(replaced.values()))

    def _write(
        self,
        tables: DumpTables,
        identity: Identity,
        place: Place,
        source: str,
        begun: float,
    ) -> Receipt:
        """Write the tables of a dump, which frees them."""
        from ingest.database import dumps
        from ingest.database.writing import write

        about = tables.dump()
        try:
            written = write(
                tables,
                self.database,
                server=self.server,
                via=self.via,
                name=place.wished or place.free,
                exact_name=place.wished is not None,
                source=source,
                identity=identity,
                replaces=sorted(entry.number for entry in place.replaced),
                progress=self.progress,
            )
        except AlreadyLoaded:
            present = dumps.list_dumps(self.database)
            for entry in present:
                if entry.identity == identity:
                    return self._there_already(entry, place.wished, present)
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
            warnings=dumps.warning_counts(cast("list[str]", about["warnings"] or [])),
            shallow_bytes=count("shallow_bytes"),
            folded_count=count("folded_count"),
            folded_bytes=count("folded_bytes"),
            seconds=round(time.monotonic() - begun, 3),
            replaced=tuple(entry.name for entry in place.replaced),
        )


def _is_chosen(part: Part | None, number: int | None) -> bool:
    """Whether a dump of a file is the one that ``--part`` chooses, or no option."""
    if part is None:
        return number is None
    return part.is_default if number is None else part.number == number


def _processes(
    part: Part | None, parts: Iterable[Part | None]
) -> tuple[str, tuple[str, ...]]:
    """The process of a part, and those of the other parts of its file."""
    if part is None:
        return "", ()
    others = {other.process for other in parts if other is not None}
    return part.process, tuple(sorted(others - {part.process}))


def _name_taken(name: str | None) -> StoreError:
    return StoreError(
        f"another dump is named {name!r}; choose another --name, or --replace it"
    )
