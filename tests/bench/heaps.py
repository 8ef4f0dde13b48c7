"""Synthetic heaps with the shape of real ones, as gclog text, from a seed.

Objects and references are counted exactly; the same arguments give the same bytes.
What is modelled, after a real heap (an isolate of a compiler,
115 thousand objects) and what .NET heaps have besides:

- *types*: instances by a power law, strings in front; leaf types, records with one
  to four fields, arrays. Each type is held by a few types and its fields have
  declared types, so that the matrix of type pairs is sparse; one field in twenty
  is declared as ``object`` and holds anything;
- *ownership*: every live object is held by an earlier one of a fitting type, mostly
  a recent one; further references lead to objects allocated about the same time;
- *arrays*: out-degrees with a long tail, eight huge ones (to 1.25 % of all
  references each) that list most instances of one type;
- *caches*: a fifth of the heap hangs from one array, 6 % and 3 % from two others;
- *hubs*: strings that a large part of all fields refer to;
- *chains*: linked lists, the longest one object in a hundred;
- *roots*: tables of statics, handles (some weak, some pinned), locals, the finalizer
  queue; more than one root at one object;
- *garbage*: a tenth, in pieces that hold each other and refer to the live.

Not modelled: several domains, missing objects, irregular records.

============================  =========  ============  =========
statistic                     real heap  115 k, 632 k  1 M, 2.5 M
============================  =========  ============  =========
types with instances                119           406      1,200
type pairs with references          507         2,809      7,989
share of the commonest type        0.23          0.32       0.30
without references                 0.34          0.44       0.47
references, 99.9th percentile       249           266        116
references, most                 40,896        19,517     38,827
referrers of the top object        0.21          0.02       0.03
reached by a root                  0.74          0.90       0.90
distance from a root, median          4             4          6
distance from a root, most           23         1,151     10,001
============================  =========  ============  =========

Memory: about 26 bytes an object and 4 a reference.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from tests.bench import heap_kernels as kernels
from tests.bench.heap_kernels import ANY, ARRAY, BYTES, LEAF, NODE, OBJECT_ARRAY, RECORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints, Longs, Numbers, Starts

GARBAGE = 0.1
HUB_SHARE = 0.3
_HUBS = 64
_CHUNK_BYTES = 1 << 24
_NAMESPACES = 23
# Bytes of an `o` record without references, and of a reference, at the most.
_RECORD_BYTES, _REFERENCE_BYTES = 64, 17


@dataclass(frozen=True)
class Types:
    """The types of a heap: who has how many instances, fields, holders.

    Attributes:
        shares: float64 (T,): cumulative shares of instances.
        roles: int8 (T,): leaf, record or array.
        fields: int32 (T,): declared fields; 1 for the elements of an array.
        field_types: int32 (T, 4): their declared types, or `ANY`.
        owner_types: int32 (T, 24): types with a field that owns such an object.
        owner_counts: int32 (T,): how many of those there are.
        hub_of_type: int32 (T,): which hub objects of the type refer to.
    """

    shares: NDArray[np.float64]
    roles: NDArray[np.int8]
    fields: Ints
    field_types: Ints
    owner_types: Ints
    owner_counts: Ints
    hub_of_type: Ints


def write_heap(path: Path, objects: int, references: int, seed: int = 1) -> None:
    """Write a gclog of exactly ``objects`` and ``references`` to ``path``.

    Raises:
        ValueError: fewer references than objects, or next to no objects.
    """
    if objects < 100 or references < objects:
        raise ValueError("at least 100 objects and as many references")
    rng = np.random.default_rng(seed)
    types = _draw_types(rng, objects)
    tables = min(32, objects // 10)
    lengths = objects // np.array([100, 400, 1000, 1000, 2000])
    firsts = objects // 8 * np.arange(1, 6) + tables
    chains = np.stack([firsts, lengths], 1)[lengths > 1].reshape(-1, 2)
    islands = _islands(seed, objects, tables)
    kind = np.empty(objects, np.int16)
    kernels.draw_types(seed, types.shares, tables, islands, chains, kind)
    begins = np.empty(len(types.roles) + 1, np.int64)
    order = np.empty(objects, np.int32)
    kernels.by_type(kind, begins, np.empty_like(begins), order)
    owners = np.empty(objects, np.int32)
    owned = kernels.draw_owners(
        seed,
        GARBAGE,
        tables,
        kind,
        begins,
        order,
        types.owner_types,
        types.owner_counts,
        islands,
        chains,
        np.zeros_like(begins),
        owners,
    )
    left = references - owned
    records = np.flatnonzero(types.roles == RECORD)
    records = records[records != NODE][:8].astype(np.int32)
    huge = np.zeros((min(len(records), tables), 2), np.int64)
    huge[:, 0] = np.arange(len(huge))
    huge[:, 1] = left // 40 // 2 ** np.arange(len(huge))
    weights = np.empty(objects, np.int32)
    wishes = kernels.weigh(seed, kind, types.roles, types.fields, weights)
    starts = np.empty(objects + 1, np.int64)
    kernels.place_references(
        weights, wishes, left - int(huge[:, 1].sum()), huge, owners, starts
    )
    targets = np.empty(references, np.int32)
    weights[:] = 0
    kernels.refer(
        seed,
        GARBAGE,
        tables,
        HUB_SHARE,
        kind,
        types.roles,
        begins,
        order,
        types.fields,
        types.field_types,
        _hubs(seed, tables, types, begins, order),
        types.hub_of_type,
        islands,
        huge,
        records,
        owners,
        starts,
        weights,
        targets,
    )
    del owners, weights, order
    sizes = np.empty(objects, np.int32)
    kernels.draw_sizes(seed, kind, types.roles, types.fields, starts, sizes)
    names = [_name(t, int(types.roles[t])) for t in range(len(types.roles))]
    with path.open("wb") as out:
        out.write(b"a 2 synthetic.exe 763f9d2\n")
        _write_types(out, names)
        _write_objects(out, 0, kind, sizes, starts, targets)
        _write_roots(out, *_roots(rng, seed, kind, tables, islands, len(names)))
        out.write(b"c synthetic.exe 763fbef\n")


def write_tree(path: Path, objects: int, references: int, seed: int = 1) -> None:
    """Write a gclog of another shape: a tree of many types, and skewed references.

    Each object is held by any earlier one. The other references lead from anywhere to
    objects of which few are referred to by many. Instances of 4,000 types by a power
    law, and nothing is garbage.
    """
    rng = np.random.default_rng(seed)
    count = int(np.clip(objects // 100, 16, 4000))
    share = np.arange(1, count + 1) ** -1.1
    kind = rng.choice(count, objects, p=share / share.sum()).astype(np.int16)
    source = np.empty(references, np.int32)
    target = np.empty(references, np.int32)
    source[: objects - 1] = rng.random(objects - 1) * np.arange(1, objects)
    target[: objects - 1] = np.arange(1, objects)
    more = references - objects + 1
    source[objects - 1 :] = rng.integers(0, objects, more)
    target[objects - 1 :] = objects * rng.random(more) ** 4
    target = target[np.argsort(source, kind="stable")]
    starts = np.zeros(objects + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=objects), out=starts[1:])
    sizes = (16 + 8 * np.diff(starts)).astype(np.int32)
    with path.open("wb") as out:
        out.write(b"a 2 tree.exe 1\n")
        _write_types(out, [_name(number, RECORD) for number in range(count)])
        _write_objects(out, 0, kind, sizes, starts, target)
        _write_roots(out, np.zeros(1, np.int64), np.array([[4, 0, 0]]))
        out.write(b"c tree.exe 2\n")


SHAPES = {"heap": write_heap, "tree": write_tree}


def write_copies(path: Path, sample: Path, copies: int) -> None:
    """Write ``copies`` of a real gclog's objects, in one domain, with its types."""
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import silent
    from ingest.readers import open_source, read

    with open_source(str(sample)) as source:
        graph = read(source, ReadOptions(), silent)
    rows, count = len(graph.object_id), graph.object_count
    kind, starts = graph.type_index[:count], graph.ref_start[: count + 1]
    roots = np.stack([graph.root_kind, graph.root_flags, graph.root_type], 1)
    with path.open("wb") as out:
        out.write(b"a 2 copies.exe 1\n")
        _write_types(out, list(graph.type_names))
        for copy in range(copies):
            shift = copy * rows
            _write_objects(
                out, shift, kind, graph.shallow_bytes, starts, graph.ref_target
            )
            _write_roots(out, graph.root_object.astype(np.int64) + shift, roots)
        out.write(b"c copies.exe 2\n")


