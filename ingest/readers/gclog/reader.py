"""Reads a gclog's records and domains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_TYPE, Domain, RootKind
from ingest.readers.gclog import NAME
from ingest.readers.gclog.pieces import GclogScanner
from ingest.readers.gclog.scan import CLOSED, IMPLIED, KINDS, OPENED
from ingest.readers.shared.columns import RootColumns, taken
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import complete_bytes, complete_lines, decode, to_utf8
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DOTNET, of_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import Domain, HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.gclog.pieces import GclogPiece, GclogScanner
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.source import Source


_CLOSE = re.compile(rb"[ \t]*[cC][ \t]+\S")
_CLOCK = re.compile(r"(.*\S)[ \t]+([0-9A-Fa-f]{1,8})[ \t]*")
_VERSION = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})(?:[ \t]+|$)")


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the gclog in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes an object and 13 a reference.
    """
    scanner = GclogScanner(source.name)
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    rest = b""

    def lines() -> Iterator[bytes]:
        nonlocal rest
        for text in complete_lines(to_utf8(source.chunks(progress)), counter):
            complete = complete_bytes(text)
            rest = text[complete:]
            if complete:
                yield text[:complete]

    pieces = list(scanner.scan(lines()))
    # The last line may lack its end. If its domain is not closed either, the file is
    # truncated, and the last number may be cut.
    if rest and scanner.is_open and not _CLOSE.match(rest):
        counter.add("truncated_line", 1, scanner.line + 1, scanner.offset)
    elif rest:
        pieces += scanner.scan([rest])
    for kind, (count, line, offset) in zip(KINDS, scanner.book.tolist(), strict=True):
        counter.add(kind, count, line, offset)
    counter.add("conflicting_type", scanner.conflict_count, scanner.conflict_line, None)
    if scanner.is_open:
        counter.add("unclosed_domain", 1, scanner.line, None)
    if source.truncated:
        counter.add("truncated_compression", 1, scanner.line, None)
    domains = _domains(scanner.events, counter)
    return assemble(pieces, scanner, domains, counter, options.spill)


def _readings(text: str) -> list[tuple[str, int | None]]:
    """Possible readings of the rest of an ``a`` or ``c`` record: (name, clock)."""
    all_of_it = (text.strip(" \t"), None)
    if match := _CLOCK.fullmatch(text):
        return [(match[1].strip(" \t"), int(match[2], 16)), all_of_it]
    return [all_of_it]


def _domains(
    events: list[tuple[int, int, bytes, int]], counter: IrregularityCounter
) -> tuple[Domain, ...]:
    """The domains in the order of their sections.

    A name may end in something that looks like a clock (``my face``). The reading under
    which the names in ``a`` and ``c`` agree counts.
    """
    if not events:
        return (Domain("", complete=False),)
    opened: dict[int, list[tuple[str, int | None]]] = {}
    closed: dict[int, tuple[list[tuple[str, int | None]], int]] = {}
    implied: set[int] = set()
    for kind, section, rest, line in events:
        if kind == OPENED:
            version = _VERSION.match(rest)
            if version is None:
                counter.add("malformed_domain", 1, line, None)
            elif int(version[1], 16) != 2:
                counter.add("unknown_version", 1, line, None)
            name = rest[version.end() :] if version else rest
            opened[section] = _readings(decode(name))
        elif kind == CLOSED:
            closed[section] = (_readings(decode(rest)), line)
        elif kind == IMPLIED:
            implied.add(section)
    domains = []
    for section in range(max(*opened, *implied, 0) + 1):
        if section in implied:
            domains.append(Domain("", complete=False))
            continue
        starts = opened[section]
        if section not in closed:
            domains.append(Domain(*starts[0], ended_ms=None, complete=False))
            continue
        ends, line = closed[section]
        for start in starts:
            if end := next((end for end in ends if end[0] == start[0]), None):
                domains.append(Domain(*start, ended_ms=end[1]))
                break
        else:
            counter.add("domain_name_mismatch", 1, line, None)
            domains.append(Domain(*starts[0], ended_ms=ends[0][1]))
    return tuple(domains)


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
    spill: str,
) -> HeapGraph:
    """Resolve all ids and make the graph; ``pieces`` is emptied.

    Args:
        pieces: Objects and roots.
        scanner: The scanner that read them.
        domains: The domains.
        counter: Counts what is irregular.
        spill: Folder for large columns; see `ingest.arrays.array_files.folder_for`.

    Raises:
        MalformedDump: the sizes are larger than any memory, or, with ``--strict``,
            anything is irregular.
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
        objects,
        types,
        counter,
        scoped=scoped,
        allow_identical_repeats=True,
        spill=spill,
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
