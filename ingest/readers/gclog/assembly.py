"""From a gclog's own ids to one graph: sections, types, missing objects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_TYPE, HeapGraph, RootKind
from ingest.readers.gclog.signature import NAME
from ingest.readers.shared.columns import check_sum
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.lines import decode
from ingest.readers.shared.threads import cores

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints
    from ingest.heap.graph import Domain
    from ingest.readers.gclog.pieces import Piece, Scanner
    from ingest.readers.shared.irregularities import Lines, Report

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
"""What the format's root kinds 0 to 5, and any other (6), mean."""


class Columns:
    """The pieces of a file put together, and freed while that is done.

    Attributes:
        references: uint64 arrays, one a piece: they are looked up piece by piece.
    """

    def __init__(self, pieces: list[Piece]) -> None:
        self.object_id = _taken(pieces, "object_id")
        self.object_type_id = _taken(pieces, "object_type_id")
        self.size_bytes = _taken(pieces, "object_size_bytes")
        self.section = _taken(pieces, "object_section")
        self.ref_count = _taken(pieces, "object_ref_count")
        self.line = _taken(pieces, "object_line")
        self.root = _taken(pieces, "root")
        self.root_line = _taken(pieces, "root_line")
        self.references = [piece.reference_id for piece in pieces]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the objects, and their references, that ``kept`` says not to."""
        references = np.concatenate(self.references)
        self.references = [references[np.repeat(kept, self.ref_count)]]
        for name in (
            "object_id",
            "object_type_id",
            "size_bytes",
            "section",
            "ref_count",
            "line",
        ):
            setattr(self, name, getattr(self, name)[kept])

    def differs(self, row: int, other: int, starts: NDArray[np.int64]) -> bool:
        """Whether two ``o`` records of one id say different things."""
        if (
            self.object_type_id[row] != self.object_type_id[other]
            or self.size_bytes[row] != self.size_bytes[other]
            or self.ref_count[row] != self.ref_count[other]
        ):
            return True
        one, two = (
            self.references[0][starts[i] : starts[i] + self.ref_count[i]]
            for i in (row, other)
        )
        return not np.array_equal(one, two)


def _taken(pieces: list[Piece], column: str) -> NDArray[Any]:
    arrays = [getattr(piece, column) for piece in pieces]
    for piece in pieces:
        setattr(piece, column, None)
    return np.concatenate(arrays)


def assemble(
    columns: Columns, scanner: Scanner, domains: tuple[Domain, ...], report: Report
) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``,
            anything irregular.
    """
    scoped = len(domains) > 1
    table = _object_table(columns, scoped=scoped, report=report)
    check_sum(columns.size_bytes, report.name)  # each is below 2^47
    types = _Types(scanner.types, scoped=scoped, report=report)
    type_index = types.rows(columns.object_type_id, columns.section, columns.line)
    del columns.object_type_id

    root_id = columns.root[:, 0].astype(np.uint64)
    root_section = columns.root[:, 5].astype(np.int32)
    contained = np.flatnonzero(columns.root[:, 3])
    root_type = np.full(len(root_id), NO_TYPE, np.int32)
    root_type[contained] = types.rows(
        columns.root[contained, 4].astype(np.uint64),
        root_section[contained],
        columns.root_line[contained],
    )
    root_object, crossed = table.find(root_id, root_section if scoped else None)
    report.add_lines("cross_domain_root", columns.root_line[crossed])

    n = len(columns.object_id)
    placeholders = _Placeholders(n)
    rootless = np.flatnonzero(root_object < 0)
    placeholders.want(root_object, rootless, root_id[rootless], root_section[rootless])
    ref_start = np.zeros(n + 1, np.int64)
    np.cumsum(columns.ref_count, out=ref_start[1:])
    ref_target = _resolve(
        columns, ref_start, table, placeholders, scoped=scoped, report=report
    )
    del table
    ids, sections = placeholders.settle()
    m = len(ids)
    return HeapGraph(
        format_name=NAME,
        producer=PRODUCER,
        object_count=n,
        object_id=_extended(columns.object_id, ids),
        type_index=_extended(type_index, np.full(m, NO_TYPE, np.int32)),
        shallow_bytes=_extended(columns.size_bytes, np.zeros(m, np.int64)),
        ref_start=_extended(ref_start, np.full(m, ref_start[n], np.int64)),
        ref_target=ref_target,
        root_object=root_object,
        root_kind=_ROOT_KIND[columns.root[:, 1]],
        root_flags=columns.root[:, 2].astype(np.uint8),
        root_type=root_type,
        type_names=tuple(types.names),
        type_domain=np.array(types.sections, np.int32),
        domain_index=_extended(columns.section, sections) if scoped else None,
        domains=domains,
        null_reference_count=scanner.null_reference_count,
        irregularities=report.finish(),
    )


