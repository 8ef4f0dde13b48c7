"""Dumps of one trace: each object is linked to itself in the others, and no other."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, cast

import pytest

from ingest.analysis.metrics import analyse
from ingest.database import claims
from ingest.database.claims import Place
from ingest.database.connection import connect
from ingest.database.indexes import ensure_needed
from ingest.database.questions import ask
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.heap.identity import Identity
from ingest.queries.library import library
from ingest.server.embedded import target_of
from ingest.tables.heap_tables import HeapTables
from tests.conftest import embedded_only
from tests.dumps.clrprofiler import traced
from tests.dumps.trace import SITES, Heap, graphs, live
from tests.integration.content import content, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.database.connection import Database
    from ingest.queries.answer import Answer
    from ingest.server.embedded import EmbeddedServer
    from tests.conftest import Ran

pytestmark = pytest.mark.server

SHA256 = "5e" * 32
STEPS = [0, 0, 1, 3, 0, 1, 0, 3, 0, 4, 0]

FIRST_AND_LAST = ("dump 0", "dump 2")

Links = set[tuple[str, str, str, str]]


def put(
    database: Database,
    heap: Heap,
    which: int,
    via: Via = Via.AUTO,
    replaces: tuple[int, ...] = (),
) -> int:
    """Load one dump of a trace; returns its number.

    One in bulk is also in ``tests/integration/test_bulk.py``, beside other dumps.
    """
    graph = graphs(heap)[which]
    store = Store(database)
    replaced = tuple(dump for dump in store.dumps() if dump.number in replaces)
    written = store.write(
        HeapTables(graph, analyse(graph)),
        Place(f"dump {which}", is_exact=True, replaced=replaced),
        via=via,
        source="trace",
        identity=Identity.of(SHA256, graph.part),
    )
    return written.number


def true_links(heap: Heap, loaded: set[int]) -> Links:
    """Of the dumps that are loaded, by name and address."""
    found = set()
    for older, newer in combinations(sorted(loaded), 2):
        now = {id(seen.thing): seen.at for seen in heap.dumps[newer].objects}
        found |= {
            (f"dump {older}", hex(seen.at), f"dump {newer}", hex(now[id(seen.thing)]))
            for seen in heap.dumps[older].objects
            if id(seen.thing) in now
        }
    return found


def links(database: Database) -> Links:
    found = [
        (str(older), str(then), str(newer), str(now))
        for older, then, newer, now in rows(
            database,
            "MATCH (a)-[:SURVIVED_AS]->(b) MATCH (d:Dump {number: a.dump}), "
            "(e:Dump {number: b.dump}) RETURN d.name, a.address, e.name, b.address",
        )
    ]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.slow
def test_over_bolt_in_any_order_and_without_the_one_between(
    empty_database: Database,
) -> None:
    database, heap = empty_database, live(7, STEPS)
    assert len(heap.dumps) == 3

    numbers = {}
    for which, loaded in ((1, {1}), (2, {1, 2}), (0, {0, 1, 2})):
        numbers[which] = put(database, heap, which)
        assert links(database) == true_links(heap, loaded)
    assert {older for older, *_ in links(database)} == {"dump 0", "dump 1"}

    answer = ask(
        database, library()["survivors-of-dump"], {"earlier": "dump 0"}, numbers[2]
    )
    first_to_last = [link for link in links(database) if link[::2] == FIRST_AND_LAST]
    assert sum(cast("int", row[1]) for row in answer.rows) == len(first_to_last) > 0

    Store(database).drop("dump 1")
    assert links(database) == true_links(heap, {0, 2}) != set()
    put(database, heap, 1)
    assert links(database) == true_links(heap, {0, 1, 2})


def test_what_is_told_of_each_object(empty_database: Database) -> None:
    heap = live(7, [step for step in STEPS if step != 4])
    put(empty_database, heap, 2)

    found = rows(
        empty_database,
        "MATCH (o:Object) OPTIONAL MATCH (o)-[:ALLOCATED_AT]->(s) RETURN o.address, "
        "o.born_in_gc, o.collections_survived, o.allocated_ms, s.stack",
    )
    order = {id(thing): row for row, thing in enumerate(heap.made)}
    stacks = ("App.Make < App.Main", "App.Fill < App.Make < App.Main")
    assert sorted(map(tuple, found)) == sorted(
        (
            hex(seen.at),
            seen.thing.born + 1 if seen.thing.born else None,
            seen.survived,
            order[id(seen.thing)],
            stacks[seen.thing.site],
        )
        for seen in heap.dumps[2].objects
    )
    sites = rows(
        empty_database,
        "MATCH (:Dump)-[:HAS_ALLOCATION_SITE]->(s) RETURN s.name, s.object_count",
    )
    assert sorted(map(tuple, sites)) == [
        (name, sum(seen.thing.site == site for seen in heap.dumps[2].objects))
        for name, site in (("App.Fill", 1), ("App.Make", 0))
    ]


@pytest.mark.deep
def test_a_log_of_the_whole_life(
    empty_database: Database,
    on_server: Callable[..., Ran],
    tmp_path: Path,
) -> None:
    ingest = on_server
    heap = live(11, [step for step in STEPS if step != 4])
    path = tmp_path / "life.log"
    path.write_bytes(traced(heap).bytes())

    code, out, err = ingest("load", str(path), "--all-dumps")

    assert code == 0, err
    receipts = [line for line in out.splitlines() if "loaded in" in line]
    names = [line.partition(":")[0] for line in receipts]
    assert names == ["life-part0", "life-part1", "life-part2"]
    assert links(empty_database) == {
        (
            older.replace("dump ", "life-part"),
            then,
            newer.replace("dump ", "life-part"),
            now,
        )
        for older, then, newer, now in true_links(heap, {0, 1, 2})
    }
    found = rows(
        empty_database,
        "MATCH (:Dump {name: 'life-part2'})-[:HAS_ALLOCATION_SITE]->(s) "
        "RETURN s.name, s.object_count",
    )
    made = Counter(SITES[seen.thing.site][0] for seen in heap.dumps[2].objects)
    assert {(str(site).split(" ")[0], many) for site, many in found} == set(
        made.items()
    )
    told = json.loads(ingest("timeline", str(path), "--json")[1])
    assert [one["number"] for one in told if one["is_dump"]] == [
        dump.upto for dump in heap.dumps
    ]


@pytest.mark.deep
def test_two_loads_at_the_same_time_find_one_another(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is published while the first one is still writing."""
    database, heap = empty_database, live(7, STEPS)
    publish = claims.publish

    def interrupted(opened: Database, number: int, place: Place) -> str:
        monkeypatch.setattr(claims, "publish", publish)
        put(database, heap, 2)
        return publish(opened, number, place)

    monkeypatch.setattr(claims, "publish", interrupted)
    put(database, heap, 0)

    assert links(database) == true_links(heap, {0, 2}) != set()


