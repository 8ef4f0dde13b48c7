"""Reads one heap dump of a CLR Profiler log, or its collections only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ingest.errors import DumpError
from ingest.heap.graph import NO_FIELD, NO_TYPE, Part, RootFlag, RootKind
from ingest.heap.read_options import DEFAULTS
from ingest.readers.base import PendingDump, Selection
from ingest.readers.clrprofiler import NAME
from ingest.readers.clrprofiler.buffers import KINDS
from ingest.readers.clrprofiler.history import Collections, allocations_of
from ingest.readers.clrprofiler.names import type_name
from ingest.readers.clrprofiler.pieces import LogScanner
from ingest.readers.dotnet.segments import FREE_SPACE, segment_columns
from ingest.readers.shared.columns import InteriorRoots, RootColumns
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import complete_bytes, complete_lines, to_utf8
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DOTNET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.heap.graph import GarbageCollection, HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.clrprofiler.pieces import LoggedDump
    from ingest.readers.source import Source

T = TypeVar("T", bound=np.generic)


_ROOT_KINDS = np.array(
    [RootKind.OTHER, RootKind.LOCAL, RootKind.FINALIZER_QUEUE, RootKind.HANDLE],
    np.uint8,
)
"""Meaning of the format's root kinds 0 to 3."""

_FLAGS = RootFlag.PINNED | RootFlag.WEAK | RootFlag.INTERIOR


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a heap dump of ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes an object and 13 a reference; 36 an
    allocation, 28 a range. For logs with several dumps a second dump is stored: 32
    bytes an object and 8 a reference.
    """
    found = _Log.read(source, options, progress, Selection.ONE)
    return found.graph(found.chosen())


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps of a log; see `ingest.readers.base.PartsReader.read_all`.

    Memory: as `read`, and 32 bytes an object and 8 a reference of each other dump.
    """
    found = _Log.read(source, replace(options, part=None), progress, Selection.ALL)
    found.chosen()
    for dump in found.log.with_objects():
        yield PendingDump(found.part(dump), partial(found.graph, dump, is_only=False))


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a log, whose objects are only counted."""
    found = _Log.read(source, DEFAULTS, progress, Selection.NONE)
    return [found.part(dump) for dump in found.log.with_objects()]


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections of a log; no heap dump of it is stored."""
    found = _Log.read(source, DEFAULTS, progress, Selection.NONE)
    return list(found.collections.timeline(*found.log.dumps))


@dataclass(frozen=True, slots=True)
class _Log:
    """A log that has been read.

    Attributes:
        log: Its columns.
        collections: Collections that it records.
        options: How it was read.
        counter: Irregularities so far.
        ends_early: Whether the file is cut.
    """

    log: LogScanner
    collections: Collections
    options: ReadOptions
    counter: IrregularityCounter
    ends_early: bool

    @classmethod
    def read(
        cls,
        source: Source,
        options: ReadOptions,
        progress: Progress,
        selection: Selection,
    ) -> _Log:
        """Read all records.

        Raises:
            MalformedDump: a line is longer than any record.
        """
        counter = IrregularityCounter(strict=options.strict, name=source.name)
        log = LogScanner(source.name, options.part, selection)
        rest = _take(log, source, counter, progress)
        # Writers end every line; the last number of an incomplete one may be cut.
        if rest:
            counter.add("truncated_line", 1, log.line + 1, log.offset)
        if source.truncated:
            counter.add("truncated_compression", 1, log.line, log.offset)
        for kind, (count, line, offset) in zip(KINDS, log.book.tolist(), strict=True):
            counter.add(kind, count, line, offset)
        collections = Collections(log, counter)
        ends_early = bool(rest) or source.truncated or collections.is_running
        return cls(log, collections, options, counter, ends_early)

    def chosen(self) -> LoggedDump:
        """The dump to read.

        Raises:
            DumpError: there is no such dump.
        """
        dump = self.log.chosen(cut=self.ends_early)
        if dump is None:
            raise DumpError(self.log.explained(), path=self.counter.name)
        return dump

    def part(self, dump: LoggedDump) -> Part:
        """The dump as a part of the log."""
        is_default = self.options.part is None and dump is self.log.chosen(
            cut=self.ends_early
        )
        return Part(dump.index, dump.object_count, is_default=is_default)

    def graph(self, dump: LoggedDump, *, is_only: bool = True) -> HeapGraph:
        """The graph of a dump; frees its columns.

        Args:
            dump: A dump whose columns are stored.
            is_only: Whether no other dump of the log is read.
        """
        counter = self.counter.copy()
        others = [one for one in self.log.with_objects() if one is not dump]
        if self.options.part is None and is_only:
            counter.add("other_heap_dump", len(others), 0, None)
        if self.ends_early and self.log.is_cut(dump):
            counter.add("truncated_heap_dump", 1, dump.line, dump.offset)
        return _assembled(
            self.log,
            dump,
            self.collections.reporting_to(counter),
            counter,
            part=self.part(dump),
            other_parts=tuple(map(self.part, others)),
        )


