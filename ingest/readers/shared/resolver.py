"""From a heap recorded by ids to a graph, for every format.

A reader gives columns as its dump records them; references and roots name objects by
id. Ids are addresses or other sparse numbers of 32 or 64 bits, or row numbers; they
are unique in the file, or within sections of it. The resolver

- drops objects that repeat an id, and counts them;
- finds the object of each reference and root, a block of references per thread, and
  frees the ids block by block;
- makes placeholders for objects that are referenced but not in the dump;
- finds the objects into whose middle roots point, and drops roots of which only the
  location is recorded;

A reader in its shortest form::

    counter = IrregularityCounter(strict=options.strict, name=source.name)
    types = TypeTable(counter)  # types.declare(id, name), type by type
    heap = HeapResolver([ObjectColumns(...)], types, counter)
    return heap.graph(RootColumns(...), format_name=NAME)

Memory: at the peak at most 44 bytes an object and 13 a reference; a reader alone holds
36 and 8.
"""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ingest.arrays import array_files
from ingest.arrays.spill import NEVER
from ingest.heap.completeness import CUT
from ingest.heap.graph import (
    NO_DOMAIN,
    NO_TYPE,
    Domain,
    Folded,
    HeapGraph,
    RootFlag,
    RootKind,
    starts_type,
)
from ingest.readers.shared.columns import (
    InteriorRoots,
    ObjectColumns,
    check_sum,
    extended,
    grown,
    starts_of,
)
from ingest.readers.shared.id_table import ABSENT, FOLDED, NULL, IdTable, RowNumbers
from ingest.readers.shared.references import AddedReferences, References
from ingest.readers.shared.unrecorded import without_holder
from ingest.system.memory import thread_count, threads, trim

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Ints, Starts
    from ingest.readers.shared.columns import Folding, RootColumns
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.shared.type_table import TypeTable

    Rows = NDArray[Any]
    from collections.abc import Iterator, Sequence

    Item = TypeVar("Item")
    Result = TypeVar("Result")


_NO_IDS = RowNumbers(0, first=0, folding=None)
_BLOCK_REFERENCES = 1 << 16
_BLOCK_OBJECTS = 1 << 16


