"""From a ``.gcdump``'s nodes to one graph: types, roots, missing and pseudo nodes.

What is folded, unless all is asked for. Pseudo nodes become roots. A producer
splits a type by the size of its objects (``T[] (Bytes > 10K,Ptrs,ElemSize=8)``):
those are put together again. What is called the type of a static variable is its
object's own type with some producers: then it is left out.

Nodes that were referred to but never seen are no objects of the dump, but missing
ones. A node without an address has a made one, `NO_ADDRESS` and its row.

A sample has its objects as they are; `Sampling` tells what they stand for, so that
the sums of a type come out right though large objects are sampled less.
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
    RootKind,
    Sampling,
    Segment,
    SegmentKind,
)
from ingest.heap.read_options import Fold
from ingest.readers.gcdump.nodes import UNDEFINED
from ingest.readers.gcdump.roots import PseudoNodes, find_pseudo_nodes, static_of
from ingest.readers.gcdump.signature import NAME
from ingest.readers.shared.address_ranges import within
from ingest.readers.shared.columns import Folding, ObjectColumns, RootColumns
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.readers.gcdump.nodes import Nodes
    from ingest.readers.shared.irregularities import IrregularityCounter

NO_ADDRESS = 1 << 63
"""An address that no program's memory has."""

_BLOCK_ROWS = 1 << 16
_BY_SIZE = re.compile(r" \(Bytes > \d+[KM](?:,[^()]*)?\)$")


@dataclass(slots=True)
class About:
    """What a dump tells beside its graph.

    Attributes:
        process: Name of the process.
        tool: What wrote the dump, if it tells.
        average_count: Objects of the heap for each one of the dump.
        average_size: Bytes of the heap for each one of the dump.
        by_type: Objects of the heap for each one of a type, float64.
        segments: Start, end, and where generations 0 to 4 end, of each.
    """

    process: str = ""
    tool: str = ""
    average_count: float = 1.0
    average_size: float = 1.0
    by_type: NDArray[np.float64] | None = None
    segments: list[tuple[int, ...]] = field(default_factory=list)


def assemble(
    nodes: Nodes, about: About, *, fold: Fold, counter: IrregularityCounter
) -> HeapGraph:
    """Make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    _check(nodes, counter)
    pseudo = find_pseudo_nodes(nodes) if fold is Fold.AUTO else None
    stays = np.ones(nodes.count, np.bool_)
    if pseudo is not None:
        stays[pseudo.row] = False
    undefined = _undefined(nodes) & stays
    _identify(nodes, stays, counter)
    merged = MergedTypes(nodes, stays & ~undefined, pseudo)
    roots, field_names = _roots(nodes, pseudo, merged)
    sampling = _sampling(nodes, about, stays & ~undefined, merged, counter)
    objects = ObjectColumns(
        id=nodes.address,
        type_id=merged.new_row[nodes.type_index],
        size_bytes=nodes.size_bytes,
        ref_count=nodes.ref_count,
        ref_id=[nodes.ref_target],
    )
    nodes.discard()
    heap = HeapResolver(
        [objects],
        TypeTable.by_row(merged.names, counter),
        counter,
        by_row_number=0,
        folding=Folding(
            stays,
            placeholder=undefined,
            makes_roots=pseudo is not None and len(pseudo.row) > 0,
        ),
    )
    del objects
    return heap.graph(
        roots,
        by_id=lambda address: _segment_columns(about, address),
        format_name=NAME,
        producer=about.tool,
        domains=(Domain(about.process),),
        field_names=field_names,
        sampling=sampling,
    )


def _check(nodes: Nodes, counter: IrregularityCounter) -> None:
    """Mend sizes that cannot be; nothing else is left to go wrong."""
    if len(negative := np.flatnonzero(nodes.size_bytes < 0)):
        nodes.size_bytes[negative] = 0
        counter.add("negative_size", len(negative), 0, None)
    counter.add("no_root", int(nodes.root < 0), 0, None)


def _undefined(nodes: Nodes) -> NDArray[np.bool_]:
    """Bool (N,): nodes that were referred to but never seen."""
    if not nodes.type_names or nodes.type_names[0] != UNDEFINED:
        return np.zeros(nodes.count, np.bool_)
    unseen: NDArray[np.bool_] = (nodes.type_index == 0) & (nodes.size_bytes == 0)
    unseen &= nodes.ref_count == 0
    return unseen


def _identify(
    nodes: Nodes, stays: NDArray[np.bool_], counter: IrregularityCounter
) -> None:
    """Give nodes without an address a made-up one."""
    address = nodes.address
    nowhere = np.flatnonzero(address == 0)
    address[nowhere] = np.uint64(NO_ADDRESS) + nowhere.astype(np.uint64)
    known = address[stays]
    if not (known[1:] > known[:-1]).all():
        known.sort()
        repeated = int((known[1:] == known[:-1]).sum())
        counter.add("repeated_address", repeated, 0, None)


class MergedTypes:
    """The types of a graph, without those of pseudo nodes, put together by name.

    Attributes:
        names: Of each type.
        new_row: int32. Row of each type of the file; -1 where it is left out.
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
        left_out = np.zeros(len(names), np.bool_)
        left_out[nodes.type_index[pseudo.row]] = True
        left_out[:1] |= names[:1] == [UNDEFINED]
        self.names = []
        known: dict[tuple[str, str], int] = {}
        split = []
        for row in np.flatnonzero(used | ~left_out).tolist():
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

    def named(self, name: str) -> int:
        """Row of the first type of that name, which is made if there is none."""
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
    declares = _names_declaring_types(nodes, pseudo, types, statics)
    root_type = np.full(nodes.count, NO_TYPE, np.int32)
    root_field = np.full(nodes.count, NO_FIELD, np.int32)
    fields: dict[str, int] = {}
    for row, (name, text) in statics.items():
        root_field[row] = fields.setdefault(text, len(fields))
        if name and declares:
            root_type[row] = types.named(name)
    roots = RootColumns(
        id=pseudo.target,
        kind=pseudo.kind,
        flags=pseudo.flags,
        type=root_type[pseudo.source],
        field=root_field[pseudo.source],
    )
    return roots, tuple(fields)


