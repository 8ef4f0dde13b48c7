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


def test_keys_of_gauges_that_have_the_objects_are_no_finding() -> None:
    dumps = []
    for step in range(3):
        shop = Program()
        shop.cls("app/Store", "data")
        shop.cls("app/Shop$$Lambda", "store")
        nodes = []
        for _ in range(200 + 200 * step):
            store = shop.make("app/Store", data=shop.data(300))
            for _ in range(2):
                gauge = shop.make("app/Shop$$Lambda", store=store)
                key = shop.make("java/lang/String", value=shop.data(8))
                nodes.append(shop.make("java/util/HashMap$Node", key=key, value=gauge))
        table = shop.array("[Ljava/util/HashMap$Node;", nodes)
        shop.main(METRICS=shop.make("java/util/HashMap", table=table))
        dumps.append(compared(shop.dump.bytes(), step))

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Store"
    assert "String" in found.below


def test_collections_that_are_keys_in_a_table_of_clojure_are_no_finding() -> None:
    dumps, lang = [], "clojure/lang"
    for step in range(3):
        shop = Program()
        shop.cls(f"{lang}/PersistentVector", "tail")
        shop.cls(f"{lang}/PersistentHashMap", "array")
        shop.cls("feed/Subscriber", "data")
        pairs = []
        for _ in range(200 + 200 * step):
            tail = shop.array("[Ljava/lang/Object;", [shop.data(8)])
            pairs.append(shop.make(f"{lang}/PersistentVector", tail=tail))
            pairs.append(shop.make("feed/Subscriber", data=shop.data(300)))
        table = shop.array("[Ljava/lang/Object;", pairs)
        shop.main(WATCHES=shop.make(f"{lang}/PersistentHashMap", array=table))
        dumps.append(compared(shop.dump.bytes(), step))

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Subscriber"
    assert "PersistentVector" in found.below


def test_constants_that_code_has_got_are_no_finding() -> None:
    dumps = []
    for step in range(3):
        shop = Program()
        texts = [
            shop.make("java/lang/String", value=shop.data(60))
            for _ in range(60 + 60 * step)
        ]
        constants = shop.array("[Ljava/lang/Object;", texts)
        shop.main(**{"<resolved_references>": constants})
        dumps.append(compared(shop.dump.bytes(), step))

    assert judge(dumps, Rules(suspects=False)).findings == []
