"""Converts the records of a gclog to columns for the resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_TYPE, RootKind
from ingest.readers.gclog import NAME
from ingest.readers.shared.columns import RootColumns, taken
from ingest.readers.shared.lines import decode
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DOTNET, of_types

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
    types = TypeTable(counter, unnamed="<type {:#x}>", scoped=scoped)
    for (section, type_id), name in scanner.types.items():
        types.declare(type_id, decode(name) or f"<unnamed {type_id:#x}>", section)
    roots = RootColumns(
        id=taken(pieces, "root_id"),
        kind=_ROOT_KIND[taken(pieces, "root_kind")],
        flags=taken(pieces, "root_flags"),
        scope=taken(pieces, "root_section"),
        line=taken(pieces, "root_line"),
        counts_missing=False,
    )
    contained = np.flatnonzero(taken(pieces, "root_has_type"))
    type_id = taken(pieces, "root_type_id")[contained]
    objects = [piece.objects for piece in pieces]
    pieces.clear()
    heap = HeapResolver(
        objects, types, counter, scoped=scoped, allow_identical_repeats=True
    )
    assert roots.scope is not None
    assert roots.line is not None
    roots.type = np.full(len(roots.id), NO_TYPE, np.int32)
    roots.type[contained] = types.rows(
        type_id, roots.scope[contained], roots.line[contained]
    )
    return heap.graph(
        roots,
        format_name=NAME,
        runtime=of_types(types.names, DOTNET),
        producer=PRODUCER,
        domains=domains,
    )
