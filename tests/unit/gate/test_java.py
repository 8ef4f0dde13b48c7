"""What the gate finds in dumps of Java, and what it leaves alone."""

from __future__ import annotations

from ingest.gate.findings import judge
from ingest.gate.rules import Rules
from tests.bench.gate import compared
from tests.unit.suspects.test_java_leaks import Program


def test_finalizers_are_no_finding_beside_what_they_are_of() -> None:
    dumps = []
    for step in range(3):
        shop = Program()
        shop.cls("app/Connection", "data")
        shop.cls("java/lang/ref/Finalizer", "next", "referent")
        open_ones = [
            shop.make("app/Connection", data=shop.data(300))
            for _ in range(200 + 200 * step)
        ]
        last = 0
        for one in open_ones:
            last = shop.make("java/lang/ref/Finalizer", next=last, referent=one)
        shop.main(OPEN=shop.map_of(open_ones), UNFINALIZED=last)
        dumps.append(compared(shop.dump.bytes(), step))

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Connection"


def test_how_many_there_are_on_other_paths_is_told() -> None:
    dumps = []
    for step in range(3):
        shop = Program()
        shop.cls("app/Order", "data")
        orders = [
            shop.make("app/Order", data=shop.data(300)) for _ in range(200 + 200 * step)
        ]
        some = shop.map_of(orders[::2])
        shop.cls("app/Desk", "orders")
        shop.main(SOME=some, DESK=shop.make("app/Desk", orders=shop.map_of(orders)))
        dumps.append(compared(shop.dump.bytes(), step))

    messages = [one.message for one in judge(dumps, Rules(suspects=False)).findings]

    assert messages
    for message in messages:
        assert ": 100, 200, 300 objects of 600 in the whole program, " in message