@pytest.mark.slow
def test_what_went_through_a_silent_collection_is_not_said_to_be_new_or_gone(
    empty_database: Database,
) -> None:
    heap, at = live(7, [0, 3, 0, 2, 0, 0]), 3
    silent = heap.collections[at]
    heap.collections[at] = replace(silent, has_ranges=False)
    put(empty_database, heap, 0)
    number = put(empty_database, heap, 1)
    # What was allocated right behind it cannot be told from what it kept.
    new = {hex(seen.at) for seen in heap.dumps[1].objects if seen.thing.born > at + 1}

    def of(query: str) -> Answer:
        return ask(empty_database, library()[query], {}, number)

    assert silent.generation == 2
    assert of("survivors-of-dump").rows == ()
    assert of("died-between").rows == ()
    found = of("born-between")
    assert sum(cast("int", n) for n in found.column("object_count")) == len(new) > 0
    assert set(found.column("largest_address")) <= new


@pytest.mark.deep
@embedded_only("only the embedded server's store can be made anew")
def test_in_bulk_the_same(own_server: EmbeddedServer) -> None:
    server, heap = own_server, live(7, STEPS)
    with connect(target_of(server.start()), server=server) as database:
        ensure_needed(database)
        put(database, heap, 0)
        number = put(database, heap, 1)
        put(database, heap, 2)
        before = {name: content(database, name) for name in ("dump 1", "dump 2")}
        put(database, heap, 1, Via.BULK, (number,))

    with connect(target_of(server.start()), server=server) as database:
        assert links(database) == true_links(heap, {0, 1, 2})
        assert before == {name: content(database, name) for name in before}
        Store(database).drop("dump 0")
        assert links(database) == true_links(heap, {1, 2})
        put(database, heap, 0, Via.BULK)
    with connect(target_of(server.start())) as database:
        assert links(database) == true_links(heap, {0, 1, 2})
