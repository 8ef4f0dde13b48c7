"""Objects of one process are linked by their ids, of V8 and of Ruby; no others are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.server.embedded import target_of
from tests.conftest import embedded_only
from tests.dumps.ruby import RubyHeap
from tests.dumps.v8 import V8Heap
from tests.integration.content import content, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.database.connection import Database
    from ingest.server.embedded import EmbeddedServer
    from tests.conftest import Ran

pytestmark = pytest.mark.server

OLD = {101 + 2 * n: f"Part{n % 7}" for n in range(30)}
ONE = OLD | {161: "Request", 163: "Request", 165: "<p>"}
TWO = OLD | {163: "Request", 165: "Detached <p>"} | {
    number: "Session" for number in (171, 173, 175, 177)
}  # fmt: skip
THREE = OLD | {165: "Detached <p>", 173: "Session", 177: "Session", 181: "Session"}
"""What one process had at three moments, by id. A paragraph is detached meanwhile."""
ELSEWHERE = {number + 2: name for number, name in TWO.items()} | {101: "Session"}
"""Another process, which has the same ids for objects of other types."""
AGAIN = TWO
"""Another run of the same program: ids and types are the same, but texts are not."""
MOMENTS = {"one": ONE, "two": TWO, "three": THREE}
TEXTS = range(11, 51, 2)
PASSING = 1 << 20

Links = set[tuple[str, str, str]]


def snapshot(things: dict[int, str], run: str) -> bytes:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 8)
    for place, (number, name) in enumerate(things.items()):
        kind = "native" if name.endswith(">") else "object"
        state = 2 if name.startswith("Detached ") else 0
        text = name.removeprefix("Detached ")
        node = heap.node(kind, text, 16, number=number, detachedness=state)
        heap.edge(1, "element", place, node)
    for number in TEXTS:
        # What the environment of a process is differs; much else is the same.
        text = f"{run} {number}" if number < 19 else str(number)
        heap.edge(1, "property", "x", heap.node("string", text, 16, number=number))
    # Of the inspector; its id is an address.
    heap.edge(1, "property", "y", heap.node("native", "Node / A", 8, number=PASSING))
    return heap.bytes()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    found = {}
    others = {"elsewhere": ELSEWHERE, "again": AGAIN}
    for name, things in (MOMENTS | others).items():
        path = tmp_path / f"{name}.heapsnapshot"
        path.write_bytes(snapshot(things, name if name in others else "first"))
        found[name] = str(path)
    return found


def true_links(*names: str) -> Links:
    """Of these moments, in their order: name, name, id."""
    return {
        (older, newer, hex(number))
        for at, newer in enumerate(names)
        for older in names[:at]
        for number in (MOMENTS[older].keys() & MOMENTS[newer].keys()) | {3, *TEXTS}
    }


def links(database: Database) -> Links:
    found = rows(
        database,
        "MATCH (a:Object)-[:SURVIVED_AS]->(b) MATCH (d:Dump {number: a.dump}), "
        "(e:Dump {number: b.dump}) RETURN d.name, e.name, a.address, b.address",
    )
    assert all(then == now for *_, then, now in found)
    one_each = {(str(older), str(newer), str(then)) for older, newer, then, _ in found}
    assert len(one_each) == len(found)
    return one_each


def continued(database: Database) -> set[tuple[object, ...]]:
    text = "MATCH (d:Dump)-[:CONTINUED_AS]->(e:Dump) RETURN d.name, e.name"
    return set(rows(database, text))


@pytest.mark.deep
def test_in_any_order_and_beside_another_process(
    empty_database: Database, on_server: Callable[..., Ran], files: dict[str, str]
) -> None:
    ingest, database = on_server, empty_database

    told = ingest("load", files["two"], files["elsewhere"], files["three"])[1]
    assert "its objects are not looked for in other dumps: nothing shows" in told
    assert "of one process with two, by its ids: objects are linked" in told
    assert links(database) == true_links("two", "three")
    assert "of one process with two, three, by" in ingest("load", files["one"])[1]
    assert links(database) == true_links("one", "two", "three")
    assert continued(database) == {("one", "two"), ("one", "three"), ("two", "three")}
    following = "MATCH (d:Dump)-[:NEXT]->(e:Dump {name: 'three'}) RETURN d.name"
    assert rows(database, following) == [("two",)]

    def asked(query: str, *given: str) -> dict[str, list[object]]:
        out = ingest("query", query, "--dump", "three", *given, "--json")[1]
        return {row["type"]: list(row.values())[1:] for row in json.loads(out)["rows"]}

    assert asked("survivors-of-three") == {
        "Session": [2, 32, 4, 0.5, "0xad", 16, "one", "two"]
    }
    assert asked("born-between") == {
        "Session": [1, 16, None, "0xb5", 16, "two"]
    }  # no collections: how many it has survived is not known
    assert asked("born-between", "-p", "earlier=one")["Session"][0] == 3
    assert asked("died-between") == {
        "Request": [1, 16, 1, 1.0, "two"], "Session": [2, 32, 4, 0.5, "two"],
    }  # fmt: skip
    survived = asked("survivors-of-dump")
    assert survived["Session"] == [2, 32, 0, 4, 0.5, "two"]
    assert survived["Detached <p>"][:2] == [1, 16]
    why = ingest("why", "0xad", "--dump", "three")[1]
    assert "earlier: two 0xad" in why
    report = ingest("report", "--dump", "three")[1]
    assert "Allocated between two earlier dumps and still here" in report

    ingest("drop", "two")
    assert links(database) == true_links("one", "three")
    assert asked("survivors-of-three") == {}
    assert asked("died-between")["Request"][-1] == "one"
    ingest("load", files["two"])
    assert links(database) == true_links("one", "two", "three")


def heap_of_ruby(things: dict[int, str]) -> bytes:
    """The numbers are generations; three objects have one address after another."""
    heap = RubyHeap().core()
    names = {name: 0x8000 + 64 * n for n, name in enumerate({*things.values()})}
    for name, ident in names.items():
        heap.module(ident, name)
    made = {0x10000 + 40 * {171: 161, 181: 161}.get(n, n): n for n in things}
    texts = {0x20000 + 40 * n: n for n in TEXTS}
    heap.root("vm", *names.values(), *made, *texts)
    for ident, number in made.items():
        site = {"file": "shop.rb", "line": 3, "generation": number}
        heap.obj(ident, "OBJECT", names[things[number]], **site)
    for ident, number in texts.items():
        heap.text(ident, str(number), file="shop.rb", line=1, generation=number)
    return heap.bytes()


@pytest.mark.slow
def test_objects_of_ruby_are_linked_by_address_and_generation(
    empty_database: Database, on_server: Callable[..., Ran], tmp_path: Path
) -> None:
    paths = {name: tmp_path / f"{name}.jsonl" for name in (*MOMENTS, "elsewhere")}
    for name, things in (*MOMENTS.items(), ("elsewhere", ELSEWHERE)):
        paths[name].write_bytes(heap_of_ruby(things))

    told = on_server("load", *map(str, (paths[one] for one in paths)))[1]

    assert "of one process with one, two, by its ids: objects are linked" in told
    assert "its objects are not looked for in other dumps: nothing shows" in told
    assert continued(empty_database) == {
        ("one", "two"), ("one", "three"), ("two", "three"),
    }  # fmt: skip
    assert {(a, b) for a, b, _ in links(empty_database)} == continued(empty_database)
    words = ["query", "survivors-of-three", "--dump", "three", "--json"]
    (found,) = json.loads(on_server(*words)[1])["rows"]
    assert found["type"] == "Session"
    assert (found["object_count"], found["allocated_count"]) == (2, 4)
    assert (found["first"], found["second"]) == ("one", "two")


@pytest.mark.slow
def test_of_two_processes_nothing_is_said(
    empty_database: Database, on_server: Callable[..., Ran], files: dict[str, str]
) -> None:
    on_server("load", files["two"], files["elsewhere"], files["again"])

    assert links(empty_database) == continued(empty_database) == set()
    code, out, said = on_server("query", "born-between", "--dump", "elsewhere")
    assert code == 0
    assert "no other dump of this process is loaded" in out + said


@pytest.mark.deep
@embedded_only("only the embedded server's store can be made anew")
def test_in_bulk_the_same(
    own_server: EmbeddedServer, ingest: Callable[..., Ran], files: dict[str, str]
) -> None:
    ingest("load", files["two"], files["elsewhere"], files["one"], "--via", "bolt")
    with connect(target_of(own_server.start()), server=own_server) as database:
        before = {name: content(database, name) for name in ("one", "two", "elsewhere")}
        assert links(database) == true_links("one", "two")

    code, out, said = ingest("load", files["three"], "--via", "bulk")

    assert code == 0, said
    assert "of one process with two, one, by its ids" in out
    with connect(target_of(own_server.start()), server=own_server) as database:
        assert links(database) == true_links("one", "two", "three")
        assert continued(database) == {
            ("one", "two"), ("one", "three"), ("two", "three"),
        }  # fmt: skip
        assert before == {name: content(database, name) for name in before}