class HeapResolver:
    """The objects of one heap, looked up by id.

    Args:
        pieces: The objects in order; the list is emptied, its arrays are freed.
        types: Types by id; types that objects need are added.
        counter: Counts what is irregular.
        scoped: Whether ids are unique only within sections of the file.
        by_row_number: If references name objects by row number, the number of the first
            one; smaller numbers are null. ``None`` if they use ids; then an id 0 that
            no object has is null.
        folding: Objects to leave out, in dumps that name objects by row number.
        allow_identical_repeats: Count an object that repeats an id only if it differs
            from the first one, as ``conflicting_object``. Otherwise count every one, as
            ``repeated_object``. All of them are dropped.
        spill: Folder for columns that few steps read; see `GrowingColumn`.

    Raises:
        MalformedDump: the sizes are larger than any memory.
    """

    def __init__(
        self,
        pieces: list[ObjectColumns],
        types: TypeTable,
        counter: IrregularityCounter,
        *,
        scoped: bool = False,
        by_row_number: int | None = None,
        folding: Folding | None = None,
        allow_identical_repeats: bool = False,
        spill: str = NEVER,
    ) -> None:
        if not scoped:
            for piece in pieces:
                piece.scope = None
        columns = self._columns = ObjectColumns.joined(pieces, spill)
        self._types = types
        self._counter = counter
        self._folding = folding
        self._added: list[tuple[Rows, NDArray[Any], Ints, Bools]] = []
        self._replaced = np.empty(0, np.intp)
        self._first_number = by_row_number or 0
        self._drops = False
        self._recorded_missing = 0
        check_sum(columns.size_bytes, counter.name)
        columns.type_id = types.rows(columns.type_id, columns.scope, columns.line)
        self._table: IdTable | RowNumbers
        if by_row_number is None:
            self._table = self._without_repeats(allow_identical_repeats)
            self._object_count = len(columns.size_bytes)
        else:
            self._table = RowNumbers(
                len(columns.size_bytes), first=by_row_number, folding=folding
            )
            self._object_count = self._table.object_count
            self._recorded_missing = self._table.placeholder_count

    def find(self, ids: NDArray[Any]) -> Ints:
        """int32: the row of each id, negative if no object has it."""
        return self._table.find(ids)[0]

    @property
    def new_row(self) -> Ints:
        """int32 (N,): rows in the graph; negative for folded objects.

        Only for dumps that name objects by row number.
        """
        assert isinstance(self._table, RowNumbers)
        return self._table.new_row

    def add_references(
        self,
        owner: Rows,
        ids: NDArray[Any],
        field: Ints | int,
        *,
        is_first: Bools | None = None,
        instead_of: Rows | None = None,
    ) -> None:
        """Add references that the dump does not record as such.

        Args:
            owner: integer (A,). Rows of the objects as recorded.
            ids: integer (A,). Ids of the objects to which they refer.
            field: Row of the field names, one for each or one for all.
            is_first: bool (A,). Whether the reference is inserted before the owner's
                recorded references; ``None`` for after them.
            instead_of: integer (A,). Positions of recorded references that the new ones
                replace; ``None`` for none.
        """
        if not len(owner):
            return
        first = np.zeros(len(owner), np.bool_) if is_first is None else is_first
        fields = np.full(len(owner), field, np.int32)
        if instead_of is not None:
            self._replaced = np.concatenate([self._replaced, instead_of])
            self._drops = True
        self._added.append((owner, ids, fields, first))

    def graph(
        self,
        roots: RootColumns,
        *,
        by_id: Callable[[Ids], dict[str, Any]] | None = None,
        complete: Callable[[ResolvedHeap], None] | None = None,
        records_garbage: bool = True,
        **facts: Any,  # noqa: ANN401
    ) -> HeapGraph:
        """Resolve all ids and make the graph; once only.

        Args:
            roots: Roots of the dump; changed.
            by_id: Gives further columns of the graph that follow from the ids of
                its objects, placeholders included.
            complete: Adds what follows from resolved references and roots.
            records_garbage: As `Format.records_garbage`. If false, and the file is not
                cut, all objects get reachable.
            facts: Further attributes of the graph.

        Raises:
            MalformedDump: with ``--strict``, for anything irregular.
        """
        columns, folding = self._columns, self._folding
        root_object = self._held(roots)
        starts = self._starts()
        columns.ref_count = np.empty(0, np.int32)
        placeholders = Placeholders(self._object_count + self._recorded_missing)
        self._want_roots(roots, root_object, placeholders)
        targets = self._targets(starts, placeholders)
        links = References(starts, targets, columns.ref_field, columns.ref_kind)
        recorded_count = len(targets)
        del starts, targets
        columns.ref_field = columns.ref_kind = None
        added = self._resolved_additions(placeholders)
        ids, scopes = placeholders.settle()
        if columns.line is None:
            missing = len(ids) + self._recorded_missing
            self._counter.add("missing_object", missing, 0, None)
        if added is not None:
            links.target[self._replaced] = FOLDED
            links.insert(added)
        stays = self._remaining()
        self._table = _NO_IDS
        null_count = links.drop(stays) if self._drops or stays is not None else 0
        if links.kind is not None and not links.kind.any():
            links.kind = None
        if folding is not None:
            lost = recorded_count - len(links.target) - null_count
            lost -= len(root_object) if folding.makes_roots else 0
            facts["folded"] = self._folded(stays, lost)
        facts["null_reference_count"] = null_count + self._recorded_nulls()
        if complete is not None:
            resolved = ResolvedHeap(links, roots, root_object, columns.type_id)
            complete(resolved)
            root_object = resolved.root_object
        objects = self._object_columns(stays, ids, scopes, links.start, by_id)
        found = self._counter.finish()
        if not records_garbage and not any(one.kind.startswith(CUT) for one in found):
            root_object = _completed(roots, root_object, links, objects)
        graph = HeapGraph(
            object_count=self._object_count,
            **objects,
            ref_target=links.target,
            ref_field=links.field,
            ref_kind=links.kind,
            root_object=root_object,
            root_kind=roots.kind,
            root_flags=roots.flags,
            root_type=_types_of(roots, len(root_object)),
            root_field=roots.field,
            root_owner=roots.owner,
            root_frame=roots.frame,
            type_names=tuple(self._types.names),
            type_domain=self._types.domains(),
            irregularities=found,
            **({"domains": (Domain(NO_DOMAIN),)} | facts),
        )
        _release_pages(graph)
        return graph

    def _recorded_nulls(self) -> int:
        """Null references of which only the number is recorded; call it once."""
        counts, self._columns.null_count = self._columns.null_count, None
        return 0 if counts is None else int(counts.sum(dtype=np.int64))

    def _starts(self) -> Starts:
        """Where the references of each object begin, in a type that is wide enough."""
        counts = self._columns.ref_count
        more = sum(len(owner) for owner, *_ in self._added)
        return starts_of(counts, starts_type(int(counts.sum(dtype=np.int64)) + more))

    def _without_repeats(self, allow_identical: bool) -> IdTable:
        """Drop objects that repeat an id, and return the table of all ids."""
        columns = self._columns
        assert columns.id is not None
        table = IdTable(columns.id, columns.scope)
        if not len(table.duplicate_of):
            return table
        repeated = np.flatnonzero(table.duplicate_of >= 0)
        if allow_identical:
            repeated = self._conflicting(repeated, table.duplicate_of[repeated])
            self._counter.add_rows("conflicting_object", columns.line, repeated)
        else:
            self._counter.add_rows("repeated_object", columns.line, repeated)
        columns.keep(table.duplicate_of < 0)
        return IdTable(columns.id, columns.scope)

    def _conflicting(self, repeated: Rows, first: Rows) -> Rows:
        """Those of ``repeated`` that differ from the first object with their id."""
        columns = self._columns
        columns.ref_id = [np.concatenate(columns.ref_id)]
        ids, counts = columns.ref_id[0], columns.ref_count
        starts = np.cumsum(counts, dtype=np.int64) - counts

        def differs(row: int, other: int) -> bool:
            known = (columns.type_id, columns.size_bytes, counts)
            if any(column[row] != column[other] for column in known):
                return True
            one, two = (ids[starts[i] : starts[i] + counts[i]] for i in (row, other))
            return not np.array_equal(one, two)

        pairs = zip(repeated.tolist(), first.tolist(), strict=True)
        return np.array([row for row, other in pairs if differs(row, other)], np.intp)

    def _held(self, roots: RootColumns) -> Ints:
        """int32: the object of each root, `ABSENT` for none; drops some roots."""
        rows, crossed = self._table.find(roots.id, self._scopes_of(roots))
        self._counter.add_rows("cross_domain_root", roots.line, crossed)
        if roots.interior is not InteriorRoots.NONE:
            self._find_interior(roots, rows)
        stays = rows >= ABSENT
        if roots.is_location is not None:
            useless = roots.is_location & (rows == ABSENT)
            self._counter.add_rows(
                "root_without_object", roots.line, np.flatnonzero(useless)
            )
            stays &= ~useless
        if stays.all():
            return rows
        roots.keep(stays)
        return rows[stays]

    def _scopes_of(self, roots: RootColumns) -> Ints | None:
        return None if self._columns.scope is None else roots.scope

    def _find_interior(self, roots: RootColumns, rows: Ints) -> None:
        """Find the objects into whose middle roots point."""
        absent = rows == ABSENT
        if roots.interior is InteriorRoots.FLAGGED:
            absent &= RootFlag.INTERIOR.is_in(roots.flags)
        at = np.flatnonzero(absent)
        if not len(at) or not len(self._columns.size_bytes):
            return
        wanted = roots.id[at].astype(np.uint64)
        held = self._last_not_above(wanted)
        assert self._columns.id is not None
        start = self._columns.id[held].astype(np.uint64)
        size = self._columns.size_bytes[held].astype(np.uint64)
        inside = (held >= 0) & (start <= wanted) & (wanted - start < size)
        rows[at[inside]] = held[inside]
        roots.flags[at[inside]] |= np.uint8(RootFlag.INTERIOR)

    def _last_not_above(self, wanted: Ids) -> Ints:
        """int32: the object with the highest id up to each of ``wanted``, or -1."""
        ids = self._columns.id
        assert ids is not None
        if self._table.ascends:
            return (np.searchsorted(ids, wanted, "right") - 1).astype(np.int32)
        found = np.full(len(wanted), -1, np.int32)
        highest = np.zeros(len(wanted), np.uint64)
        for begin in range(0, len(ids), _BLOCK_OBJECTS):
            block = ids[begin : begin + _BLOCK_OBJECTS].astype(np.uint64)
            order = np.argsort(block, kind="stable")
            at = np.searchsorted(block, wanted, "right", sorter=order) - 1
            row = order[np.maximum(at, 0)]
            better = (at >= 0) & ((found < 0) | (block[row] > highest))
            found[better] = begin + row[better]
            highest[better] = block[row[better]]
        return found

    def _want_roots(
        self, roots: RootColumns, rows: Ints, placeholders: Placeholders
    ) -> None:
        at = np.flatnonzero(rows == ABSENT)
        scopes = None if roots.scope is None else roots.scope[at]
        placeholders.want(rows, at, roots.id[at], scopes)
        if roots.counts_missing and roots.line is not None:
            self._counter.add_lines("missing_object", roots.line[at])

    def _targets(self, starts: Starts, placeholders: Placeholders) -> Ints:
        """int32 (E,): the row of each reference's target, or a negative code.

        Blocks are looked up in parallel, and freed one by one.
        """
        columns, table = self._columns, self._table
        pieces, columns.ref_id = columns.ref_id, []
        in_place = len(pieces) == 1 and pieces[0].dtype == np.int32
        targets = pieces[0] if in_place else np.empty(int(starts[-1]), np.int32)
        if len(targets) <= _BLOCK_REFERENCES:
            pieces = [np.concatenate(pieces)] if len(pieces) > 1 else pieces
        blocks = _blocks(pieces)
        del pieces

        def owners(at: Rows) -> Rows:
            # The column's own type, since it would be copied otherwise.
            return np.searchsorted(starts, at.astype(starts.dtype), "right") - 1

        def look_up(number: int) -> tuple[Rows, Rows, NDArray[Any], bool]:
            """Positions found only in another section, or nowhere, and their ids."""
            begin, ids = blocks[number]
            blocks[number] = begin, ids[:0].copy()
            if in_place:
                ids = ids.copy()
            end = begin + len(ids)
            scopes = columns.scope
            if scopes is not None:
                scopes = scopes[owners(np.arange(begin, end))]
            rows, crossed = table.find(ids, scopes, targets[begin:end])
            absent = np.flatnonzero(rows == ABSENT)
            wanted = ids[absent]
            if len(absent) and not wanted.all():
                rows[absent[wanted == 0]] = NULL
                absent, wanted = absent[wanted != 0], wanted[wanted != 0]
            drops = bool(len(rows)) and bool(rows.min() < ABSENT)
            return begin + crossed.astype(np.int64), begin + absent, wanted, drops

        for crossed, absent, wanted, drops in in_threads(look_up, range(len(blocks))):
            self._drops |= drops
            owner = owners(absent)
            if columns.line is not None:
                lines = columns.line
                self._counter.add_lines(
                    "cross_domain_reference", lines[owners(crossed)]
                )
                self._counter.add_lines("missing_object", lines[owner])
            scopes = None if columns.scope is None else columns.scope[owner]
            placeholders.want(targets, absent, wanted, scopes)
        trim()  # frees the pieces' ids
        return targets

    def _resolved_additions(self, placeholders: Placeholders) -> AddedReferences | None:
        """The references of `add_references`, with resolved targets."""
        if not self._added:
            return None
        owner, ids, field, is_first = (
            np.concatenate(column) for column in zip(*self._added, strict=True)
        )
        rows, _ = self._table.find(ids)
        at = np.flatnonzero(rows == ABSENT)
        placeholders.want(rows, at, ids[at], None)
        return AddedReferences(owner, rows, field, is_first)

    def _remaining(self) -> Bools | None:
        """Bool (N,): objects that stay in the graph; ``None`` for all."""
        if self._folding is None:
            return None
        rows = self.new_row
        stays = (rows >= 0) & (rows < self._object_count)
        return None if stays.all() else stays

    def _folded(self, stays: Bools | None, reference_count: int) -> Folded:
        """The counts of what was folded, without placeholders."""
        if stays is None:
            return Folded(0, 0, reference_count)
        sizes = self._columns.size_bytes
        objects = len(sizes) - self._object_count - self._recorded_missing
        return Folded(objects, int(sizes[~stays].sum()), reference_count)

    def _object_columns(
        self,
        stays: Bools | None,
        missing: Ids,
        missing_scopes: Ints,
        starts: Starts,
        by_id: Callable[[Ids], dict[str, Any]] | None,
    ) -> dict[str, Any]:
        """The columns of objects and placeholders; frees the recorded ones."""
        columns = self._columns
        many = self._recorded_missing + len(missing)

        def of_all(column: NDArray[Any], value: int) -> NDArray[Any]:
            return extended(column if stays is None else column[stays], many, value)

        found: dict[str, Any] = {"ref_start": grown(starts, many, int(starts[-1]))}
        found["type_index"] = of_all(columns.type_id, NO_TYPE)
        columns.type_id = missing[:0]
        found["shallow_bytes"] = of_all(columns.size_bytes, 0)
        columns.size_bytes = np.empty(0, np.int64)
        for name in list(columns.further):
            column, value = columns.further.pop(name)
            found[name] = of_all(column, value)
            del column
        if columns.scope is not None:
            found["domain_index"] = np.concatenate([columns.scope, missing_scopes])
        ids = self._object_ids(stays)
        found["object_id"] = array_files.extended(ids, missing) if len(missing) else ids
        if by_id is not None:
            found |= by_id(found["object_id"])
        return found

    def _object_ids(self, stays: Bools | None) -> Ids:
        """uint64: the ids of objects, then of objects recorded as missing."""
        ids = self._columns.id
        if ids is None:
            count = self._object_count
            rows = np.arange(count) if stays is None else np.flatnonzero(stays)
            rows += self._first_number
            return rows.view(np.uint64)
        if stays is None:
            return ids.astype(np.uint64, copy=False)
        if self._recorded_missing:
            assert self._folding is not None
            assert self._folding.placeholder is not None
            last = np.flatnonzero(self._folding.placeholder & self._folding.stays)
            return np.concatenate([ids[stays], ids[last]]).astype(np.uint64, copy=False)
        return ids[stays].astype(np.uint64, copy=False)


