"""Whether a dump has all that the collector is told of, object by object."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ingest.heap.read_options import DEFAULTS, Fold
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.pythons import OWN, python
from tests.unit.capture.test_heaproots_dump import WRITER

if TYPE_CHECKING:
    from pathlib import Path

# Objects of kinds of which a name can tell another one than the collector is told of.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import asyncio, collections, contextvars, functools, gc, json, threading, weakref
import heaproots_dump

class Box:
    def __init__(self, value): self.value = value

class Slots:
    __slots__ = ("one", "two")

class Cached(collections.OrderedDict): pass
class Row(tuple): pass
class Names(list): pass

class Lazy:
    def __init__(self, value): self.of = value
    @functools.cached_property
    def size(self): return [self.of]

KEPT, TASKS = [], []
for n in range(300):
    asked, lazy, half = Box([n]), Lazy([n]), Slots()
    vars(asked); vars(lazy)
    half.one = [n]
    if n % 2: lazy.size
    KEPT += [asked, Box([n]), lazy, half, functools.partial(Box, value=[n])]
    KEPT += [Cached({n: [n]}), Row(([n], n)), Names([[n]]), iter([n])]
    KEPT.append(functools.lru_cache(lambda x, n=n: [n, x]))
    try: raise ValueError([n])
    except ValueError as error: KEPT.append(error)
    del asked, lazy, half

async def waits():
    await asyncio.get_running_loop().create_future()

def told():
    gc.disable()
    objects = gc.get_objects()
    mine = {id(objects)}
    made = {str(id(o)): [type(o).__name__, [id(r) for r in gc.get_referents(o)]]
            for o in objects if id(o) not in mine and type(o).__name__ != "module"}
    with open(sys.argv[2] + ".json", "w") as out: json.dump(made, out)

async def main():
    for n in range(100): TASKS.append(asyncio.ensure_future(waits()))
    await asyncio.sleep(0)
    told()
    heaproots_dump.dump(sys.argv[2], "fork")
    sys.stdout.flush()
    import os; os._exit(0)

asyncio.run(main())
"""


@pytest.mark.parametrize("python", [python(minor) for minor in (OWN, 12)])
def test_all_that_the_collector_is_told_of_is_in_a_dump(
    python: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.hrpy"
    subprocess.run([python, "-c", PROGRAM, str(WRITER), str(path)], check=True)
    told = json.loads((tmp_path / "x.hrpy.json").read_text())
    with open_source(str(path)) as source:
        graph = read(source, replace(DEFAULTS, fold=Fold.NONE), silent)
    ids = graph.object_id.tolist()
    row = {number: at for at, number in enumerate(ids[: graph.object_count])}
    assert graph.type_object is not None
    lacking: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    for number, (kind, referents) in told.items():
        at = row.get(int(number))
        if at is None:  # what was made for the comparison
            continue
        begin, end = graph.ref_start[at : at + 2]
        targets = graph.ref_target[begin:end].tolist()
        for to in list(targets):
            # The copy asks a few objects of a type for their dict, to learn its names.
            if graph.type_name(to) == "dict" and ids[to] not in referents:
                targets += graph.ref_target[
                    slice(*graph.ref_start[to : to + 2])
                ].tolist()
        there = {ids[to] for to in targets}
        wanted = {i for i in referents if i in row}
        there.add(int(graph.object_id[graph.type_object[graph.type_index[at]]]))
        compared[kind] += 1
        lacking[kind] += bool(wanted - there)

    # In a copy, `threading` renews the locks of the main thread; two dicts have grown.
    few = {"dict": 2, "RLock": 1, "_MainThread": 1, "_RLock": 1}
    much = {kind: n for kind, n in lacking.items() if n > few.get(kind, 0)}
    assert much == {}
    assert sum(compared.values()) > 10_000
    for kind, least in {"Box": 600, "Lazy": 300, "Future": 100, "Cached": 300}.items():
        assert compared[kind] >= least