def _extended(column: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([column, more]) if len(more) else column


def _object_table(columns: Columns, *, scoped: bool, report: Report) -> IdTable:
    """Ints by object id; of two records of one id the first is kept."""
    table = IdTable(columns.object_id, columns.section if scoped else None)
    if not len(table.twin):
        return table
    columns.references = [np.concatenate(columns.references)]
    starts = np.cumsum(columns.ref_count, dtype=np.int64) - columns.ref_count
    repeated = np.flatnonzero(table.twin >= 0)
    conflicting = [
        row
        for row in repeated.tolist()
        if columns.differs(row, int(table.twin[row]), starts)
    ]
    report.add_lines("conflicting_object", columns.line[conflicting])
    columns.keep(table.twin < 0)
    return IdTable(columns.object_id, columns.section if scoped else None)


def _resolve(
    columns: Columns,
    ref_start: NDArray[np.int64],
    table: IdTable,
    placeholders: _Placeholders,
    *,
    scoped: bool,
    report: Report,
) -> Ints:
    """Row of each reference's target, -1 where it is not in the dump (yet).

    Pieces are looked up side by side, and freed one by one.
    """
    target = np.empty(int(ref_start[-1]), np.int32)
    ends = np.cumsum([len(ids) for ids in columns.references])

    def owners(at: NDArray[Any]) -> NDArray[Any]:
        return np.searchsorted(ref_start, at, "right") - 1

    def look_up(piece: int) -> tuple[NDArray[Any], NDArray[Any], Ids]:
        """Positions found in another section only, and not at all; their ids."""
        ids = columns.references[piece]
        columns.references[piece] = ids[:0].copy()
        end = int(ends[piece])
        begin = end - len(ids)
        scopes = columns.section[owners(np.arange(begin, end))] if scoped else None
        rows, crossed = table.find(ids, scopes)
        target[begin:end] = rows
        absent = np.flatnonzero(rows < 0)
        return begin + crossed.astype(np.int64), begin + absent, ids[absent]

    with ThreadPoolExecutor(cores()) as pool:
        for crossed, absent, ids in pool.map(look_up, range(len(ends))):
            crossing, owning = owners(crossed), owners(absent)
            report.add_lines("cross_domain_reference", columns.line[crossing])
            report.add_lines("missing_object", columns.line[owning])
            placeholders.want(target, absent, ids, columns.section[owning])
    return target


class _Placeholders:
    """Objects that are referenced but not in the dump, one for each id and section."""

    def __init__(self, first_row: int) -> None:
        self._first_row = first_row
        self._wanted: list[tuple[Ints, NDArray[Any], Ids, Ints]] = []

    def want(self, rows: Ints, at: NDArray[Any], ids: Ids, sections: Ints) -> None:
        """Ask for the rows of ``ids``, to be put into ``rows`` at ``at``."""
        if len(at):
            self._wanted.append((rows, at, ids, sections))

    def settle(self) -> tuple[Ids, Ints]:
        """Fill all rows; the placeholders' ids and sections, by section, then id."""
        if not self._wanted:
            return np.empty(0, np.uint64), np.empty(0, np.int32)
        ids = np.concatenate([ids for _, _, ids, _ in self._wanted])
        sections = np.concatenate([sections for *_, sections in self._wanted])
        order = np.lexsort((ids, sections))
        ids, sections = ids[order], sections[order]
        fresh = np.ones(len(ids), np.bool_)
        fresh[1:] = (ids[1:] != ids[:-1]) | (sections[1:] != sections[:-1])
        ids, sections = ids[fresh], sections[fresh]
        table = IdTable(ids, sections)
        for rows, at, wanted, scopes in self._wanted:
            rows[at] = table.find(wanted, scopes)[0] + self._first_row
        return ids, sections


class _Types:
    """Types by id and section, declared or synthesised when an object needs one.

    Attributes:
        names: Type names, row by row.
        sections: The section that declares, or first needs, each.
    """

    def __init__(
        self,
        records: list[tuple[int, int, bytes, int]],
        *,
        scoped: bool,
        report: Report,
    ) -> None:
        self._scoped = scoped
        self._report = report
        self.names: list[str] = []
        self.sections: list[int] = []
        self._ids: list[int] = []
        seen: dict[tuple[int, int], bytes] = {}
        for type_id, section, name, line in records:
            key = (section if scoped else 0, type_id)
            if key in seen:
                if seen[key] != name:
                    report.add("conflicting_type", 1, line, None)
                continue
            seen[key] = name
            self._add(type_id, section, decode(name) or f"<unnamed {type_id:#x}>")

    def _add(self, type_id: int, section: int, name: str) -> None:
        self._ids.append(type_id)
        self.names.append(name)
        self.sections.append(section if self._scoped else 0)

    def _table(self) -> IdTable:
        scopes = np.array(self.sections, np.int32) if self._scoped else None
        return IdTable(np.array(self._ids, np.uint64), scopes)

    def rows(self, ids: Ids, sections: Ints, lines: Lines) -> Ints:
        """Row of each type id as used in its section; makes the missing ones."""
        scopes = sections if self._scoped else None
        rows, crossed = self._table().find(ids, scopes)
        self._report.add_lines("cross_domain_type", lines[crossed])
        absent = np.flatnonzero(rows < 0)
        if not len(absent):
            return rows
        self._report.add_lines("undeclared_type", lines[absent])
        made: dict[tuple[int, int], None] = {}
        for type_id, section in zip(
            ids[absent].tolist(), sections[absent].tolist(), strict=True
        ):
            made.setdefault((section if self._scoped else 0, type_id))
        for section, type_id in made:
            self._add(type_id, section, f"<type {type_id:#x}>")
        rows[absent], _ = self._table().find(
            ids[absent], None if scopes is None else scopes[absent]
        )
        return rows