def _draw_types(rng: np.random.Generator, objects: int) -> Types:
    count = int(np.clip(1.2 * objects**0.5, 16, 4000))
    share = np.arange(1, count + 1) ** -1.3
    share[NODE] = 0
    share /= share.sum()
    roles = rng.choice([LEAF, RECORD, ARRAY], count, p=[0.2, 0.68, 0.12]).astype(
        np.int8
    )
    roles[:8] = [LEAF, ARRAY, LEAF, LEAF, RECORD, RECORD, ARRAY, RECORD]
    fields = np.where(
        roles == RECORD, rng.integers(1, 5, count), roles == ARRAY
    ).astype(np.int32)
    # Six types in ten are private: their instances have one holder each.
    shared = np.where(rng.random(count) < 0.4, share, 0)
    shared[[kernels.STRING, NODE]] = 0
    shared[5] = share[5]
    field_types = rng.choice(count, (count, 4), p=shared / shared.sum())
    field_types[rng.random((count, 4)) < 0.05] = ANY
    field_types[OBJECT_ARRAY] = ANY
    # One value a node, a string: what it holds besides is the next node.
    roles[NODE], fields[NODE], field_types[NODE] = RECORD, 1, kernels.STRING
    holding = np.where((roles == LEAF), 0, share)
    width = 24
    owner_types = rng.choice(count, (count, width), p=holding / holding.sum())
    owner_counts = np.clip(rng.integers(1, 3, count) + 100 * share, 1, width)
    return Types(
        shares=np.cumsum(share),
        roles=roles,
        fields=fields,
        field_types=field_types.astype(np.int32),
        owner_types=owner_types.astype(np.int32),
        owner_counts=owner_counts.astype(np.int32),
        hub_of_type=np.minimum(rng.zipf(1.8, count) - 1, _HUBS - 1).astype(np.int32),
    )


