"""The door: only this package opens what a user names as a dump.

A dump is a file, a member of an archive, standard input, one of several dumps of a
file, a folder of ``ingest export``, or a dump that a database or a fleet keeps.
Databases and fleets are on higher floors, and come as a `Keeper`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ingest.dumps.dump import Dump, KeptDump, source_name, stem_name
from ingest.dumps.memory import check_file
from ingest.errors import IngestError, UnknownDump
from ingest.heap.identity import Identity
from ingest.heap.read_options import DEFAULTS, Fold, ReadOptions
from ingest.progress import silent
from ingest.readers import has_suffix, open_source, read, read_all
from ingest.readers.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ingest.heap.graph import HeapGraph, Part
    from ingest.progress import Progress

_MEMBER = "::"
"""Separates an archive and its member, or a fleet and its dump."""


class Keeper(Protocol):
    """What keeps dumps: a database or a fleet."""

    def find(self, what: str) -> KeptDump | None:
        """The dump of that name; ``None`` if names of its dumps look different.

        Raises:
            UnknownDump: its dumps have such names, but none has this one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """How the dumps of a command are opened.

    Attributes:
        options: How to read and to measure them.
        keepers: Where to look for a name that is not a file.
        origins: Whether the objects of files are followed back through collections.
        progress: Receives all stages.
    """

    options: ReadOptions = DEFAULTS
    keepers: Sequence[Keeper] = ()
    origins: bool = False
    progress: Progress = silent

    def open(self, what: str) -> Dump:
        """Open one dump; nothing of a file is read before it is needed.

        Args:
            what: A path, ``ARCHIVE.zip::MEMBER``, ``-``, a folder of ``ingest export``,
                or a dump that a keeper knows.

        Raises:
            DumpError: there is no such file, or the folder has no dump.
            UnknownDump: neither a file nor a kept dump has that name.
            IngestError: the options need the file, but the dump was read before and
                only its tables are kept.
        """
        if is_file(what):
            opener = replace(self, options=self.options.of_dump(what))
            return opener._of_file(what, opener._read)
        kept = self._kept(what)
        self._check_kept(what, kept)
        if self.options.runtime is not None:
            kept = kept._replace(runtime=self.options.runtime)
        return Dump(
            what=what,
            name=kept.name,
            source=kept.source,
            options=self.options,
            origins=False,
            progress=self.progress,
            read=kept.heap,
            kept=kept,
        )

    def open_parts(self, file: str) -> Iterator[Dump]:
        """Open each dump of a file, in one pass over it.

        A dump is closed when the next one is asked for.

        Raises:
            DumpError: the file cannot be read, or has no dump.
        """
        before: Dump | None = None
        opener = replace(self, options=self.options.of_dump(file))
        with open_source(file) as source:
            check_file(source, opener.options)
            for pending in read_all(source, opener.options, self.progress):
                if before is not None:
                    before.close()
                digest = self.options.digest(source.sha256)
                before = opener._of_file(
                    file, _once(pending.graph, digest), pending.part, digest
                )
                yield before

    def open_all(self, named: Sequence[str]) -> Iterator[Dump]:
        """Open dumps one after another; a single file stands for all dumps in it.

        A dump is closed when the next one is asked for, so only one heap at a time is
        in memory.

        Raises:
            DumpError, UnknownDump, IngestError: see `open`.
        """
        if len(named) == 1 and self.options.part is None and is_file(named[0]):
            yield from self.open_parts(named[0])
            return
        before: Dump | None = None
        for what in named:
            if before is not None:
                before.close()
            before = self.open(what)
            yield before

    def _read(self, what: str) -> tuple[HeapGraph, Identity]:
        with open_source(what) as source:
            check_file(source, self.options)
            graph = read(source, self.options, self.progress)
            return graph, Identity.of(self.options.digest(source.sha256), graph.part)

    def _of_file(
        self,
        what: str,
        read: Callable[[str], tuple[HeapGraph, Identity]],
        part: Part | None = None,
        sha256: str | None = None,
    ) -> Dump:
        stem = stem_name(what, self.options)
        return Dump(
            what=what,
            name=stem if part is None else f"{stem}-part{part.number}",
            source=source_name(what, self.options),
            options=self.options,
            origins=self.origins,
            progress=self.progress,
            read=lambda: read(what),
            part=part,
            identity=None if sha256 is None else Identity.of(sha256, part),
        )

    def _kept(self, what: str) -> KeptDump:
        """The dump that a keeper has under a name.

        Raises:
            DumpError: it is a folder without a dump, or looks like the name of a file.
            UnknownDump: no keeper has such a dump.
        """
        if Path(what).is_dir():
            from ingest.dumps.dump import kept_export

            return kept_export(Path(what))
        if not self.keepers:
            raise UnknownDump(
                f"{what}: no such file; name the dump's file, or an exported folder: "
                "dumps that a database or a fleet keeps are not taken here"
            )
        missing = None
        for keeper in self.keepers:
            try:
                found = keeper.find(what)
            except UnknownDump as error:
                missing = error
                continue
            if found is not None:
                return found
        if missing is None:
            raise UnknownDump(f"{what}: no such file, and no loaded dump of that name")
        raise UnknownDump(f"{missing}; and no such file") from None

    def _check_kept(self, what: str, kept: KeptDump) -> None:
        """Refuse options that need the file to be read again."""
        options = self.options
        if options.redaction is not None and not kept.is_redacted:
            raise IngestError(
                f"{what} still has its values; name its file, or read it again with "
                "--redact"
            )
        asked = {
            "--part": options.part is not None,
            "--layout": options.layout is not None,
            "--mapping": options.mapping is not None,
            "--source-map": options.source_map is not None,
            "--values": bool(options.values),
            "--fold none": options.fold is Fold.NONE,
        }
        for option, is_given in asked.items():
            if is_given:
                raise IngestError(
                    f"{what} was read before, and {option} is for reading a file: "
                    "name its file instead"
                )


def is_file(what: str) -> bool:
    """Whether a user means a file: it exists, or the name looks like a file's."""
    if what == STDIN:
        return True
    try:
        path = Path(what)
        if path.is_dir():
            return False
        if path.exists():
            return True
    except OSError:  # longer than any file name
        return True
    outer, mark, _ = what.partition(_MEMBER)
    if mark:
        return not Path(outer).is_dir()
    return os.sep in what or has_suffix(what)


def _once(
    graph: Callable[[], HeapGraph], sha256: str
) -> Callable[[str], tuple[HeapGraph, Identity]]:
    """Give out, once, a dump of a file that has been parsed."""

    def read(_: str) -> tuple[HeapGraph, Identity]:
        made = graph()
        return made, Identity.of(sha256, made.part)

    return read
