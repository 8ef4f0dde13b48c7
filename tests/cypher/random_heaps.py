"""Random small heaps that have all that a dump can record, and questions to them.

Any shape: cycles, garbage, double and weak references, missing objects, two domains
with the same addresses. Names are those that queries look for, and sizes repeat, so
that answers have ties.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.completeness import Irregularity
from ingest.heap.graph import (
    EPHEMERON,
    NO_FIELD,
    Domain,
    Folded,
    GarbageCollection,
    HeapGraph,
    RootFlag,
    Sampling,
    Segment,
    SegmentKind,
)
from ingest.heap.values import ExternalMemory, ObjectValues, ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.queries.library import Query
    from tests.cypher.cases import Given

STRING, DART_STRING = "System.String", "dart:core::_OneByteString"
TYPES = (
    STRING,
    DART_STRING,
    "System.EventHandler",
    "System.EventHandler`1[[App.Click, App]]",
    "System.Object[]",
    "System.Threading.TimerQueueTimer",
    "System.Reflection.RuntimeMethodInfo",
    "App.Node",
    "Other.Node",
    "App.UI.Window",
    "App.Loader+<LoadAsync>d__3",
    "System.Collections.Generic.List`1[App.Node]",
    "dart:core::_Closure",
    "package:app/cache.dart::Cache",
    "Free",
    "",
)
FIELDS = (
    "next",
    "a b",
    EPHEMERON,
    "function_",
    "owner_",
    "context_",
    "Changed",
)
SIZES = (0, 16, 16, 24, 24, 40, 3000)

_JAVA = """java.lang.ref.Finalizer java.lang.ref.ReferenceQueue$Lock java.lang.Thread
java.util.HashMap java.util.HashMap$Node java.util.HashMap$Node[] byte[] app.Loader
java.lang.ThreadLocal$ThreadLocalMap$Entry java.lang.Object[] java.util.ArrayList
app.MainActivity android.app.Activity android.app.Fragment android.graphics.Bitmap"""
_OF_JAVA = """next first key value referent queue table threadLocals <super> root
mFragmentManager elementData"""
_SCRIPT = """Function,Array,Map,Set,ArrayBuffer,Timeout,Immediate,FiberNode,Listener,
V8EventListener,DOMTimer,ScheduledAction,V8Function,Emitter,(concatenated string),
(sliced string),module app.js,system / PromiseReaction,Detached HTMLDiv,(system),
Detached Node / x"""
_OF_SCRIPT = """context table _events data parent buffer backing_store callback type
_onTimeout return extension function listener previous"""
_PYTHON = """function cell tuple frame coroutine generator numpy.ndarray dict str
functools._lru_cache_wrapper pandas.DataFrame _thread._local ContextVar app.Local
logging.LogRecord hamt_bitmap_node NoneType"""
_OF_PYTHON = """__closure__ tb_frame cr_await _coro base (threads) name msg __mro__
alike ['x']"""
VOCABULARIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (TYPES, FIELDS),
    (tuple(_JAVA.split()), tuple(_OF_JAVA.split())),
    (tuple(_SCRIPT.replace("\n", "").split(",")), tuple(_OF_SCRIPT.split())),
    (tuple(_PYTHON.split()), tuple(_OF_PYTHON.split())),
)
"""Names of types and of fields that queries look for: .NET and Dart, then others."""

ROOTS = (1, 2, 2, 3, 4, 4, 6, 9, 12, 17)
TEXTS = (b"alike", b"other", b"x" * 60, b"", b"destroyed", b"system / NativeContext",
    b"system / PromiseReaction")  # fmt: skip


def random_heap(seed: int, most: int = 14) -> HeapGraph:
    """A heap of at most so many objects; the same for the same seed."""
    chance = Random(seed)
    kinds_of, fields = VOCABULARIES[seed % len(VOCABULARIES)]
    is_other = kinds_of is not TYPES
    types = chance.sample(kinds_of, chance.randint(4, 9) if is_other else 6)
    n, missing = chance.randint(1, most), chance.randint(0, 2)
    domains = 1 if is_other else chance.choice([1, 1, 2])
    kinds = [chance.randrange(len(types)) for _ in range(n)] + [-1] * missing
    sizes = [chance.choice(SIZES) for _ in range(n)] + [0] * missing
    domain = [chance.randrange(domains) for _ in range(n + missing)]
    ids = _addresses(chance, sizes, domain)
    references = [
        [chance.randrange(n + missing) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        for _ in range(n)
    ] + [[]] * missing
    flat = [target for targets in references for target in targets]
    roots = [chance.randrange(n + missing) for _ in range(chance.randint(0, 5))]
    has_fields, has_places = chance.random() < 0.7, chance.random() < 0.5
    return HeapGraph(
        format_name="random",
        producer=chance.choice(["", "a program"]),
        object_count=n,
        object_id=np.array(ids, np.uint64),
        type_index=np.array(kinds, np.int32),
        shallow_bytes=np.array(sizes, np.int64),
        ref_start=np.cumsum([0, *map(len, references)], dtype=np.int64),
        ref_target=np.array(flat, np.int32),
        ref_kind=_bytes([chance.choice([0] * 12 + [1, 2, 3, 4]) for _ in flat]),
        ref_field=_fields(chance, len(flat), len(fields)) if has_fields else None,
        field_names=fields,
        root_object=np.array(roots, np.int32),
        root_kind=_bytes(
            [chance.choice([1, 2, 2, 3, 4, 4, 6, 9, 12, 17]) for _ in roots]
        ),
        root_flags=_bytes([_flags(chance) for _ in roots]),
        root_type=_maybe(chance, len(roots), len(types)),
        root_field=_maybe(chance, len(roots), len(fields), nothing=NO_FIELD)
        if has_fields
        else None,
        root_owner=_maybe(chance, len(roots), 2),
        owners=("main", "worker"),
        type_names=tuple(types),
        **(_classes(chance, n, len(types)) if is_other else {}),
        type_domain=np.array([chance.randrange(domains) for _ in types], np.int32),
        domains=tuple(_domain(chance, name) for name in range(domains)),
        domain_index=np.array(domain, np.int32) if domains > 1 else None,
        values=_values(chance, [types[kind] for kind in kinds[:n]]),
        length=np.array([chance.choice([-1, 0, 5]) for _ in kinds], np.int64),
        external=_external(chance, n),
        identity_hash=np.array([chance.choice([0, 7, 9]) for _ in kinds], np.int64),
        folded=Folded(chance.choice([0, 3])),
        sampling=_sampling(chance, len(types)),
        irregularities=(Irregularity("null_type", 3, 7), Irregularity("cut", 1, None)),
        **(_places(chance, ids, sizes, n) if has_places and domains == 1 else {}),
    )


def _classes(chance: Random, n: int, types: int) -> dict[str, Any]:
    """Which objects describe the types, and which have loaded them."""
    return {name: _maybe(chance, types, n) for name in ("type_object", "type_loader")}


def _bytes(values: Sequence[int]) -> NDArray[Any]:
    return np.array(values, np.uint8)


def _addresses(chance: Random, sizes: list[int], domain: list[int]) -> list[int]:
    """Objects that do not overlap in their domain, in any order."""
    at, ids = {0: 0x1000, 1: 0x1000}, [0] * len(sizes)
    for i in chance.sample(range(len(sizes)), len(sizes)):
        ids[i] = at[domain[i]]
        at[domain[i]] += max(sizes[i], 8) + chance.choice([0, 0, 8, 32])
    return ids


def _fields(chance: Random, count: int, names: int) -> NDArray[Any]:
    known = [*range(names), *range(names), 0, 0, 1, -1, -3, NO_FIELD, NO_FIELD]
    return np.array([chance.choice(known) for _ in range(count)], np.int32)


def _flags(chance: Random) -> int:
    return chance.choice([0, 0, 0, RootFlag.PINNED, RootFlag.WEAK, RootFlag.INTERIOR])


def _maybe(chance: Random, count: int, below: int, nothing: int = -1) -> NDArray[Any]:
    drawn = [chance.choice([nothing, *range(below)]) for _ in range(count)]
    return np.array(drawn, np.int32)


def _domain(chance: Random, name: int) -> Domain:
    started = chance.choice([None, 10])
    return Domain(f"domain {name}", started, 74, complete=chance.random() < 0.5)


def _values(chance: Random, names: list[str]) -> ObjectValues | None:
    if chance.random() < 0.4:
        return None
    rows, kinds, texts = [], [], []
    for row, name in enumerate(names):
        if chance.random() < 0.7:
            rows.append(row)
            is_text = "String" in name
            kinds.append(ValueKind.LATIN1 if is_text else ValueKind.NAME)
            texts.append(chance.choice(TEXTS))
    return ObjectValues(
        np.array(rows, np.int32),
        _bytes(kinds),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.frombuffer(b"".join(texts), np.uint8),
    )


def _external(chance: Random, n: int) -> ExternalMemory | None:
    if chance.random() < 0.4:
        return None
    rows = sorted(chance.sample(range(n), chance.randint(1, n)))
    return ExternalMemory(
        np.array(rows, np.int32),
        np.array([chance.choice([0, 100, 100, 5000]) for _ in rows], np.int64),
        np.array([chance.randrange(2) for _ in rows], np.int32),
        ("Picture", "Buffer"),
    )


def _sampling(chance: Random, types: int) -> Sampling | None:
    if chance.random() < 0.7:
        return None
    return Sampling(1 + np.arange(types) / 4, 1 + np.arange(types) / 8, 2.25, 1.375)


def _places(chance: Random, ids: list[int], sizes: list[int], n: int) -> dict[str, Any]:
    """Segments, of which one has nothing, generations and collections."""
    start, end = min(ids), max(ids) + 4000
    middle = chance.randint(start, end)
    segments = (
        Segment(start, middle, None, SegmentKind.GEN2),
        Segment(middle, end, end + 100, SegmentKind.LOH),
        Segment(end, end),
    )
    index = [-1] * len(ids)
    for i in range(n):
        if chance.random() < 0.9:
            index[i] = 0 if ids[i] < middle else 1
    return {
        "segments": segments,
        "segment_index": np.array(index, np.int32),
        "generation": np.array(
            [chance.choice([-1, 0, 1, 2, 2, 3, 3, 4]) for _ in range(n)]
            + [-1] * (len(ids) - n),
            np.int8,
        ),
        "collections": (
            GarbageCollection(3, 0, "induced", "blocking", 10, 5, 900, 80, 70, 10),
            GarbageCollection(4, None, "", "", 90, is_dump=True),
        ),
    }


def questions(chance: Random, query: Query, graph: HeapGraph) -> list[Given]:
    """What one query is asked of one heap."""
    addresses = [hex(i) for i in graph.object_id.tolist()]
    names = list(graph.type_names)
    drawn = {
        "address": addresses,
        "from": addresses,
        "to": addresses,
        "type": names,
        "field": [*graph.field_names, "[0]", "[2]"],
        "min_bytes": ["0"],
        "min_drop_bytes": ["0"],
        "share": ["0.1"],
        "min_count": ["1", "2"],
        "min_length": ["2"],
        "candidates": ["1000"],
        "segment": ["0", "1"],
        "holders": ["2"],
        "held": ["0", "3"],
        "prefix": ["App", "dart:"],
    }
    required = {p.name for p in query.parameters if p.required and p.name != "dump"}
    optional = {p.name for p in query.parameters if not p.required} & drawn.keys()
    givens = []
    for asked in range(3 if required else 2):
        names_given = required | (optional if asked else set())
        given = {name: chance.choice(drawn[name]) for name in sorted(names_given)}
        if asked == 1:
            given["limit"] = "3"
        if asked == 2:
            given["limit"] = "100000"
        givens.append(given)
    return givens