def _islands(seed: int, objects: int, tables: int) -> Longs:
    """Ranges of rows that only their first object, a live one, leads into."""
    bounds = (objects * np.array([[0.7, 0.9], [0.52, 0.58], [0.3, 0.33]])).astype(int)
    for bound in bounds:
        while kernels.is_garbage(seed, int(bound[0]), GARBAGE, tables):
            bound[0] += 1
    return bounds


def _hubs(seed: int, tables: int, types: Types, begins: Longs, order: Ints) -> Ints:
    """The first live instances of leaf types, turn by turn."""
    leaves = [t for t in np.flatnonzero(types.roles == LEAF)[:16] if t != NODE]
    lists = [
        [
            row
            for row in order[begins[t] : begins[t + 1]][:40].tolist()
            if not kernels.is_garbage(seed, row, GARBAGE, tables)
        ]
        for t in leaves
    ]
    turns = [rows[i] for i in range(40) for rows in lists if i < len(rows)]
    return np.resize(np.array(turns or [0], np.int32), _HUBS)


_ROOTS = (  # share, kind, flags
    (0.34, 4, 0),
    (0.20, 3, 0),
    (0.06, 3, 1),
    (0.15, 3, 2),
    (0.12, 1, 0),
    (0.02, 1, 4),
    (0.06, 2, 0),
    (0.03, 5, 0),
    (0.02, 0, 0),
)


