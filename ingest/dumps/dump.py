"""A dump that was opened, or is kept: its heap, metrics, tables and names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from ingest.analysis.merged import MAX_GROUPS, TREES
from ingest.dumps.memory import check_heap
from ingest.errors import DumpError
from ingest.heap.read_options import DEFAULTS, REDACTED, ReadOptions
from ingest.readers import stem as stem_of
from ingest.readers.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph, Part
    from ingest.heap.identity import Identity
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import Tables


class KeptDump(NamedTuple):
    """A dump that was read before, and whose tables are kept.

    Attributes:
        name: Its name in the keeper.
        source: Name of its file, or of the folder of the tables.
        tables: Its tables.
        format_name: Name of its format; empty if that is not known.
        runtime: Name of its runtime; empty if that is not known.
        identity: Identifies the dump and its file; ``None`` if unknown.
        strength: The policy under which it was measured; empty if that is not known.
        is_redacted: Whether its values were removed.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.
    """

    name: str
    source: str
    tables: Tables
    format_name: str = ""
    runtime: str = ""
    identity: Identity | None = None
    strength: str = ""
    is_redacted: bool = False
    incomplete: str = ""

    def heap(self) -> tuple[HeapGraph, Identity | None]:
        """Its heap, made again from the tables.

        Raises:
            IngestError: the tables contradict one another, or are incomplete.
        """
        from ingest.tables.stored_heap import stored_heap

        graph = stored_heap(
            self.tables, self.format_name, self.runtime, self.incomplete
        )
        return graph, self.identity


@dataclass(slots=True, kw_only=True, eq=False)
class Dump:
    """A dump: heap, metrics, tables, identity and name, each made once, when needed.

    Attributes:
        what: What the user wrote.
        name: Name of the dump.
        source: Name of its file.
        options: How to read and to measure it.
        origins: Whether its objects are followed back through collections.
        progress: Receives all stages.
        read: Reads the heap.
        part: Which dump of its file it is; ``None`` if none was chosen.
        identity: Identifies the dump and its file; ``None`` before the file has been
            read, or if a keeper does not know.
        kept: The kept dump; ``None`` for a file.
    """

    what: str
    name: str
    source: str
    options: ReadOptions
    origins: bool
    progress: Progress
    read: Callable[[], tuple[HeapGraph, Identity | None]]
    part: Part | None = None
    identity: Identity | None = None
    kept: KeptDump | None = None
    _graph: HeapGraph | None = None
    _metrics: HeapMetrics | None = None

    @property
    def graph(self) -> HeapGraph:
        """The heap, read when first needed.

        Raises:
            DumpError: it cannot be read.
            NotEnoughMemory: reading or analysing it needs more memory than may be used.
        """
        if self._graph is None:
            read, self.read = self.read, _closed  # which may hold what it has read
            self._graph, self.identity = read()
        return self._graph

    @property
    def file_ms(self) -> int | None:
        """When its file was last written, milliseconds since 1970; ``None`` if none."""
        if self.kept is not None or self.what == STDIN:
            return None
        try:
            return Path(self.what).stat().st_mtime_ns // 1_000_000
        except OSError:  # a member of an archive, or gone
            return None

    @property
    def metrics(self) -> HeapMetrics:
        """Its metrics, computed when first needed, by the policy of the options.

        Raises:
            DumpError, NotEnoughMemory: see `graph`.
        """
        if self._metrics is None:
            from ingest.analysis.metrics import analyse

            check_heap(self.graph, self.what, self.options)
            self._metrics = analyse(
                self.graph,
                self.progress,
                origins=self.origins,
                policy=self.options.strength,
                spill=self.options.spill,
            )
        return self._metrics

    def tables(
        self,
        *,
        path_limit: int = MAX_GROUPS,
        trees: Sequence[str] = TREES,
        path_rows: bool = False,
    ) -> HeapTables:
        """Its heap as tables; they share the heap's columns.

        Args:
            path_limit: The most paths of each tree.
            trees: The trees that are needed.
            path_rows: Whether the path of each object is needed.
        """
        from ingest.tables.heap_tables import HeapTables

        return HeapTables(
            self.graph,
            self.metrics,
            self.options.own,
            path_limit=path_limit,
            trees=trees,
            path_rows=path_rows,
            options=self.options.recorded(),
        )

    def take_tables(self) -> HeapTables:
        """The tables, which are then the only owner of the heap: closing frees it."""
        tables = self.tables()
        self.close()
        return tables

    def close(self) -> None:
        """Free the heap and its metrics."""
        self._graph = self._metrics = None
        self.read = _closed


def _closed() -> tuple[HeapGraph, Identity | None]:
    raise AssertionError("the dump has been closed")


_NEEDED = ("types", "type_paths", "suspects")


def kept_export(folder: Path) -> KeptDump:
    """The dump in an exported folder.

    Raises:
        DumpError: the folder has no tables of a dump, or tables of two.
    """
    from ingest.tables.export_format import ExportFormat
    from ingest.tables.manifest import check_manifest
    from ingest.tables.parquet import StoredTables
    from ingest.tables.stored_heap import about_export

    missing = [one for one in _NEEDED if not (folder / f"{one}.parquet").is_file()]
    if missing:
        raise DumpError(
            "a folder, but not an exported dump: it has no "
            f"{missing[0]}.parquet. Name the file of a dump in it",
            path=folder,
        )
    check_manifest(folder, ExportFormat.PARQUET)
    about = about_export(folder)
    return KeptDump(
        folder.name,
        about.source,
        StoredTables(folder),
        about.format,
        about.runtime,
        about.identity,
        about.strength,
        about.is_redacted,
        about.incomplete,
    )


def source_name(what: str, options: ReadOptions = DEFAULTS) -> str:
    """The name of a dump's file, without its folder."""
    if options.redaction is not None:
        return REDACTED
    return PurePath(what).name if what != STDIN else "<stdin>"


def stem_name(what: str, options: ReadOptions = DEFAULTS) -> str:
    """A name for a dump, from that of its file."""
    if options.redaction is not None:
        return REDACTED
    return "stdin" if what == STDIN else stem_of(what) or "dump"
