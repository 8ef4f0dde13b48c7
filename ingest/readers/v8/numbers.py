"""Numbers and truth values of a program, by the nodes that stand for them.

The node of a number has an edge ``value`` to a text of its own, if the snapshot was
taken with numeric values. Without them, small integers have no nodes. Truth values
always have nodes, which are named ``true`` and ``false``; in V8 before 13, all
constants have the same name and refer to their texts.

Source: v8/v8, src/profiler/heap-snapshot-generator.cc, ExtractNumberReference; and
snapshots of Node.js 20 and 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.errors import DumpError
from ingest.heap.values import ValueKind
from ingest.readers.v8.rules import targets_of
from ingest.words.command_line import command

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ints, Longs
    from ingest.readers.v8.document import Snapshot
    from ingest.readers.v8.rules import Edges, EdgeTypes, NodeTypes

_CONSTANT = "system / Oddball"
_TRUTH = {"false": 0, "true": 1}
_LARGEST = 1 << 53
"""Where doubles stop to tell integers apart."""


class Numbers(NamedTuple):
    """Nodes of known numbers and truth values.

    Attributes:
        rows: int32 (V,). The nodes, ascending.
        kind: uint8 (V,). `ValueKind` values.
        bits: int64 (V,). The integer, the bits of the float64, or 0 or 1.
        texts: int32. The nodes of the texts of numbers.
    """

    rows: Ints
    kind: Bytes
    bits: Longs
    texts: Ints

    @classmethod
    def of(
        cls, snapshot: Snapshot, edges: Edges, kinds: NodeTypes, types: EdgeTypes
    ) -> Numbers:
        """Those of a snapshot; ``edges`` have their names as recorded."""
        strings = snapshot.strings
        rows = np.flatnonzero(snapshot.type == kinds.number).astype(np.int32)
        texts = np.empty(len(rows), np.int32)
        value = strings.find("value")
        targets_of(rows, edges, types.internal, value, value, texts)
        known = (texts >= 0) & (snapshot.name[texts] < len(strings)) & (value >= 0)
        rows, texts = rows[known], texts[known]
        told = [_number(strings.raw(name)) for name in snapshot.name[texts].tolist()]
        if snapshot.meta.is_redacted:
            told = [None] * len(texts)  # some spell the name of a property, and stay
        known = np.array([one is not None for one in told], np.bool_)
        number = np.array(told, np.float64)[known]
        integer = (np.abs(number) <= _LARGEST) & (number == np.floor(number))
        bits = number.view(np.int64).copy()
        bits[integer] = number[integer].astype(np.int64)
        kind = np.where(integer, ValueKind.INTEGER, ValueKind.DOUBLE)
        truth = _truth_values(snapshot, edges, kinds)
        every = np.concatenate([rows[known], np.array(list(truth), np.int32)])
        order = np.argsort(every)
        return cls(
            every[order],
            np.append(kind, [ValueKind.BOOLEAN] * len(truth))[order].astype(np.uint8),
            np.append(bits, list(truth.values()))[order].astype(np.int64),
            texts,
        )


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _truth_values(snapshot: Snapshot, edges: Edges, kinds: NodeTypes) -> dict[int, int]:
    """0 or 1 for each node of a truth value."""
    names = {snapshot.strings.find(text): bit for text, bit in _TRUTH.items()}
    names.pop(-1, None)
    constant = snapshot.strings.find(_CONSTANT)
    wanted = np.array([*names, constant], np.int32)
    at = np.flatnonzero(np.isin(snapshot.name, wanted))
    found = {}
    for row in at[snapshot.type[at] == kinds.hidden].tolist():
        told = [int(snapshot.name[row])]
        if told == [constant]:
            held = edges.to[edges.start[row] : edges.start[row + 1]]
            told = snapshot.name[held[snapshot.type[held] == kinds.string]].tolist()
        for name in told:
            if name in names:
                found[row] = names[name]
    return found


def missing_values(numbers: Numbers, writer: str) -> list[str]:
    """A note on what ``--values`` does not find in a snapshot, if that is anything.

    Raises:
        DumpError: the writer records no values of fields.
    """
    if writer != "V8":
        raise DumpError(f"{writer} records no values of fields; leave out --values")
    if len(numbers.texts):
        return []
    return [
        "this snapshot was taken without numeric values, so --values finds only true "
        f"and false: take it with {command('capture', 'node', 'PID', '--numbers')} or "
        "v8.writeHeapSnapshot(FILE, {exposeNumericValues: true})"
    ]