def _roots(
    rng: np.random.Generator,
    seed: int,
    kind: Numbers,
    tables: int,
    islands: Longs,
    types: int,
) -> tuple[Longs, Longs]:
    """Rows that are roots, and (kind, flags, container) of each."""
    count = int(np.clip(len(kind) // 1000, 30, 20_000))
    which = rng.choice(len(_ROOTS), count, p=[share for share, _, _ in _ROOTS])
    about = np.array([[kind, flags, -1] for _, kind, flags in _ROOTS])[which]
    rows = (len(kind) * rng.power(0.7, count)).astype(np.int64)
    for first, end in islands:
        rows[(first <= rows) & (rows < end)] //= 4
    # What is weakly held, or waits for its finalizer, may be garbage otherwise. No
    # root cuts a chain short.
    dies = (about[:, 0] == 2) | (about[:, 1] == 2)
    for i in range(count):
        while kind[rows[i]] == NODE or not (
            dies[i] or not kernels.is_garbage(seed, int(rows[i]), GARBAGE, tables)
        ):
            rows[i] -= 1
    rows = np.concatenate([np.arange(tables), rows])
    about = np.concatenate([np.tile([4, 0, -1], (tables, 1)), about])
    static = about[:, 0] == 4
    about[static, 2] = rng.integers(0, types, int(static.sum()))
    return rows, about


def _name(number: int, role: int) -> str:
    known = {
        kernels.STRING: "System.String",
        OBJECT_ARRAY: "System.Object[]",
        NODE: "System.Collections.Generic.LinkedListNode`1[System.String]",
        BYTES: "System.Byte[]",
    }
    name = f"Bench.Part{number % _NAMESPACES}.Kind{number}"
    return known.get(number, name + ("[]" if role == ARRAY else ""))


def _write_types(out: BinaryIO, names: list[str]) -> None:
    lines = [f"t {number:x} {name}\n" for number, name in enumerate(names, start=1)]
    out.write("".join(lines).encode())


def _write_objects(
    out: BinaryIO,
    shift: int,
    types: Numbers,
    sizes: Numbers,
    starts: Starts,
    targets: Ints,
) -> None:
    """Write all objects, in pieces of text that have room for their longest lines."""
    buffer = np.empty(_CHUNK_BYTES, np.uint8)
    begin = 0
    while begin < len(types):
        # No more rows than have room even without references.
        rows = starts[begin : begin + len(buffer) // _RECORD_BYTES + 1]
        longest = (rows - rows[0]) * _REFERENCE_BYTES
        longest += np.arange(len(rows)) * _RECORD_BYTES
        fits = int(np.searchsorted(longest, len(buffer), "right")) - 1
        if not fits:
            buffer = np.empty(int(longest[1]), np.uint8)
            continue
        end = begin + fits
        used = kernels.write_objects(
            buffer, begin, end, shift, types, sizes, starts, targets
        )
        out.write(buffer[:used].data)
        begin = end


def _write_roots(out: BinaryIO, rows: Longs, about: Numbers) -> None:
    ids = np.empty(len(rows), np.int64)
    kernels.identities(rows, ids)
    lines = [
        f"r {number:x} {kind} {flags}"
        + (f" {container + 1:x}\n" if kind == 4 else "\n")
        for number, (kind, flags, container) in zip(
            ids.tolist(), about.tolist(), strict=True
        )
    ]
    out.write("".join(lines).encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("objects", type=int)
    parser.add_argument("references", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", choices=SHAPES, default="heap")
    chosen = parser.parse_args()
    write = SHAPES[chosen.shape]
    write(chosen.path, chosen.objects, chosen.references, chosen.seed)
