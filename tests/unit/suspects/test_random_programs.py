"""Suspects of programs that are made at random of what programs are made of.

Their types and fields are those that the rules know, in combinations that nobody has
thought of: nothing may end in an error, and each printed cut has to be exact.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.graph import NO_FIELD, RefKind, RootKind
from ingest.suspects.find import find_suspects
from ingest.what_if.cut_parser import CutParser
from ingest.what_if.freed import WhatIf
from tests.deep import SUITE
from tests.unit.graphs import graph_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.heap.graph import HeapGraph

_PROGRAMS = 2_000 if SUITE == "deep" else 40
_MOST_OBJECTS = 3_000

_KINDS: dict[str, dict[str, Sequence[str]]] = {
    "jvm": {
        "java.util.ArrayList": ["elementData"], "java.lang.Object[]": ["#"],
        "java.util.HashMap": ["table"], "java.util.HashMap$Node[]": ["#"],
        "java.util.HashMap$Node": ["key", "value", "next"],
        "java.util.LinkedList": ["first", "last"],
        "java.util.LinkedList$Node": ["item", "next", "prev"],
        "java.lang.Thread": ["target", "threadLocals", "name"],
        "java.util.Timer": ["queue"], "java.util.TimerTask[]": ["#"],
        "java.lang.String": ["value"], "byte[]": [],
        "java.lang.ref.WeakReference": ["referent", "next"],
        "java.util.concurrent.CompletableFuture": ["result", "stack"],
        "java.util.concurrent.FutureTask": ["callable", "outcome"],
        "java.util.concurrent.ThreadPoolExecutor": ["workQueue", "workers"],
        "java.util.concurrent.LinkedBlockingQueue": ["head", "last"],
        "java.lang.Class": ["CACHE", "<loader>"], "app.Loader": ["parent"],
        "app.Order": ["lines", "owner"], "app.Bus": ["listeners"],
        "app.Handler": ["target", "next"], "app.Main$1": ["this$0", "val$order"],
    },
    "v8": {
        "Object": ["items", "next", "k1", "k2"], "Array": ["#"], "Map": ["table"],
        "Set": ["table"], "(array)": ["#"], "(string)": [], "(system)": ["#"],
        "Function": ["context", "prototype"], "Promise": ["reactions_or_result"],
        "scope in /srv/app/shop.js": ["orders", "previous", "this"],
        "module /srv/app/shop.js": ["orders", "bus", "previous"],
        "module node:timers": ["timerListMap"], "TimersList": ["_idleNext"],
        "Timeout": ["_onTimeout", "_idleNext", "_idlePrev"],
        "EventEmitter": ["_events"], "Generator": ["context", "function"],
        "system / Context": ["extension", "previous"], "global": ["orders"],
        "Order": ["lines", "owner"], "{id, lines}": ["id", "lines"],
        "Detached <div>": ["parent"], "WeakMap": ["table"],
    },
    "python": {
        "dict": ["['k1']", "['k2']", "(key)", "#"], "list": ["#"], "tuple": ["#"],
        "function": ["__closure__", "__defaults__"], "cell": ["cell_contents"],
        "type": ["_registry", "__mro__"], "module": ["__dict__"], "str": [],
        "frame": ["job", "self"], "coroutine": ["cr_frame", "self"],
        "_asyncio.Task": ["_coro", "_callbacks"], "_asyncio.Future": ["#"],
        "collections.deque": ["#"], "set": ["#"], "method": ["__self__"],
        "ValueError": ["__traceback__"], "traceback": ["tb_frame", "tb_next"],
        "threading.Thread": ["_target", "_args"], "ReferenceType": ["#"],
        "functools._lru_cache_wrapper": ["(key)", "#"],
        "app.Order": ["lines", "owner"], "app.Bus": ["handlers"],
    },
    "dotnet": {
        "System.Collections.Generic.List`1[App.Order]": ["_items"],
        "App.Order[]": ["#"], "System.String": [], "System.Byte[]": [],
        "System.Collections.Generic.Dictionary`2[System.String,App.Order]": [
            "_entries"
        ],
        "Entry[System.String,App.Order][]": ["#"], "System.Object[]": ["#"],
        "System.EventHandler": ["_target", "_invocationList"],
        "System.Action": ["_target"], "System.Threading.Timer": ["_timer"],
        "System.Threading.TimerQueueTimer": ["_state", "_next"],
        "System.Threading.Tasks.Task": ["m_continuationObject"],
        "System.Threading.CancellationTokenSource": ["_callbackPartitions"],
        "System.WeakReference": ["#"], "App.Order": ["lines", "owner"],
        "App.Bus": ["Changed"], "App.Page+<>c__DisplayClass1_0": ["page", "<>4__this"],
    },
}  # fmt: skip

_INSIDE = {
    "java.util.ArrayList": "java.lang.Object[]",
    "java.util.HashMap": "java.util.HashMap$Node[]",
    "java.util.HashMap$Node[]": "java.util.HashMap$Node",
    "java.util.LinkedList": "java.util.LinkedList$Node",
    "java.util.Timer": "java.util.TimerTask[]",
    "Map": "(array)", "Set": "(array)", "WeakMap": "(array)", "TimersList": "Timeout",
    "Function": "scope in /srv/app/shop.js", "function": "tuple",
    "System.Collections.Generic.List`1[App.Order]": "App.Order[]",
    "System.Collections.Generic.Dictionary`2[System.String,App.Order]":
        "Entry[System.String,App.Order][]",
}  # fmt: skip
"""What a collection is made of."""


def random_shape(
    rng: np.random.Generator, names: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Types in one another: the type, the row of what is above it, and how many."""
    own = [name for name in names if re.search(r"^app\.|^App\.\w+$|Order$", name)]
    heads = [name for name in names if name in _INSIDE]
    shape = list[tuple[int, int, int]]()
    for at in range(int(rng.integers(2, 15))):
        above = int(rng.integers(max(at - 2, 0), at)) if at else -1
        name = _INSIDE.get(names[shape[above][0]]) if at else None
        some = (own, heads, names)[int(rng.integers(3))]
        name = name or str(rng.choice(some))
        shape.append((names.index(name), above, int(rng.choice([2, 3, 30]))))
    return shape