@dataclass(slots=True, eq=False)
class ResolvedHeap:
    """References and roots by row, before the graph is made.

    Attributes:
        links: The references of the N objects.
        roots: The roots.
        root_object: int32 (R,). Rows of the objects that the roots hold.
        type_index: int32 (N,). Row of the type of each object.
    """

    links: References
    roots: RootColumns
    root_object: Ints
    type_index: Ints

    def keep_roots(self, kept: Bools) -> None:
        """Keep only these roots."""
        self.root_object = self.root_object[kept]
        self.roots.keep(kept)


def _release_pages(graph: HeapGraph) -> None:
    for column in vars(graph).values():  # the columns were checked
        if isinstance(column, np.ndarray):
            array_files.release_pages(column)


def _types_of(roots: RootColumns, count: int) -> Ints:
    return np.full(count, NO_TYPE, np.int32) if roots.type is None else roots.type


def _completed(
    roots: RootColumns, root_object: Ints, links: References, objects: dict[str, Any]
) -> Ints:
    """int32: the objects of ``roots``, after roots that are not recorded are added."""
    start, kinds = objects["ref_start"], objects["type_index"]
    more = without_holder(start, links.target, links.kind, root_object, kinds)
    if len(more):
        roots.extend(len(more), RootKind.NOT_RECORDED)
    return np.concatenate([root_object, more])