def _take(
    log: LogScanner, source: Source, counter: IrregularityCounter, progress: Progress
) -> bytes:
    """Read all records; return the bytes after the last complete line."""
    rest = b""
    for text in complete_lines(to_utf8(source.chunks(progress)), counter):
        complete = complete_bytes(text)
        log.take(text[:complete], counter)
        rest = text[complete:]
    return rest


def _assembled(
    log: LogScanner,
    dump: LoggedDump,
    collections: Collections,
    counter: IrregularityCounter,
    *,
    part: Part,
    other_parts: tuple[Part, ...],
) -> HeapGraph:
    types = TypeTable(counter, implied=FREE_SPACE)
    for ident, rest in log.types.items():
        types.declare(ident, type_name(ident, rest))
    pieces, dump.pieces = dump.pieces, None
    assert pieces is not None
    heap = HeapResolver(pieces, types, counter)
    roots, fields, owners = _roots(log, dump, types)
    ranges = collections.bounds_at(dump)
    return heap.graph(
        roots,
        by_id=lambda address: segment_columns(ranges, address),
        format_name=NAME,
        runtime=DOTNET.name,
        producer="CLR Profiler" if log.has_functions else "SOS",
        field_names=fields,
        owners=owners,
        collections=collections.timeline(dump),
        history=collections.history(dump, allocations_of(log, dump, collections)),
        part=part,
        other_parts=other_parts,
    )


class _RowOfName(dict[str, int]):
    """Rows of names, numbered when they are first looked up."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


def _roots(
    log: LogScanner, dump: LoggedDump, types: TypeTable
) -> tuple[RootColumns, tuple[str, ...], tuple[str, ...]]:
    """The roots, names of fields, and owners of roots."""
    recorded = {
        name: dump.root_column(name)
        for name in (
            "root_id", "root_place", "root_kind", "root_flags", "root_named",
            "root_line",
        )
    }  # fmt: skip
    plain = dump.root_column("plain_root_id")
    if len(recorded["root_id"]):
        plain = plain[:0]
    named = [root for at, root in log.named if at == dump.index and root.address]
    fields, owners = _RowOfName(), _RowOfName()
    first_named = len(recorded["root_id"]) + len(plain)
    count = first_named + len(named)
    field = np.full(count, NO_FIELD, np.int32)
    owner = np.full(count, -1, np.int32)
    container = np.full(count, NO_TYPE, np.int32)
    at = np.flatnonzero(recorded["root_named"])
    idents, rank = np.unique(recorded["root_place"][at], return_inverse=True)
    names = [fields[log.functions.name(ident)] for ident in idents.tolist()]
    field[at] = np.array(names, np.int32)[rank]
    for row, root in enumerate(named, first_named):
        field[row] = fields[root.name]
        if root.type_name:
            container[row] = types.named(root.type_name)
        if root.thread:
            owner[row] = owners[f"thread {root.thread}"]
    static = [bool(root.type_name) and not root.thread for root in named]
    roots = RootColumns(
        id=_joined(
            recorded["root_id"], plain, [root.address for root in named], np.uint64
        ),
        kind=_joined(
            _ROOT_KINDS[recorded["root_kind"]],
            np.full(len(plain), RootKind.OTHER, np.uint8),
            [RootKind.STATIC if known else RootKind.LOCAL for known in static],
            np.uint8,
        ),
        flags=_joined(
            recorded["root_flags"] & np.uint8(_FLAGS),
            np.zeros(len(plain), np.uint8),
            [0] * len(named),
            np.uint8,
        ),
        line=_joined(
            recorded["root_line"],
            np.full(len(plain), dump.line % 2**32, np.uint32),
            [root.line % 2**32 for root in named],
            np.uint32,
        ),
        is_location=_joined(
            np.zeros(len(recorded["root_id"]), np.bool_),
            np.ones(len(plain), np.bool_),
            [False] * len(named),
            np.bool_,
        ),
        type=container,
        field=field if fields else None,
        owner=owner if owners else None,
        interior=InteriorRoots.ANY,
    )
    return roots, tuple(fields), tuple(owners)


def _joined(
    one: NDArray[T], two: NDArray[T], three: list[int], dtype: type[T]
) -> NDArray[T]:
    return np.concatenate([one, two, np.array(three, dtype)]).astype(dtype, copy=False)
