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
from tests.pythons import OWN, PYTHONS, python
from tests.unit.capture.test_heaproots_dump import WRITER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RENEWED = {"_thread.lock", "_thread.RLock"}
"""What `threading` makes anew in a copy of a process."""

# The ids of what the collector is told of each object, and then a dump.
PRELUDE = """
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import gc, json, os
import heaproots_dump

KEPT = []

def told():
    gc.disable()
    objects = gc.get_objects()
    mine = {id(objects)}
    made = {str(id(o)): [type(o).__name__, [id(r) for r in gc.get_referents(o)]]
            for o in objects if id(o) not in mine and type(o).__name__ != "module"}
    with open(sys.argv[2] + ".json", "w") as out: json.dump(made, out)
    heaproots_dump.dump(sys.argv[2], "fork")
    sys.stdout.flush()
    os._exit(0)
"""

# Objects of kinds of which a name can tell another one than the collector is told of.
PROGRAM = """
import asyncio, collections, contextvars, functools, threading, weakref

class Box:
    def __init__(self, value): self.value = value

class Slots:
    __slots__ = ("one", "two")

class Told:  # of its attributes, one is a dict, and one has a name of its own
    def __init__(self, n):
        self.named, self.table = [n], {n: [n]}
        setattr(self, "of_%d" % n, [n])

class Cached(collections.OrderedDict): pass
class Row(tuple): pass
class Names(list): pass

class Lazy:
    def __init__(self, value): self.of = value
    @functools.cached_property
    def size(self): return [self.of]

for n in range(300):
    asked, lazy, half = Box([n]), Lazy([n]), Slots()
    vars(asked); vars(lazy)
    half.one = [n]
    if n % 2: lazy.size
    KEPT += [asked, Box([n]), lazy, half, Told(n), functools.partial(Box, value=[n])]
    KEPT += [Cached({n: [n]}), Row(([n], n)), Names([[n]]), iter([n])]
    KEPT.append(functools.lru_cache(lambda x, n=n: [n, x]))
    try: raise ValueError([n])
    except ValueError as error: KEPT.append(error)
    del asked, lazy, half

async def waits():
    await asyncio.get_running_loop().create_future()

async def main():
    for n in range(100): KEPT.append(asyncio.ensure_future(waits()))
    await asyncio.sleep(0)
    told()

asyncio.run(main())
"""

# Each with the objects that there are at least, by type.
LIBRARIES = {
    "django": ("""
import django
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"],
    DEBUG=True, USE_TZ=True)
django.setup()
from django.core.management import call_command
from django.contrib.auth.models import Group, Permission
from django.test import RequestFactory
call_command("migrate", verbosity=0)
for n in range(300): Group.objects.create(name="group %d" % n)
KEPT += Group.objects.all()
KEPT += [group.permissions.all() for group in KEPT[:50]]
KEPT += Permission.objects.select_related("content_type")
KEPT += [RequestFactory().get("/%d" % n) for n in range(100)]
told()
""", {"Group": 300, "ModelState": 300, "QuerySet": 50, "WSGIRequest": 100}),
    "sqlalchemy": ("""
import sqlalchemy as sa
from sqlalchemy.orm import Session, declarative_base, relationship
Base = declarative_base()
class User(Base):
    __tablename__ = "users"
    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String)
    orders = relationship("Order", back_populates="user")
class Order(Base):
    __tablename__ = "orders"
    id = sa.Column(sa.Integer, primary_key=True)
    user_id = sa.Column(sa.ForeignKey("users.id"))
    user = relationship("User", back_populates="orders")
engine = sa.create_engine("sqlite://")
Base.metadata.create_all(engine)
session = Session(engine)
for n in range(200):
    session.add(User(name="user %d" % n, orders=[Order(), Order()]))
session.commit()
KEPT += session.query(User).all()
for user in KEPT[:100]: KEPT.append(list(user.orders))
KEPT += session.execute(sa.select(Order.id, Order.user_id)).all()
told()
""", {"User": 200, "Order": 200, "InstanceState": 400, "Row": 400}),
    "pandas": ("""
import numpy as np, pandas as pd
for n in range(60):
    table = pd.DataFrame({"a": np.arange(50.), "b": [str(i) for i in range(50)],
                          "c": pd.date_range("2020-01-01", periods=50)})
    KEPT += [table, table["a"], table.set_index("c"), table.iloc[5:]]
    KEPT.append(table.groupby("b"))
    table["a"].sum(); KEPT[-1].groups
told()
""", {"DataFrame": 180, "Series": 60}),
    "aiohttp": ("""
import asyncio, aiohttp
from aiohttp import web
async def hello(request):
    KEPT.append(request)
    await asyncio.get_running_loop().create_future()
async def main():
    app = web.Application()
    app.router.add_get("/{n}", hello)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = "http://127.0.0.1:%d/" % runner.addresses[0][1]
    many = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=many) as session:
        for n in range(60):
            KEPT.append(asyncio.ensure_future(session.get(address + str(n))))
        while len(KEPT) < 120: await asyncio.sleep(0.01)
        told()
asyncio.run(main())
""", {"Request": 60, "Task": 120, "RequestHandler": 60}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("python", [python(minor) for minor in (OWN, 12, 13)])
def test_all_that_the_collector_is_told_of_is_in_a_dump(
    python: str, tmp_path: Path
) -> None:
    wanted = {"Box": 600, "Lazy": 300, "Future": 100, "Cached": 300, "Told": 300}
    assert_all_is_there(python, PROGRAM, wanted, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("python", PYTHONS)
def test_so_it_is_in_programs_with_large_libraries(
    python: str, library: str, tmp_path: Path
) -> None:
    """``INGEST_TEST_PYTHONS`` names Pythons that have these libraries."""
    there = [python, "-c", f"import {library}"]
    if subprocess.run(there, capture_output=True, check=False).returncode:
        pytest.skip(f"programs of {library}: it is not installed for {python}")
    program, wanted = LIBRARIES[library]
    assert_all_is_there(python, program, wanted, tmp_path)


def assert_all_is_there(
    python: str, program: str, wanted: Mapping[str, int], folder: Path
) -> Counter[str]:
    """Compare what the collector is told of each object with its dump.

    Args:
        python: The path of a Python.
        program: A program that calls ``told`` at last.
        wanted: The least number of objects by type.
        folder: For the dump.

    Returns:
        How many objects were compared, by type.
    """
    path = folder / "x.hrpy"
    arguments = [python, "-c", PRELUDE + program, str(WRITER), str(path)]
    subprocess.run(arguments, check=True)
    told = json.loads((folder / "x.hrpy.json").read_text())
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
        there.add(int(graph.object_id[graph.type_object[graph.type_index[at]]]))
        compared[kind] += 1
        lacks = {i for i in referents if i in row} - there
        lacking[kind] += any(graph.type_name(row[i]) not in RENEWED for i in lacks)

    # In a copy, `asyncio` renews the loops of its policy, `threading` its own thread.
    few = {"dict": 3, "_MainThread": 1, "_UnixDefaultEventLoopPolicy": 1}
    assert {kind: n for kind, n in lacking.items() if n > few.get(kind, 0)} == {}
    assert compared.total() > 10_000
    for kind, least in wanted.items():
        assert compared[kind] >= least, kind
    return compared