def random_program(runtime: str, seed: int) -> HeapGraph:
    """A heap in which parts of the same shape are made again and again."""
    rng = np.random.default_rng(seed)
    kinds = _KINDS[runtime]
    names = list(kinds)
    fields = sorted({field for some in kinds.values() for field in some} - {"#"})
    types, references, places = list[int](), list[list[int]](), list[list[int]]()

    def make(shape: list[tuple[int, int, int]], at: int, near: dict[int, int]) -> int:
        """An object and those below it, some of which it shares with its like."""
        kind, _, most = shape[at]
        row = len(types)
        types.append(kind)
        references.append([])
        places.append([])
        known, mine = kinds[names[kind]], dict[int, int]()
        below = [i for i, (_, above, _) in enumerate(shape) if above == at and i]
        count = int(rng.integers(2, most + 1)) if "#" in known else len(known)
        for number in range(count if known and below else 0):
            if len(types) > _MOST_OBJECTS:
                break
            field, inner = known[number % len(known)], int(rng.choice(below))
            if inner not in near or rng.random() < 0.6:
                near[inner] = make(shape, inner, mine)
            references[row].append(near[inner])
            places[row].append(-1 - number if field == "#" else fields.index(field))
        return row

    shapes = [random_shape(rng, names) for _ in range(int(rng.integers(1, 5)))]
    tops = [make(shape, 0, {}) for shape in shapes]
    for _ in range(int(rng.integers(0, 30))):  # what refers to something by chance
        source, target = (int(one) for one in rng.integers(len(types), size=2))
        known = [one for one in kinds[names[types[source]]] if one != "#"]
        references[source].append(target)
        places[source].append(
            fields.index(str(rng.choice(known))) if known else NO_FIELD
        )
    sizes = rng.choice([16, 24, 32, 64, 500], size=len(types)).tolist()
    weak = [names.index(one) for one in names if "Weak" in one or "Reference" in one]
    strengths = [
        RefKind.WEAK if types[row] in weak else RefKind.STRONG
        for row, some in enumerate(references)
        for _ in some
    ]
    graph = graph_of(*references, roots=tops, types=types, sizes=sizes, kinds=strengths)
    count = len(tops)
    root_kinds = [RootKind.STATIC, RootKind.THREAD, RootKind.LOCAL, RootKind.HANDLE]
    own = [at for at, name in enumerate(names) if "app." in name.lower()] or [-1]
    return replace(
        graph,
        runtime=runtime,
        type_names=tuple(names),
        type_domain=np.zeros(len(names), np.int32),
        field_names=tuple(fields),
        ref_field=np.array([i for some in places for i in some], np.int32),
        root_kind=rng.choice(root_kinds, size=count).astype(np.uint8),
        root_field=rng.integers(len(fields), size=count).astype(np.int32),
        root_type=rng.choice(own, size=count).astype(np.int32),
    )


@pytest.mark.slow
@pytest.mark.parametrize("runtime", list(_KINDS))
def test_no_program_ends_in_an_error_and_each_cut_is_exact(runtime: str) -> None:
    told = 0
    for seed in range(_PROGRAMS):
        heap = random_program(runtime, seed)
        found = find_suspects(heap, analyse(heap))
        for suspect in (*found.suspects, *found.smaller):
            cut = CutParser(heap).cut(suspect.cut)
            freed = WhatIf(heap).freed([cut]).shallow_bytes
            assert freed == suspect.retained_bytes, (runtime, seed, suspect.sentence)
            told += 1

    assert told >= _PROGRAMS // 4