def _blocks(pieces: list[NDArray[Any]]) -> list[tuple[int, NDArray[Any]]]:
    """Views of at most `_BLOCK_REFERENCES` rows, with the position of the first."""
    found: list[tuple[int, NDArray[Any]]] = []
    begin = 0
    for piece in pieces:
        found += [
            (begin + at, piece[at : at + _BLOCK_REFERENCES])
            for at in range(0, len(piece), _BLOCK_REFERENCES)
        ]
        begin += len(piece)
    return found


class Placeholders:
    """Collects ids that no object has; each gets one row in each section.

    Args:
        first_row: Row of the first placeholder.
    """

    def __init__(self, first_row: int) -> None:
        self._first_row = first_row
        self._wanted: list[tuple[Ints, NDArray[Any], NDArray[Any], Ints]] = []

    def want(
        self,
        rows: Ints,
        at: NDArray[Any],
        ids: NDArray[Any],
        scopes: Ints | None,
    ) -> None:
        """Ask for the rows of ``ids``, to be put into ``rows`` at ``at``."""
        if len(at):
            known = np.zeros(len(at), np.int32) if scopes is None else scopes
            self._wanted.append((rows, at, ids.astype(np.uint64), known))

    def settle(self) -> tuple[Ids, Ints]:
        """Fill all rows that were asked for.

        Returns:
            uint64 (M,) ids and int32 (M,) sections of the placeholders, by section,
            then id.
        """
        if not self._wanted:
            return np.empty(0, np.uint64), np.empty(0, np.int32)
        ids = np.concatenate([ids for _, _, ids, _ in self._wanted])
        scopes = np.concatenate([scopes for *_, scopes in self._wanted])
        order = np.lexsort((ids, scopes))
        ids, scopes = ids[order], scopes[order]
        fresh = np.ones(len(ids), np.bool_)
        fresh[1:] = (ids[1:] != ids[:-1]) | (scopes[1:] != scopes[:-1])
        ids, scopes = ids[fresh], scopes[fresh]
        table = IdTable(ids, scopes)
        for rows, at, wanted, sections in self._wanted:
            rows[at] = table.find(wanted, sections)[0] + self._first_row
        return ids, scopes


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[Result]:
    """The result of ``work`` for each item, in order, computed on all cores.

    A single item is not worth a thread; most dumps of tests and fleets are small.
    """
    workers = min(thread_count(), len(items))
    if workers <= 1:
        yield from map(work, items)
        return
    with threads(workers) as pool:
        # Our context says how arrays are allocated.
        running = [pool.submit(copy_context().run, work, item) for item in items]
        yield from (one.result() for one in running)
