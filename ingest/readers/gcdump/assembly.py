"""Makes a graph from the nodes of a ``.gcdump``: types, roots, missing nodes.

Unless folding is disabled, pseudo nodes become roots, and types that a producer splits
by the size of their objects (``T[] (Bytes > 10K,Ptrs,ElemSize=8)``) are merged. The
name of a static variable contains its declaring type; some producers write the type of
the object instead, which is ignored.

Nodes that were referred to but never visited become missing objects. A node without an
address gets an artificial one: `NO_ADDRESS` plus its row.

A sampled dump has the sampled objects; `Sampling` has the factors that estimate the
totals of each type. They differ because large objects are sampled less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import (
    NO_FIELD,
    NO_TYPE,
    Domain,
    RefKind,
    RootFlag,
    RootKind,
    Sampling,
    Segment,
    SegmentKind,
)
from ingest.heap.read_options import Fold
from ingest.readers.dotnet.segments import within
from ingest.readers.gcdump import NAME
from ingest.readers.gcdump.nodes import UNDEFINED
from ingest.readers.gcdump.roots import PseudoNodes, find_pseudo_nodes, static_of
from ingest.readers.shared.columns import (
    MAX_SIZE_BYTES,
    Folding,
    ObjectColumns,
    RootColumns,
)
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.readers.shared.unrecorded import mark_reached
from ingest.runtimes import DOTNET, of_types
from ingest.words.text import counted, human_bytes

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.readers.gcdump.nodes import Nodes
    from ingest.readers.shared.irregularities import IrregularityCounter

NO_ADDRESS = 1 << 63
"""First artificial address; no process maps memory here."""

_BLOCK_ROWS = 1 << 16
_LARGEST_WRITTEN = (1 << 31) - 1
_MADE_UP = re.compile(r"\[\](?=\w)")
_ARRAY = re.compile(r"<(,+)>")
_NAMED = (RootKind.OTHER, RootKind.INTERNAL)
"""Kinds of roots whose pseudo nodes say more than the kind does."""

_SAYS_NOTHING = re.compile(r"(?:other|unknown)\b", re.IGNORECASE)
_NAMELESS = re.compile(r"UNKNOWN 0x", re.IGNORECASE)
_BY_SIZE = re.compile(r" \(Bytes > \d+[KM](?:,[^()]*)?\)$")


@dataclass(slots=True)
class DumpDetails:
    """The information in a dump besides its graph.

    Attributes:
        process: Name of the process.
        tool: Program that wrote the dump; empty if not recorded.
        average_count: Objects of the heap per object of the dump.
        average_size: Bytes of the heap per byte of the dump.
        by_type: float64. Objects of the heap per object of the dump, of each type.
        segments: Start, end, and ends of generations 0 to 4, for each segment.
    """

    process: str = ""
    tool: str = ""
    average_count: float = 1.0
    average_size: float = 1.0
    by_type: NDArray[np.float64] | None = None
    segments: list[tuple[int, ...]] = field(default_factory=list)


def assemble(
    nodes: Nodes, info: DumpDetails, *, fold: Fold, counter: IrregularityCounter
) -> HeapGraph:
    """Make the graph.

    Raises:
        MalformedDump: sizes are too large for any memory; or, with ``--strict``,
            anything is irregular.
    """
    nodes.type_names = [as_runtime(name) for name in nodes.type_names]
    notes = _restore_sizes(nodes, counter)
    counter.add("no_root", int(nodes.root < 0), 0, None)
    pseudo = find_pseudo_nodes(nodes, counter.name) if fold is Fold.AUTO else None
    unfolded = np.ones(nodes.count, np.bool_)
    if pseudo is not None:
        unfolded[pseudo.row] = False
    undefined = _undefined(nodes) & unfolded
    _identify(nodes, unfolded, counter)
    merged = MergedTypes(nodes, unfolded & ~undefined, pseudo)
    roots, field_names = _roots(nodes, pseudo, merged)
    ref_kind = None if pseudo is None else _spare_dependents(nodes, roots)
    notes += _nameless(nodes, unfolded & ~undefined)
    sampling = _sampling(nodes, info, unfolded & ~undefined, merged, counter)
    objects = ObjectColumns(
        id=nodes.address,
        type_id=merged.new_row[nodes.type_index],
        size_bytes=nodes.size_bytes,
        ref_count=nodes.ref_count,
        ref_id=[nodes.ref_target],
        ref_kind=ref_kind,
    )
    nodes.discard()
    heap = HeapResolver(
        [objects],
        TypeTable.by_row(merged.names, counter),
        counter,
        by_row_number=0,
        folding=Folding(
            unfolded,
            placeholder=undefined,
            makes_roots=pseudo is not None and len(pseudo.row) > 0,
        ),
    )
    del objects
    return heap.graph(
        roots,
        by_id=lambda address: _segment_columns(info, address, counter),
        format_name=NAME,
        runtime=of_types(merged.names, DOTNET),
        producer=info.tool,
        domains=(Domain(info.process),),
        field_names=field_names,
        sampling=sampling,
        notes=tuple(notes),
    )


def as_runtime(name: str) -> str:
    """The name of a type as the runtime spells it.

    dotnet-gcdump writes generic arguments in angle brackets, then ``[]`` for ``<>``,
    even if the compiler made the brackets: ``Page+[]c__DisplayClass3_0``. The commas of
    an array of several dimensions stay in angle brackets.
    """
    return _ARRAY.sub(r"[\1]", _MADE_UP.sub("<>", name))


def _restore_sizes(nodes: Nodes, counter: IrregularityCounter) -> list[str]:
    """Undo the cast of sizes to signed 32 bits; return notes about it.

    Types without instances have size -1.
    """
    sizes = nodes.size_bytes
    if len(absent := np.flatnonzero(sizes == -1)):
        sizes[absent] = 0
        counter.add("negative_size", len(absent), 0, None)
    large = np.flatnonzero(sizes < 0)
    sizes[large] += 1 << 32
    cut = int(np.count_nonzero(sizes == _LARGEST_WRITTEN))
    found = []
    if len(large):
        found.append(
            f"{counted(len(large), 'sizes')} of 2 GiB and more: the file has 32 bits "
            "for them, so that 4 GiB more are possible"
        )
    if cut:
        found.append(
            f"{counted(cut, 'sizes')} of 2 GiB or more: the file has no larger"
        )
    return found


def _nameless(nodes: Nodes, is_object: NDArray[np.bool_]) -> list[str]:
    """Notes on types for which the runtime sent no names."""
    is_nameless = np.array([_NAMELESS.match(n) is not None for n in nodes.type_names])
    rows = is_object & is_nameless[nodes.type_index] if is_nameless.any() else None
    if rows is None or not rows.any():
        return []
    types = counted(int(is_nameless.sum()), "types")
    size = human_bytes(int(nodes.size_bytes[rows].sum()))
    return [
        f"the runtime sent no names for {types} with {size} (UNKNOWN 0x...): they do "
        "not count as the program's own"
    ]


def _spare_dependents(nodes: Nodes, roots: RootColumns) -> NDArray[np.uint8] | None:
    """Keep objects that only dependent handles hold from owning others.

    The value of such a handle lives as long as its key, which is not recorded. It often
    refers to the key, and would seem to own it. So it holds nothing that another root
    reaches.

    Returns:
        uint8 (E,): strengths of references; ``None`` if all hold.
    """
    is_dependent = roots.kind == RootKind.DEPENDENT_HANDLE
    if not is_dependent.any():
        return None
    starts = nodes.ref_start()
    early, stack = np.zeros(nodes.count, np.bool_), np.empty(nodes.count, np.int32)
    targets = nodes.ref_target
    mark_reached(starts, targets, roots.id[~is_dependent], early, stack)
    roots.flags[is_dependent & early[roots.id]] |= np.uint8(RootFlag.WEAK)
    met = early.copy()
    mark_reached(starts, targets, roots.id[is_dependent], met, stack)
    spares = np.repeat(met & ~early, nodes.ref_count) & early[targets]
    return np.where(spares, np.uint8(RefKind.WEAK), np.uint8(RefKind.STRONG))


def _undefined(nodes: Nodes) -> NDArray[np.bool_]:
    """Bool (N,): nodes that were referred to but never visited."""
    if not nodes.type_names or nodes.type_names[0] != UNDEFINED:
        return np.zeros(nodes.count, np.bool_)
    undefined: NDArray[np.bool_] = (nodes.type_index == 0) & (nodes.size_bytes == 0)
    undefined &= nodes.ref_count == 0
    return undefined


def _identify(
    nodes: Nodes, unfolded: NDArray[np.bool_], counter: IrregularityCounter
) -> None:
    """Give nodes without an address an artificial one, and count repeated ones."""
    address = nodes.address
    missing = np.flatnonzero(address == 0)
    address[missing] = np.uint64(NO_ADDRESS) + missing.astype(np.uint64)
    known = address[unfolded]
    if not (known[1:] > known[:-1]).all():
        known.sort()
        repeated = int((known[1:] == known[:-1]).sum())
        counter.add("repeated_address", repeated, 0, None)


class MergedTypes:
    """The types of a graph without those of pseudo nodes, merged by name.

    Attributes:
        names: Name of each type.
        new_row: int32. Row of each type of the file; -1 if it is omitted.
    """

    def __init__(
        self, nodes: Nodes, is_object: NDArray[np.bool_], pseudo: PseudoNodes | None
    ) -> None:
        names = nodes.type_names
        self.new_row = np.full(len(names), -1, np.int32)
        if pseudo is None:
            self.names = list(names)
            self.new_row[:] = np.arange(len(names))
            return
        used = np.bincount(nodes.type_index[is_object], minlength=len(names)) > 0
        omitted = np.zeros(len(names), np.bool_)
        omitted[nodes.type_index[pseudo.row]] = True
        omitted[:1] |= names[:1] == [UNDEFINED]
        self.names = []
        known: dict[tuple[str, str], int] = {}
        split = []
        for row in np.flatnonzero(used | ~omitted).tolist():
            if _BY_SIZE.search(names[row]):
                split.append(row)
                continue
            known.setdefault((names[row], nodes.type_modules[row]), len(self.names))
            self.new_row[row] = self._add(names[row])
        for row in split:
            key = (_BY_SIZE.sub("", names[row]), nodes.type_modules[row])
            if key not in known:
                known[key] = self._add(key[0])
            self.new_row[row] = known[key]
        self._by_name: dict[str, int] = {}
        for row, name in enumerate(self.names):
            self._by_name.setdefault(name, row)

    def _add(self, name: str) -> int:
        self.names.append(name)
        return len(self.names) - 1

    def row_of(self, name: str) -> int:
        """Row of the first type with this name, which is added if there is none."""
        if name not in self._by_name:
            self._by_name[name] = self._add(name)
        return self._by_name[name]


def _roots(
    nodes: Nodes, pseudo: PseudoNodes | None, types: MergedTypes
) -> tuple[RootColumns, tuple[str, ...]]:
    """The roots, and the names of their fields."""
    if pseudo is None or not len(pseudo.row):
        root = np.array([nodes.root] if nodes.root >= 0 else [], np.int32)
        kind = np.full(len(root), RootKind.INTERNAL, np.uint8)
        return RootColumns(id=root, kind=kind, flags=np.zeros_like(kind)), ()
    statics = {
        row: static
        for row in np.unique(pseudo.source).tolist()
        if (static := static_of(nodes.type_names[nodes.type_index[row]]))
    }
    has_declaring_types = _has_declaring_types(nodes, pseudo, types, statics)
    root_type = np.full(nodes.count, NO_TYPE, np.int32)
    root_field = np.full(nodes.count, NO_FIELD, np.int32)
    fields: dict[str, int] = {}
    for row in np.unique(pseudo.source[np.isin(pseudo.kind, _NAMED)]).tolist():
        text = nodes.type_names[nodes.type_index[row]].strip("[]")
        if row != nodes.root and not _SAYS_NOTHING.match(text):
            root_field[row] = fields.setdefault(text, len(fields))
    for row, (name, field_name) in statics.items():
        root_field[row] = fields.setdefault(field_name, len(fields))
        if name and has_declaring_types:
            root_type[row] = types.row_of(name)
    roots = RootColumns(
        id=pseudo.target,
        kind=pseudo.kind,
        flags=pseudo.flags,
        type=root_type[pseudo.source],
        field=root_field[pseudo.source],
    )
    return roots, tuple(fields)


def _has_declaring_types(
    nodes: Nodes,
    pseudo: PseudoNodes,
    types: MergedTypes,
    statics: dict[int, tuple[str, str]],
) -> bool:
    """Whether the names of static variables contain their declaring types.

    Producers that rely on events of the runtime write the types of the objects there.
    """
    kinds = types.new_row[nodes.type_index[pseudo.target]].tolist()
    return any(
        row in statics and kind >= 0 and statics[row][0] != types.names[kind]
        for row, kind in zip(pseudo.source.tolist(), kinds, strict=True)
    )


def _segment_columns(
    info: DumpDetails, address: NDArray[np.uint64], counter: IrregularityCounter
) -> dict[str, Any]:
    """The segments, and segment and generation of each address."""
    bounds = sorted(b for b in info.segments if 0 <= b[1] - b[0] <= MAX_SIZE_BYTES)
    counter.add("impossible_segment", len(info.segments) - len(bounds), 0, None)
    if not bounds:
        return {}
    segments = tuple(Segment(b[0], b[1], kind=_segment_kind(b)) for b in bounds)
    index = within(address, [s.start for s in segments], [s.end for s in segments])
    generation = np.full(len(address), -1, np.int8)
    # In a segment with several generations, the younger ones have higher addresses.
    for number in range(5):
        end = np.array([0, *(b[2 + number] for b in bounds)], np.uint64)
        for begin in range(0, len(address), _BLOCK_ROWS):
            rows = slice(begin, begin + _BLOCK_ROWS)
            generation[rows][address[rows] < end[index[rows] + 1]] = number
    return {"segments": segments, "segment_index": index, "generation": generation}


def _segment_kind(bounds: tuple[int, ...]) -> SegmentKind:
    start, end, *ends = bounds
    has_generation = [start < bound <= end for bound in ends]
    if has_generation[4]:
        return SegmentKind.POH
    if has_generation[3]:
        return SegmentKind.LOH
    if any(has_generation[:2]):
        is_ephemeral = max(ends[:2]) > ends[2]
        return SegmentKind.EPHEMERAL if is_ephemeral else SegmentKind.GEN2
    return SegmentKind.GEN2 if has_generation[2] else SegmentKind.UNKNOWN


_LARGEST_MULTIPLIER = float(1 << 40)
"""The most objects for which one stands; more would not fit into any memory."""


def _sampling(
    nodes: Nodes,
    info: DumpDetails,
    is_object: NDArray[np.bool_],
    types: MergedTypes,
    counter: IrregularityCounter,
) -> Sampling | None:
    """The estimation factors of each type; ``None`` if the dump is not sampled."""
    count = np.full(len(nodes.type_names), info.average_count)
    size = np.full(len(nodes.type_names), info.average_size)
    if info.by_type is not None:
        factors = info.by_type[: len(count)]
        count[: len(factors)] = size[: len(factors)] = factors
    averages = np.array([info.average_count, info.average_size])
    for column in (count, size, averages):
        invalid = ~((column > 0) & (column <= _LARGEST_MULTIPLIER))
        if column is not size:
            counter.add("impossible_multiplier", int(invalid.sum()), 0, None)
        column[invalid] = 1.0
    if (count == 1).all() and (size == 1).all() and (averages == 1).all():
        return None
    counter.add("sampled_one_in", max(1, round(averages[0])), 0, None)
    kind = nodes.type_index[is_object]
    row = types.new_row[kind]
    return Sampling(
        _mean(row, np.ones(len(row)), count[kind], len(types.names)),
        _mean(row, nodes.size_bytes[is_object], size[kind], len(types.names)),
        float(averages[0]),
        float(averages[1]),
    )


def _mean(
    row: NDArray[np.int32], weight: NDArray[Any], value: NDArray[Any], rows: int
) -> NDArray[np.float64]:
    """float64 (rows,): weighted means; 1 for rows without weight."""
    total = np.bincount(row, weight, minlength=rows)
    scaled = np.bincount(row, weight * value, minlength=rows)
    mean = np.ones(rows)
    np.divide(scaled, total, out=mean, where=total > 0)
    return mean
