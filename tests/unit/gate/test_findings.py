"""What the gate finds in small programs, and what it leaves alone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ingest.compare.changes import compare
from ingest.compare.dimensions import Dimension
from ingest.compare.dumps import Taken
from ingest.gate.findings import Judged, Rule, judge
from ingest.gate.rules import Budget, Rules
from ingest.gate.trend import SURE, Kind, trend_of
from tests.bench.gate import (
    FORMATS,
    compared,
    findings,
    leak,
    leak_in,
    steady,
    unsteady,
)
from tests.deep import PROFILE
from tests.dumps.programs import (
    HANDLE,
    LEAKING,
    LEAKS,
    LOCAL,
    STATIC,
    Program,
    background,
    dumps_of,
    static_list,
)

if TYPE_CHECKING:
    from ingest.compare.dumps import ComparedDump

OBJECTS = 2000


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([40, 50, 60], Kind.LEAK),
        ([1000, 1030, 1060], Kind.LEAK),
        ([0, 10, 20], Kind.LEAK),
        ([0, 0, 10, 20], Kind.LEAK),
        ([100, 120, 180], Kind.LEAK),  # more than a cache fluctuates by
        ([100, 105, 120], Kind.UNEVEN),
        ([100, 115, 127], Kind.FILLS_UP),
        ([1409, 1868, 1942], Kind.FILLS_UP),
        ([100, 111, 120, 131, 139], Kind.LEAK),  # not shrinking from each to the next
        ([100, 140, 170, 190, 200], Kind.FILLS_UP),
        ([40, 50], Kind.LEAK),
        ([1500, 2772, 3623], Kind.LEAK),  # the work differed
        ([1000, 2300, 2800, 4000], Kind.LEAK),
        ([146, 282, 403, 497], Kind.FILLS_UP),
    ],
)
def test_how_counts_grow(counts: list[int], kind: Kind) -> None:
    assert trend_of(counts).kind is kind


def test_more_dumps_and_steps_more_alike_are_surer() -> None:
    sure = [
        trend_of(counts).confidence
        for counts in (
            [40, 50], [100, 120, 180], [100, 110, 119], [100, 110, 118, 128, 137],
        )
    ]  # fmt: skip

    assert sure == sorted(sure)
    assert sure[0] == 0.5
    assert sure[-1] <= SURE


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("part", LEAKS, ids=lambda part: part.__name__)
def test_a_leak_of_ten_objects_a_step_is_found_and_nothing_else(
    part: type,
) -> None:
    name, places = leak(part, OBJECTS, steps=3)

    leaking = LEAKING[name].rpartition(".")[2]
    assert any(place.endswith(leaking) for place in places)
    holders = {place.rpartition(" -> ")[0] for place in places}
    assert len(holders) == 1


@pytest.mark.deep
@pytest.mark.parametrize("form", FORMATS)
def test_the_leaks_are_found_in_other_formats(form: str) -> None:
    assert leak_in(form, 300) == []


@pytest.mark.parametrize("seed", range(3 if PROFILE == "deep" else 1))
def test_steady_work_is_no_leak(seed: int) -> None:
    assert steady(seed, OBJECTS) == []


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("steps", [3, 5])
def test_caches_that_change_are_no_leak(steps: int) -> None:
    seeds = range(8 if PROFILE == "deep" else 1)
    failed = [seed for seed in seeds if unsteady(seed, OBJECTS, steps)]

    assert failed == []


def test_a_cache_that_fills_up_is_a_note() -> None:
    judged = judge_all(held([1409, 1868, 1942], HANDLE), Rules(suspects=False))

    assert judged.findings == []
    (note,) = judged.notes
    assert note.startswith("Box grew in every dump, by smaller and smaller steps, so ")
    assert "1,409, 1,868, 1,942 objects" in note


def lambdas(step: int, elsewhere: int = 0) -> ComparedDump:
    """A Java program whose callbacks hold what leaks, beside a lambda without state.

    There are more of what leaks ``elsewhere``, which is no leak.
    """
    program = Program(step, random.Random(1), random.Random(step))
    background(program, OBJECTS)
    program.root(program.obj("shop.Main$$Lambda$1/0x0d1", 16), HANDLE)
    others = program.things("shop.Context", elsewhere)
    program.root(program.array("java.lang.Object", others), STATIC, "shop.Pool")
    held = program.things("shop.Context", 100 + 30 * step)
    name = "shop.Main$$Lambda$2/0x0d2"
    callbacks = [program.obj(name, 16, one) for one in held]
    program.root(program.array("java.lang.Object", callbacks), STATIC, "shop.Main")
    return replace(compared(program.dump(), step), runtime="jvm")


def test_the_type_of_the_program_is_blamed_and_lambdas_share_a_name() -> None:
    dumps = [lambdas(step) for step in range(3)]

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Context"
    assert found.counts == (100, 130, 160)
    assert found.confidence == SURE
    by_type = {one.name: one for one in compare(dumps).of(Dimension.TYPE)}
    assert by_type["shop.Main$$Lambda"].object_count == (101, 131, 161)
    assert "shop.Main$$Lambda$1/0x0d1" not in by_type


def test_what_leaks_may_be_common() -> None:
    dumps = [lambdas(step, elsewhere=2000) for step in range(3)]

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Context"
    assert found.counts == (100, 130, 160)


def keyed(step: int, key: str = "System.String") -> ComparedDump:
    """A map of objects by keys, which fills with both."""
    program = Program(step, random.Random(1), random.Random(step))
    background(program, OBJECTS)
    held = program.things("Shop.Session", 2000 + 800 * step)
    keys = [program.obj(key, 40) for _ in held]
    pairs = [one for pair in zip(keys, held, strict=True) for one in pair]
    program.root(program.array("System.Object", pairs), STATIC, "Shop.Open")
    return compared(program.dump(), step)


@pytest.mark.parametrize("key", ["System.String", "Shop.Id"])
def test_keys_and_a_new_suspect_of_the_same_objects_are_one_finding(key: str) -> None:
    dumps = [keyed(step, key) for step in range(3)]
    assert any("Session" in row for row in dumps[-1].suspects["sentence"])

    (found,) = judge(dumps, Rules()).findings

    assert found.path[-1] == "Session"
    assert found.counts == (2000, 2800, 3600)
    assert key.rpartition(".")[2] in found.below


def test_locks_of_a_dictionary_are_no_finding_beside_its_entries() -> None:
    """It has more of them as it grows, in an array of their own."""
    name, dumps = "System.Collections.Concurrent.ConcurrentDictionary", []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        some = program.things("Shop.Session", 800 << step)
        nodes = [program.obj(f"{name}+Node", 40, one) for one in some]
        held = program.array(f"{name}+Node", nodes)
        locks = [program.obj("System.Object", 24) for _ in range(64 << step)]
        table = program.array("System.Object", locks)
        program.root(program.obj(name, 40, held, table), STATIC, "Shop.Open")
        dumps.append(compared(program.dump(), step))

    (found,) = judge(dumps, Rules(suspects=False)).findings

    assert found.path[-1] == "Session"


def test_keys_of_objects_that_are_partly_elsewhere_are_no_finding() -> None:
    """Half of the objects have a shorter path, so the map has more keys than those."""
    dumps = []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        held = program.things("Shop.Session", 2000 + 800 * step)
        keys = [program.obj("System.String", 40) for _ in held]
        pairs = [one for pair in zip(keys, held, strict=True) for one in pair]
        book = program.obj("Shop.Book", 24, program.array("System.Object", pairs))
        program.root(book, STATIC, "Shop.Open")
        recent = program.array("System.Object", held[::2])
        program.root(recent, STATIC, "Shop.Recent")
        dumps.append(compared(program.dump(), step))

    found = judge(dumps, Rules(suspects=False)).findings

    assert {one.path[-1] for one in found} == {"Session"}


def test_two_dumps_are_enough_for_what_was_there_before() -> None:
    (found,) = findings(dumps_of((static_list,), OBJECTS, 1, steps=2))

    assert found.rule is Rule.GROWTH
    assert found.place.endswith("Order")
    assert found.counts == (40, 50)


def test_the_fingerprint_is_the_same_in_another_run() -> None:
    (first,) = findings(dumps_of((static_list,), OBJECTS, 1))
    (second,) = findings(dumps_of((static_list,), 3 * OBJECTS, 99))

    assert first.fingerprint == second.fingerprint


def judge_all(texts: list[str], rules: Rules) -> Judged:
    return judge([compared(text, at) for at, text in enumerate(texts)], rules)


def held(counts: list[int], kind: int, *, below: int = 0) -> list[str]:
    """Dumps of a program with so many objects that roots of a kind refer to."""
    texts = []
    for step, count in enumerate(counts):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        for one in program.things("Shop.Thing", count):
            items = [program.obj("Shop.Part", 24) for _ in range(below)]
            program.root(program.obj("Shop.Box", 32, one, *items), kind, "Shop.Boxes")
        texts.append(program.dump())
    return texts


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(
    ("counts", "kind", "found"),
    [
        ([10, 20, 30], HANDLE, True),
        ([10, 20, 30], LOCAL, False),  # more requests at once are no leak
        ([10, 20, 19], HANDLE, False),
        ([10, 12, 14], HANDLE, False),  # less than five a step
        ([0, 10], HANDLE, False),  # made late
        ([0, 10, 20], HANDLE, True),
        ([1000, 1010, 1020], STATIC, False),  # less than two percent
        ([1000, 1030, 1060], STATIC, True),
    ],
)
def test_growth(counts: list[int], kind: int, *, found: bool) -> None:
    rules = Rules(suspects=False)

    places = findings(held(counts, kind, below=2), rules)

    assert (len(places) == 1) is found
    for one in places:
        assert one.path[-1] == "Box", "the topmost only"
        assert set(one.below) == {"Thing", "Part", "String"}


def test_what_one_object_has_does_not_grow_with_the_others_of_its_type() -> None:
    """A timer leads to the registry, the only one, in which things accumulate."""
    texts = []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        things = program.things("Shop.Thing", 20 * (step + 1))
        registry = program.obj("Shop.Registry", 32, *things)
        for job in range(10 * (step + 1)):
            held = registry if not job else program.obj("Shop.Task", 24)
            program.root(program.obj("Shop.Timer", 40, held), HANDLE, "Shop.Timers")
        texts.append(program.dump())

    timer, thing = sorted(
        findings(texts, Rules(suspects=False)), key=lambda found: found.counts
    )

    assert timer.path[-1] == "Timer"
    assert timer.counts == (10, 20, 30)
    assert timer.below == ("Task",)
    assert "1.2 KiB more in all, with Task" in timer.message
    assert thing.path[-2:] == ("Registry", "Thing")
    assert thing.counts == (20, 40, 60)


@pytest.mark.parametrize("each", [1, 2])
def test_what_a_field_of_each_object_has_at_most_once_has_a_bound(each: int) -> None:
    texts = []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        checks = iter(program.things("Shop.Check", each * 20 * (step + 1)))
        sockets = []
        for _ in range(70):
            held = [one for _ in range(each) if (one := next(checks, None)) is not None]
            sockets.append(program.obj("Shop.Socket", 32, *held))
        program.root(program.array("Shop.Socket", sockets), STATIC, "Shop.Sockets")
        texts.append(program.dump())

    found = findings(texts, Rules(suspects=False))

    assert [one.path[-1] for one in found] == ["Check"] * (each - 1)


def test_a_few_large_objects_are_growth_too() -> None:
    def texts(sizes: list[int]) -> list[str]:
        found = []
        for step, size in enumerate(sizes):
            program = Program(step, random.Random(1), random.Random(step))
            background(program, OBJECTS)
            items = [program.obj("Shop.Film", size) for _ in range(step + 3)]
            program.root(program.array("Shop.Film", items), STATIC, "Shop.Films")
            found.append(program.dump())
        return found

    rules = Rules(suspects=False)
    (found,) = findings(texts([50_000] * 3), rules)
    assert found.counts == (3, 4, 5)
    assert findings(texts([50] * 3), rules) == []


def test_one_dump_is_judged_by_its_suspects() -> None:
    text = held([400], STATIC, below=8)[0]

    (found,) = findings([text])

    assert found.rule is Rule.SUSPECT
    assert findings([text], Rules(suspects=False)) == []


def test_what_a_reference_has_is_no_finding() -> None:
    before = compared(held([400], STATIC, below=8)[0], 1)
    after = compared(held([450], STATIC, below=8)[0], 2)
    other = compared(held([1], STATIC)[0], 3)

    assert judge([after], Rules(), [before]).findings == []
    (found,) = judge([after], Rules(), [other]).findings
    assert found.rule is Rule.NEW_SUSPECT


def test_budgets_and_expectations() -> None:
    dump = compared(held([7], HANDLE)[0])
    rules = Rules(
        suspects=False,
        expect={"Shop.App": 1, "Shop.Box": 6, "Shop.Boks": 1, "Zzz": 1},
        budgets=(
            Budget(type="Shop.Th*", max_instances=6, max_bytes=10_000),
            Budget(path="handle -> Box*", max_bytes=10),
            Budget(type="Shop.*", max_instances=1_000_000),
        ),
    )

    found = judge([dump], rules).findings

    assert [(one.rule, one.message) for one in found] == [
        (Rule.BUDGET, "Shop.Th*: 7 objects, and the budget is 6."),
        (Rule.BUDGET, found[1].message),
        (Rule.EXPECTATION, "Shop.Box: 7 objects, and 6 are expected."),
        (Rule.EXPECTATION, found[3].message),
        (Rule.EXPECTATION, "Zzz: 0 objects, and 1 are expected."),
    ]
    assert found[3].message == (
        "Shop.Boks: 0 objects, and 1 are expected; did you mean Shop.Box."
    )
    assert found[1].message.endswith("and the budget is 10 B.")
    assert len({one.fingerprint for one in found}) == 5


def test_what_limits_a_comparison_is_said() -> None:
    dump = compared(held([7], HANDLE)[0])
    empty = compared("a 1 Empty.exe 0\nc Empty.exe 1\n", 2)
    other = compared("a 1 O.exe 0\nt 1 Other\no 9 1 10\nr 9 4 0\nc O.exe 1\n", 3)

    def notes(*dumps: object) -> str:
        return " ".join(judge(dumps, Rules()).notes)  # type: ignore[arg-type]

    assert "are the same dump" in notes(dump, dump)
    assert "dump 2 has no reachable objects" in notes(dump, empty)
    assert "0 of 1 types in common" in notes(dump, other)
    assert "different formats" in notes(
        dump, replace(other, format_name="dartheap", identity=None)
    )


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        ([Taken(5, 9000), Taken(7, 1000)], ""),  # the clock decides
        ([Taken(7), Taken(5)], "so says the clock in them"),
        ([Taken(None, 9000), Taken(None, 1000)], "was written earlier"),
        ([Taken(None, 1900), Taken(None, 1000)], ""),  # as a checkout does
        ([Taken(7), Taken(None, 7)], ""),
    ],
)
def test_dumps_in_reversed_order_are_told(taken: list[Taken], why: str) -> None:
    dump = compared(held([7], HANDLE)[0])
    dumps = [
        replace(dump, name=f"dump {at}", identity=None, taken=one)
        for at, one in enumerate(taken)
    ]

    notes = judge(dumps, Rules()).notes

    told = [one for one in notes if "dump 1 seems to be older than dump 0" in one]
    assert bool(told) is bool(why)
    assert all(why in one for one in told)
    assert [one for one in compare(dumps).notes if "older" in one] == told


@pytest.mark.parametrize("leaks", [True, False])
def test_a_thread_that_looks_at_a_map_changes_nothing(*, leaks: bool) -> None:
    """It has the map itself in a local variable, and other maps besides."""
    dumps = []
    for step, threads in enumerate((0, 2, 1)):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        orders = program.things("Shop.Order", 200 + 20 * step * leaks)
        table = program.map_of("Shop.Order", orders)
        program.root(program.obj("Shop.Orders", 24, table), STATIC, "Shop.Orders")
        for _ in range(threads):
            program.root(table, LOCAL)
            own = program.things("Shop.Order", 30)
            program.root(program.map_of("Shop.Order", own), LOCAL)
        dumps.append(compared(program.dump(), step))

    found = judge(dumps, Rules(suspects=False)).findings

    assert [one.counts for one in found] == [(200, 220, 240)] * leaks
    assert not any(
        row.growth for row in compare(dumps).of(Dimension.ROOT_PATH)
        if "Order" in row.name
    ) or leaks  # fmt: skip


def test_the_stubs_of_the_runtime_do_not_grow() -> None:
    """CoreCLR keeps a table of them, which grows with each call into native code."""
    dumps = []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        stubs = [program.obj("System.SByte[]", 90) for _ in range(60 * (step + 1))]
        table = program.array("System.Object[]", stubs)
        name = "System.Runtime.CompilerServices.GCHeapHash"
        program.root(program.obj(name, 40, table), HANDLE)
        dumps.append(replace(compared(program.dump(), step), runtime="dotnet"))

    judged = judge(dumps, Rules(suspects=False))

    assert (judged.findings, judged.notes) == ([], [])


def test_metadata_does_not_grow() -> None:
    dumps = []
    for step in range(3):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, OBJECTS)
        code = [
            program.obj("(compiled code)", 900, program.obj("(string)", 300))
            for _ in range(50 * (step + 1))
        ]
        program.root(program.array("Shop.Script", code), STATIC, "Shop.Scripts")
        dumps.append(replace(compared(program.dump(), step), runtime="v8"))

    judged = judge(dumps, Rules(suspects=False))

    assert (judged.findings, judged.notes) == ([], [])
    found = compare(dumps)
    for by in (Dimension.TYPE, Dimension.ROOT_PATH):
        assert not [row for row in found.growing(by) if "code" in row.name]
