"""Checks of the memory that a dump will take, before it is read and analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.analysis.metrics import BYTES_PER_OBJECT, BYTES_PER_REFERENCE
from ingest.arrays.spill import can_start
from ingest.errors import NotEnoughMemory
from ingest.heap.read_options import Fold
from ingest.readers import format_of
from ingest.system.memory import used_bytes
from ingest.words.text import counted, human_bytes

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.readers.source import Source

_BASE_BYTES = 150 << 20
"""Memory of Python, numpy, numba and polars."""

_HELPS = "free some, name a folder with room with --spill"


def check_file(source: Source, options: ReadOptions) -> None:
    """Check a file before it is read: keep columns in files, or refuse the dump.

    Raises:
        NotEnoughMemory: reading and analysing it needs more memory than may be used,
            and no folder for its columns has room.
        UnknownFormat: no reader knows its format.
    """
    most, content = options.max_memory_bytes, source.content_bytes
    of_file = format_of(source)
    if most is None or content is None:
        return
    needed = int(_BASE_BYTES + of_file.memory_per_byte * content)
    if needed <= most:
        return
    why = (
        f"{source.name}: {human_bytes(content)} of {of_file.name} need about "
        f"{human_bytes(needed)} of memory, more than the {human_bytes(most)} that "
        "may be used"
    )
    if not can_start(options.spill, needed, why):
        helps = f"{_HELPS}, or try with --max-memory "
        helps += human_bytes(needed).replace(" ", "")
        if options.fold is Fold.NONE:
            helps = f"leave out --fold none, {helps}"
        raise NotEnoughMemory(f"{why}: {helps}")


def check_heap(graph: HeapGraph, what: str, options: ReadOptions) -> None:
    """Check a heap before it is analysed: keep columns in files, or refuse it.

    Raises:
        NotEnoughMemory: the analysis needs more memory than may be used, and no folder
            for its columns has room.
    """
    if options.max_memory_bytes is None:
        return
    needed = used_bytes() + BYTES_PER_OBJECT * len(graph.object_id)
    needed += BYTES_PER_REFERENCE * len(graph.ref_target)
    if needed <= options.max_memory_bytes:
        return
    why = (
        f"{what}: its {counted(graph.object_count, 'objects')} "
        f"and {len(graph.ref_target):,} "
        f"references need {human_bytes(needed)} of memory, more than the "
        f"{human_bytes(options.max_memory_bytes)} that may be used"
    )
    if not can_start(options.spill, needed, why):
        raise NotEnoughMemory(f"{why}: {_HELPS}, or allow more with --max-memory")
