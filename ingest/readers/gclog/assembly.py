"""Converts the records of a gclog to columns for the resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_TYPE, RootKind
from ingest.readers.gclog.signature import NAME
from ingest.readers.shared.columns import RootColumns, taken
from ingest.readers.shared.lines import decode
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable

if TYPE_CHECKING:
    from ingest.heap.graph import Domain, HeapGraph
    from ingest.readers.gclog.pieces import GclogPiece, GclogScanner
    from ingest.readers.shared.irregularities import IrregularityCounter

PRODUCER = "Remote Performance Monitor"

_ROOT_KIND = np.array(
    [
        RootKind.INTERNAL,
        RootKind.LOCAL,
        RootKind.FINALIZER_QUEUE,
        RootKind.HANDLE,
        RootKind.STATIC,
        RootKind.RUNTIME,
        RootKind.OTHER,
    ],
    np.uint8,
)
"""Meaning of the format's root kinds 0 to 5, and of any other (6)."""


def assemble(
    pieces: list[GclogPiece],
    scanner: GclogScanner,
    domains: tuple[Domain, ...],
    counter: IrregularityCounter,
) -> HeapGraph:
    """Resolve all ids and make the graph; ``pieces`` is emptied.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``,
            anything irregular.
    """
    scoped = len(domains) > 1
    types = _types(scanner.types, scoped=scoped, counter=counter)
    root, root_line = taken(pieces, "root"), taken(pieces, "root_line")
    objects = [piece.objects for piece in pieces]
    pieces.clear()
    heap = HeapResolver(
        objects, types, counter, scoped=scoped, allow_identical_repeats=True
    )
    root_scope = root[:, 5].astype(np.int32)
    contained = np.flatnonzero(root[:, 3])
    root_type = np.full(len(root), NO_TYPE, np.int32)
    root_type[contained] = types.rows(
        root[contained, 4].astype(np.uint64),
        root_scope[contained],
        root_line[contained],
    )
    roots = RootColumns(
        id=root[:, 0].astype(np.uint64),
        kind=_ROOT_KIND[root[:, 1]],
        flags=root[:, 2].astype(np.uint8),
        type=root_type,
        scope=root_scope,
        line=root_line,
        counts_missing=False,
    )
    return heap.graph(
        roots,
        format_name=NAME,
        producer=PRODUCER,
        domains=domains,
        null_reference_count=scanner.null_reference_count,
    )


def _types(
    records: list[tuple[int, int, bytes, int]],
    *,
    scoped: bool,
    counter: IrregularityCounter,
) -> TypeTable:
    """The types that the ``t`` records declare; of one id the first counts."""
    types = TypeTable(counter, unnamed="<type {:#x}>", scoped=scoped)
    seen: dict[tuple[int, int], bytes] = {}
    for type_id, section, name, line in records:
        key = (section if scoped else 0, type_id)
        if key not in seen:
            seen[key] = name
            types.declare(type_id, decode(name) or f"<unnamed {type_id:#x}>", section)
        elif seen[key] != name:
            counter.add("conflicting_type", 1, line, None)
    return types