def _names_declaring_types(
    nodes: Nodes,
    pseudo: PseudoNodes,
    types: MergedTypes,
    statics: dict[int, tuple[str, str]],
) -> bool:
    """Whether the types in the names of static variables are those that declare them.

    Producers that rely on the runtime's events have the objects' own types there.
    """
    kinds = types.new_row[nodes.type_index[pseudo.target]].tolist()
    return any(
        row in statics and kind >= 0 and statics[row][0] != types.names[kind]
        for row, kind in zip(pseudo.source.tolist(), kinds, strict=True)
    )


def _segment_columns(about: About, address: NDArray[np.uint64]) -> dict[str, Any]:
    """The segments, and segment and generation of each address."""
    if not about.segments:
        return {}
    bounds = sorted(about.segments)
    found = tuple(Segment(b[0], b[1], kind=_kind_of(b)) for b in bounds)
    index = within(address, [s.start for s in found], [s.end for s in found])
    generation = np.full(len(address), -1, np.int8)
    # A lower generation lies above a higher one, where a segment has both.
    for number in range(5):
        end = np.array([0, *(b[2 + number] for b in bounds)], np.uint64)
        for begin in range(0, len(address), _BLOCK_ROWS):
            rows = slice(begin, begin + _BLOCK_ROWS)
            generation[rows][address[rows] < end[index[rows] + 1]] = number
    return {
        "segments": found,
        "segment_index": index,
        "generation": generation,
    }


def _kind_of(bounds: tuple[int, ...]) -> SegmentKind:
    start, end, *ends = bounds
    inside = [start < bound <= end for bound in ends]
    if inside[4]:
        return SegmentKind.POH
    if inside[3]:
        return SegmentKind.LOH
    if inside[0] or inside[1]:
        both = max(ends[:2]) > ends[2]
        return SegmentKind.EPHEMERAL if both else SegmentKind.GEN2
    return SegmentKind.GEN2 if inside[2] else SegmentKind.UNKNOWN


def _sampling(
    nodes: Nodes,
    about: About,
    is_object: NDArray[np.bool_],
    types: MergedTypes,
    counter: IrregularityCounter,
) -> Sampling | None:
    """What the objects of each type stand for; ``None`` where for themselves."""
    count = np.full(len(nodes.type_names), about.average_count)
    size = np.full(len(nodes.type_names), about.average_size)
    if about.by_type is not None:
        told = about.by_type[: len(count)]
        count[: len(told)] = size[: len(told)] = told
    averages = np.array([about.average_count, about.average_size])
    for column in (count, size, averages):
        wrong = ~(np.isfinite(column) & (column > 0))
        if column is not size:
            counter.add("impossible_multiplier", int(wrong.sum()), 0, None)
        column[wrong] = 1.0
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
    """float64 (rows,): weighted means; 1 where there is nothing."""
    total = np.bincount(row, weight, minlength=rows)
    scaled = np.bincount(row, weight * value, minlength=rows)
    mean = np.ones(rows)
    np.divide(scaled, total, out=mean, where=total > 0)
    return mean
