"""Large V8 snapshots, written as columns: the writer of tests has a dict for a node.

Every node but the first has an owner among the nodes shortly before it; of the other
edges nine in ten lead to nodes numbered nearby, which V8 has found about the same time,
and the rest anywhere. A quarter of the nodes are strings, a tenth are arrays.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from tests.dumps.v8 import V8Heap

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CLASSES, _FIELDS = 300, 40
_NEAR = 2_000
_ROWS = 1 << 18


def write_snapshot(path: Path, nodes: int, edges: int, seed: int = 1) -> None:
    """Write a snapshot of exactly so many nodes and edges to ``path``.

    Memory: about 30 bytes an edge and 50 a node.

    Raises:
        ValueError: fewer edges than nodes have owners.
    """
    if edges < nodes - 1:
        raise ValueError("each node but the first has an edge to it")
    rng = np.random.default_rng(seed)
    heap = V8Heap()
    heap.node("synthetic", "")
    classes = [heap.string(f"Thing{number}") for number in range(_CLASSES)]
    fields = [heap.string(f"field{number}") for number in range(_FIELDS)]
    nameless = heap.string("")
    texts = len(heap.strings) + np.arange(nodes // 8)
    number = np.arange(nodes)
    node_types = {name: heap.node_types.index(name) for name in heap.node_types}
    kind = np.full(nodes, node_types["object"])
    drawn = rng.random(nodes)
    kind[drawn < 0.35] = node_types["array"]
    kind[drawn < 0.25] = node_types["string"]
    kind[0], kind[1] = node_types["synthetic"], node_types["object"]
    name = rng.choice(classes, nodes)
    name[kind == node_types["array"]] = nameless
    is_text = kind == node_types["string"]
    name[is_text] = rng.choice(texts, int(is_text.sum()))
    size = rng.integers(2, 10, nodes) * 8
    size[0] = 0

    holders = np.flatnonzero(~is_text)
    before = np.searchsorted(holders, number[1:]) - 1
    owner = holders[np.maximum(before - rng.integers(0, _NEAR, nodes - 1), 0)]
    more = edges - nodes + 1
    source = holders[rng.integers(1, len(holders), more)]
    near = np.clip(source + rng.integers(-_NEAR, _NEAR, more), 1, nodes - 1)
    target = np.where(rng.random(more) < 0.1, rng.integers(1, nodes, more), near)
    source = np.concatenate([owner, source])
    order = np.argsort(source, kind="stable")
    target = np.concatenate([number[1:], target])[order]
    count = np.bincount(source, minlength=nodes)
    del source, near, owner, order
    edge_kind = np.full(edges, heap.edge_types.index("property"))
    label = rng.choice(fields, edges)
    of_array = np.repeat(kind == node_types["array"], count)
    edge_kind[of_array] = heap.edge_types.index("element")
    edge_kind[: count[0]] = heap.edge_types.index("element")

    document = heap.document()
    document["snapshot"] |= {"node_count": nodes, "edge_count": edges}
    none = np.zeros(nodes, np.int64)
    stride = len(heap.node_fields)
    with path.open("wb") as out:
        head = json.dumps(document["snapshot"], separators=(",", ":"))
        out.write(b'{"snapshot":' + head.encode() + b',\n"nodes":[')
        _write_rows(out, [kind, name, 2 * number + 1, size, count, none, none])
        out.write(b'],\n"edges":[')
        _write_rows(out, [edge_kind, label, target * stride])
        out.write(b'],\n"trace_function_infos":[],"trace_tree":[],"samples":[],')
        out.write(b'"locations":[],\n"strings":[')
        strings = [json.dumps(text) for text in heap.strings]
        strings += [f'"value {row} of a heap"' for row in range(len(texts))]
        out.write(",\n".join(strings).encode() + b"]}\n")


def _write_rows(out: BinaryIO, columns: list[NDArray[np.int64]]) -> None:
    """Write rows of numbers, each on a line as V8 writes nodes and edges."""
    line = ",".join(["%d"] * len(columns)) + "\n"
    for begin in range(0, len(columns[0]), _ROWS):
        rows = np.stack([column[begin : begin + _ROWS] for column in columns], 1)
        text = line * len(rows) % tuple(rows.ravel().tolist())
        text = text.rstrip("\n").replace("\n", "\n,")
        out.write(("," * bool(begin) + text).encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("nodes", type=int)
    parser.add_argument("edges", type=int)
    chosen = parser.parse_args()
    write_snapshot(chosen.path, chosen.nodes, chosen.edges)
