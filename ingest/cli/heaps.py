"""Heaps of files, and of loaded dumps from the tables that the server keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.heap.identity import Identity
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress


def heap_of(dump: str, options: ReadOptions, progress: Progress) -> HeapGraph:
    """The heap of a file, of exported tables, or of a loaded dump of that name.

    Raises:
        UnknownDump: There is neither a file nor a loaded dump of that name.
        StoreError: The dump is loaded, but its tables are not kept.
    """
    from ingest.readers import open_source, read

    kept = kept_heap(dump, options, progress)
    if kept is not None:
        return kept[0]
    with open_source(dump) as source:
        return read(source, options, progress)


def kept_heap(
    dump: str, options: ReadOptions, progress: Progress
) -> tuple[HeapGraph, Identity | None] | None:
    """The heap of exported tables or of a loaded dump; ``None`` of a file.

    Returns:
        The heap; and which dump of which file it is.

    Raises:
        UnknownDump: There is neither a file nor a loaded dump of that name.
        StoreError: The dump is loaded, but its tables are not kept.
        IngestError: It has its values, and ``options`` ask for none.
    """
    from ingest.tables.parquet import StoredTables
    from ingest.tables.stored_heap import about_export, is_export, stored_heap

    redacted = options.redaction is not None
    if is_export(Path(dump)):
        if redacted:
            raise IngestError(f"{dump}: export the dump with --redact instead")
        about = about_export(Path(dump))
        graph = stored_heap(StoredTables(Path(dump)), about.format, about.runtime)
        return graph, about.identity
    if _is_loaded(dump):
        return _loaded_heap(dump, progress, redacted=redacted)
    return None


def heaps_of(
    file: str,
    options: ReadOptions,
    progress: Progress,
    *,
    every: bool = False,
    origins: bool = False,
) -> Iterator[tuple[HeapGraph, HeapMetrics, Identity]]:
    """Read and analyse a file's dump, or every dump of it, one after the other.

    The caller must not keep a heap, or two are in memory.

    Args:
        file: A path, or ``-``.
        options: How to read it.
        progress: Receives all stages.
        every: Whether to read all dumps of the file.
        origins: Whether to follow objects back through collections.

    Raises:
        DumpError: The file cannot be read.
        NotEnoughMemory: A dump needs more than may be used.
    """
    from ingest.analysis.metrics import analyse
    from ingest.heap.identity import Identity
    from ingest.pipeline import check_memory, measure
    from ingest.readers import open_source, read_all

    if not every:
        graph, metrics, sha256 = measure(file, options, progress, origins=origins)
        yield graph, metrics, Identity.of(sha256, graph.part)
        return
    with open_source(file) as source:
        for pending in read_all(source, options, progress):
            graph = pending.graph()
            check_memory(graph, file, options)
            identity = Identity.of(options.digest(source.sha256), pending.part)
            metrics = analyse(graph, progress, origins=origins)
            yield graph, metrics, identity
            del graph, metrics


def _is_loaded(dump: str) -> bool:
    """Whether a word is the name of a loaded dump: neither a file, nor like one."""
    from ingest.readers import stem
    from ingest.readers.source import STDIN

    looks_like_file = dump == STDIN or "::" in dump or stem(dump) != dump
    return not looks_like_file and not Path(dump).exists()


def _loaded_heap(
    name: str, progress: Progress, *, redacted: bool = False
) -> tuple[HeapGraph, Identity]:
    """The heap of a loaded dump, and its identity.

    Args:
        name: The dump's name.
        progress: Receives the start of the server.
        redacted: Whether only a redacted dump will do.

    Raises:
        UnknownDump: There is none of that name.
        StoreError: Its tables are not kept, or it has its values.
    """
    from ingest.cli.options import open_store
    from ingest.database.bulk import stored_dumps
    from ingest.database.dumps import find_dump
    from ingest.errors import StoreError
    from ingest.tables.stored_heap import stored_heap

    with open_store(None, None, None, None, progress) as (database, server):
        found = find_dump(database, name)
    if redacted and not found.redacted:
        raise StoreError(f"{name} was loaded with its values; name its file instead")
    tables = server and stored_dumps(server).find(found.number, found.sha256)
    if not tables:
        raise StoreError(
            f"the tables of {name!r} are not stored: only the embedded server keeps "
            "them; name the dump's file instead"
        )
    return stored_heap(tables, found.format, found.runtime), found.identity
