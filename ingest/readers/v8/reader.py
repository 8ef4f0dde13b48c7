"""Reads a heap snapshot of V8: the document as it streams, then the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.v8.assembly import assemble
from ingest.readers.v8.document import Document
from ingest.system.memory import one_ahead

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source


_PIECE_BYTES = 1 << 19
"""Small enough that the C library reuses memory, and numbers stay in the cache."""


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the snapshot in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes a node and 13 an edge, and the strings.

    Raises:
        MalformedDump: it is not JSON, or contradicts itself.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    # Nothing here refers to the snapshot, so its columns are freed once used.
    return assemble(
        Document(one_ahead(source.chunks(progress, _PIECE_BYTES)), counter).read(
            is_cut=lambda: source.truncated
        ),
        options=options,
        counter=counter,
    )


def check_whole(source: Source, progress: Progress) -> None:
    """Read the whole document; see `ingest.readers.base.CapturedReader.check_whole`.

    Memory: as `read` while reading.
    """
    counter = IrregularityCounter(strict=False, name=source.name)
    Document(source.chunks(progress), counter).read(is_cut=lambda: source.truncated)
    counter.check_end()
