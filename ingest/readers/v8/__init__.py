"""Heap snapshots of V8: Node.js, Chrome, Electron, Deno; and those of Julia.

One JSON object. ``snapshot`` describes in ``meta`` the fields of the rows of the flat
arrays ``nodes`` and ``edges``, and their types; names are rows of ``strings``. Versions
add fields and types, so everything is read by ``meta``. Edges belong to nodes in their
order; ``to_node`` is a position in ``nodes``. The ``id`` of a node is the same in all
snapshots of one process.

Source: v8/v8, src/profiler/heap-snapshot-generator.cc, HeapSnapshotJSONSerializer.
Rules for what retains, owners and names of classes follow Chrome DevTools,
front_end/entrypoints/heap_snapshot_worker/HeapSnapshot.ts.
"""

from __future__ import annotations

import re

from ingest.readers.base import Format
from ingest.words.command_line import command

NAME = "v8"

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"snapshot"\s*:\s*\{')


def sniff(head: bytes) -> bool:
    """Whether ``head`` belongs to such a snapshot."""
    return _START.match(head) is not None


FORMAT = Format(
    NAME,
    "V8 heap snapshot",
    suffixes=(".heapsnapshot",),
    memory_per_byte=2.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"source_map", "values"}),
    records_garbage=False,
    capture=f"{command('capture', 'node', 'PID')}, or "
    f"{command('capture', 'chrome', 'HOST:PORT')}",
)
