"""Suspects of programs of CPython, in heaps that are written for it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.hrpy.chunks import Flag
from ingest.suspects.find import find_suspects
from tests.dumps.hrpy import HrpyHeap, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ingest.suspects.suspect import Suspect

_MANY = 400
_PAGES, _OWNER, _BOUND = 0x100000, 0x1000, 0x2000


def pages(heap: HrpyHeap) -> list[int]:
    """Pages, and keys of a dict that has them."""
    ids = [_PAGES + 64 * number for number in range(_MANY)]
    heap.chunk("shop.Page", ids, size=600)
    keys = [0x400000 + 64 * number for number in range(_MANY)]
    heap.texts(keys, [f"key {number}" for number in range(_MANY)])
    return [one for pair in zip(keys, ids, strict=True) for one in pair]


def suspect_of(heap: HrpyHeap, folder: Path) -> Suspect:
    path = folder / "x.hrpy"
    path.write_bytes(heap.bytes())
    with open_source(str(path)) as source:
        graph = read(source, ReadOptions(), silent)
    (found,) = find_suspects(graph, analyse(graph)).suspects
    return found


def extended_dict(field: str, value: int) -> HrpyHeap:
    """A variable that is an object of a class which extends a dict."""
    heap = HrpyHeap().variable("RECENT", _OWNER)
    heap.chunk(
        "int", [_BOUND], flags=Flag.INTEGERS, values=struct.pack("<q", value)
    )  # fmt: skip
    heap.chunk(
        "shop.Recent", [_OWNER], size=9000, named={field: [_BOUND]},
        rest=[pages(heap)], lengths=[_MANY], flags=Flag.OWNER | Flag.PAIRS,
    )  # fmt: skip
    return heap


@pytest.mark.parametrize(
    ("field", "value", "is_full"),
    [
        ("maxsize", _MANY, True),
        ("_max_entries", _MANY + 1, True),
        ("capacity", _MANY, True),
        ("_Cache__maxsize", _MANY, True),
        ("maxsize", 10 * _MANY, False),
        ("next_id", _MANY, False),
        ("size", _MANY, False),
    ],
)
def test_a_collection_that_is_at_its_bound_is_doubted(
    field: str, value: int, tmp_path: Path, *, is_full: bool
) -> None:
    found = suspect_of(extended_dict(field, value), tmp_path)

    text = (
        f"Recent.{field} is {value:,}, and so many are there: if it is a bound, this "
        "may be its normal size."
    )
    assert found.doubts == ((text,) if is_full else ())


def test_objects_in_a_class_that_extends_a_dict_are_in_a_map(tmp_path: Path) -> None:
    found = suspect_of(extended_dict("next_id", 5), tmp_path)

    assert " are held in a map by global variable shop.RECENT." in found.sentence
    assert found.advice == (
        "To free them, remove entries at global variable shop.RECENT -> Recent."
    )


def test_an_exception_that_is_raised_again_is_told_by_its_traceback(
    tmp_path: Path,
) -> None:
    heap = HrpyHeap().variable("LAST", _OWNER)
    ids = [_PAGES + 64 * number for number in range(_MANY)]
    entries = [0x300000 + 64 * number for number in range(_MANY)]
    frames = [0x400000 + 64 * number for number in range(_MANY)]
    heap.chunk("shop.Page", ids, size=600)
    heap.chunk("frame", frames, named={"page": ids})
    heap.chunk("traceback", entries[-1:], named={"tb_frame": frames[-1:]})
    heap.chunk(
        "traceback", entries[:-1],
        named={"tb_frame": frames[:-1], "tb_next": entries[1:]},
    )  # fmt: skip
    heap.chunk("shop.Failed", [_OWNER], named={"__traceback__": entries[:1]})

    found = suspect_of(heap, tmp_path)

    assert found.cut == "Failed.__traceback__ -> traceback"
    assert found.signs == (
        "Each Failed holds the frames of its traceback, and these hold what was in "
        "their variables. The traceback has more than 100 entries: one exception that "
        "is raised again gets more each time.",
    )


@pytest.mark.parametrize("is_needed", [False, True])
def test_what_each_object_has_collected_is_told_with_its_field(
    tmp_path: Path, *, is_needed: bool
) -> None:
    heap = HrpyHeap().variable("ROOMS", 0x9000)
    rooms = [0x50000 + 64 * at for at in range(10)]
    lists = [0x20000 + 64 * at for at in range(10)]
    notes = [0x30000 + 64 * at for at in range(10)]
    said = [0x100000 + 64 * at for at in range(_MANY)]
    each = _MANY // 10
    heap.chunk("list", [0x9000], rest=[rooms], lengths=[10], flags=Flag.ELEMENTS)
    fields: dict[str, Sequence[int]] = {"history": lists}
    heap.chunk("shop.Message", said, size=600)
    first = [said[each * at :][:each] for at in range(10)]
    if is_needed:  # in two fields
        fields["notes"] = notes
        heap.chunk(
            "list", notes, rest=[one[each // 2 :] for one in first],
            lengths=10 * [each // 2], flags=Flag.ELEMENTS,
        )  # fmt: skip
        first = [one[: each // 2] for one in first]
    heap.chunk(
        "list", lists, rest=first, lengths=list(map(len, first)), flags=Flag.ELEMENTS
    )
    heap.chunk("shop.Room", rooms, size=80, named=fields)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("10 Room (")
    is_told = "with 400 Message in Room.history are held in list" in found.sentence
    assert is_told is not is_needed
    advice = "or keep them, and remove entries at Room.history -> list."
    assert found.advice.endswith(advice) is not is_needed


def test_a_channel_of_calls_is_no_queue(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("INVENTORY", 0x9100)
    heap.chunk("shop.Inventory", [0x9100], size=48, named={"stubs": [0x9000]})
    channels = [0x20000 + 64 * at for at in range(_MANY)]
    inner = [0x80000 + 64 * at for at in range(_MANY)]
    heap.chunk("list", [0x9000], rest=[channels], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk("asyncio.Channel", channels, size=48, named={"inner": inner})
    heap.chunk("shop.Connection", inner, size=600)

    found = suspect_of(heap, tmp_path)

    assert " Connection (" in found.sentence
    assert " are held in a list by Inventory.stubs," in found.sentence


def test_maps_that_lead_to_one_another_are_not_all_written(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("STATE", _OWNER)
    heap.chunk("shop.Doc", [_OWNER], named={"state": [0x200000]})
    texts = [_PAGES + 64 * at for at in range(2 * _MANY)]
    heap.texts(texts, [f"revision {at} {'x' * 200}" for at in range(2 * _MANY)])
    heap.texts([0x3000, 0x3040], ["before", "text"])
    for at, text in enumerate(texts):
        state = 0x200000 + 64 * at
        heap.dict(state, {0x3040: text, 0x3000: state + 64})
    heap.dict(0x200000 + 64 * len(texts), {0x3040: texts[0]})

    found = suspect_of(heap, tmp_path)

    assert "str" in found.sentence
    assert "Doc.state" in found.sentence
    assert len(found.advice) < 200


def test_the_coroutine_of_tasks_is_told_with_what_it_has(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("TASKS", _OWNER)
    tasks = [0x200000 + 64 * at for at in range(_MANY)]
    calls = [0x300000 + 64 * at for at in range(_MANY)]
    uploads = [_PAGES + 64 * at for at in range(_MANY)]
    heap.chunk("list", [_OWNER], rest=[tasks], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk("trio.Task", tasks, named={"coro": calls})
    heap.chunk(
        "coroutine", calls, named={"upload": uploads}, flags=Flag.TEXTS,
        values=texts_of(_MANY * ["receive"]),
    )  # fmt: skip
    heap.chunk("shop.Upload", uploads, size=600)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("400 Task (")
    assert " with 400 Upload in coroutine receive are held in list" in found.sentence


@pytest.mark.parametrize("is_first", [False, True])
def test_three_fields_that_hold_the_same_objects_are_named(
    tmp_path: Path, *, is_first: bool
) -> None:
    heap = HrpyHeap().variable("REPOSITORY", _OWNER)
    parts = [_PAGES + 64 * at for at in range(_MANY)]
    heap.chunk("shop.Part", parts, size=600)
    lists = [0x200000, 0x200040, 0x200080]
    some = parts if is_first else parts[_MANY // 2 :]
    heap.chunk(
        "list", lists, rest=[parts, parts, some],
        lengths=[_MANY, _MANY, len(some)], flags=Flag.ELEMENTS,
    )  # fmt: skip
    sold, ordered, recent = ([one] for one in lists)
    heap.chunk(
        "shop.Repository", [_OWNER],
        named={"sold": sold, "sorted": ordered, "recent": recent},
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert "400 Part" in found.sentence
    assert ("entries of sold, sorted and recent at" in found.advice) is is_first
    assert "entries of sold and sorted" not in found.advice


def test_the_entries_of_a_list_are_told_apart_from_their_parts(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("TITLES", _OWNER)
    tags = [_PAGES + 64 * at for at in range(_MANY)]
    titles, each = tags[:20], _MANY // 20 - 1
    parts = [tags[20 + each * at :][:each] for at in range(20)]
    heap.chunk("list", [_OWNER], rest=[titles], lengths=[20], flags=Flag.ELEMENTS)
    heap.chunk("shop.Tag", tags, size=600, rest=parts + [[]] * (_MANY - 20))

    found = suspect_of(heap, tmp_path)

    assert found.object_count == _MANY
    assert found.sentence.endswith(
        ", 20 of them directly, are held in list shop.TITLES."
    )


def test_the_variables_of_functions_are_in_no_list(tmp_path: Path) -> None:
    """As of functions that a database was given: nothing in the dump has them."""
    heap = HrpyHeap().variable("RULES", _OWNER)
    heap.chunk("int", [_OWNER])
    held = [_PAGES + 64 * number for number in range(_MANY)]
    cells, tuples, functions = ([one + at for one in held] for at in (16, 32, 48))
    heap.chunk("shop.Rule", held, size=600)
    heap.chunk("cell", cells, named={"cell_contents": held})
    heap.chunk(
        "tuple", tuples, rest=[[cell] for cell in cells], lengths=[1] * _MANY,
        flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.chunk(
        "function", functions, named={"__closure__": tuples}, counts=[3] * _MANY,
        flags=Flag.TEXTS, values=texts_of(["shop.rule.<locals>.<lambda>"] * _MANY),
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    held_by = " are held by the closure of shop.rule.<locals>.<lambda>"
    assert held_by in found.sentence
    assert "remove entries" not in found.advice


def test_a_number_of_bytes_objects_does_not_read_as_a_size(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("PARTS", _OWNER)
    parts = [_PAGES + 64 * number for number in range(_MANY)]
    heap.chunk("bytes", parts, size=2000)
    heap.chunk(
        "list", [_OWNER], size=4000, rest=[parts], lengths=[_MANY], flags=Flag.OWNER
    )

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} bytes objects (")
    assert found.contents[0].startswith(f"{_MANY} bytes objects, ")


def test_what_a_bound_method_of_c_has_is_no_metadata(tmp_path: Path) -> None:
    """A task that waits is held by such a method alone, as a callback."""
    heap = HrpyHeap().variable("CALLBACKS", _OWNER)
    keys_and_pages = pages(heap)
    wakeups = [0x2000 + 64 * number for number in range(_MANY)]
    heap.chunk("list", [_OWNER], rest=[wakeups], lengths=[_MANY], flags=Flag.OWNER)
    heap.chunk(
        "builtin_function_or_method", wakeups,
        named={"__self__": keys_and_pages[1::2]},
    )  # fmt: skip
    path = tmp_path / "x.hrpy"
    path.write_bytes(heap.bytes())
    with open_source(str(path)) as source:
        graph = read(source, ReadOptions(), silent)
    found = find_suspects(graph, analyse(graph))

    assert found.metadata_bytes < 600
    assert "400 Page" in found.suspects[0].sentence


def test_keys_that_have_much_are_told_with_the_values(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("RECENT", _OWNER)
    values = pages(heap)[1::2]
    keys = [0x2000 + 64 * number for number in range(_MANY)]
    heap.chunk("shop.Session", keys, size=200)
    pairs = [one for pair in zip(keys, values, strict=True) for one in pair]
    heap.chunk(
        "shop.Recent", [_OWNER], rest=[pairs], lengths=[_MANY],
        flags=Flag.OWNER | Flag.PAIRS,
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("400 Page (")
    assert " with 400 Session as keys are held in a map by global " in found.sentence


def test_the_rows_of_a_class_that_extends_a_list_are_told(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("AUDIT", _OWNER)
    rows = [0x2000 + 64 * number for number in range(_MANY)]
    heap.chunk("dict", rows, size=400)
    heap.chunk(
        "shop.Audit", [_OWNER], rest=[rows], lengths=[_MANY],
        flags=Flag.OWNER | Flag.ELEMENTS,
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("400 dict (")
    assert " are held in a list by global variable " in found.sentence


def test_what_waits_for_an_event_goes_on_once_that_is_set(tmp_path: Path) -> None:
    ids = [_PAGES + 1024 * number for number in range(_MANY)]
    futures = [0x400000 + 256 * number for number in range(_MANY)]
    heap = HrpyHeap().variable("SERVER", 0x900)
    heap.chunk("shop.Page", ids, size=600)
    heap.chunk("_asyncio.Future", futures, rest=[[one] for one in ids])
    heap.chunk("deque", [_BOUND], rest=[futures], lengths=[_MANY])
    heap.chunk("asyncio.locks.Event", [_OWNER], named={"_waiters": [_BOUND]})
    heap.chunk("shop.Server", [0x900], named={"_closed": [_OWNER]})

    found = suspect_of(heap, tmp_path)

    assert " are held as waiters of the Event by Server._closed" in (found.sentence)
    assert found.advice == (
        "To free them, call set() of Server._closed, or cancel what waits: "
        "Server._closed -> Event."
    )


@pytest.mark.parametrize(
    ("field", "container", "is_told"),
    [
        ("_result", "list", True),
        ("_exception", "list", True),
        ("_fut_waiter", "list", False),
        ("_result", "dict", False),
    ],
)
def test_tasks_that_are_done_and_held_are_told(
    field: str, container: str, tmp_path: Path, *, is_told: bool
) -> None:
    tasks = [0x200000 + 64 * at for at in range(_MANY)]
    found = [_PAGES + 1024 * at for at in range(_MANY)]
    heap = HrpyHeap().variable("TASKS", _OWNER)
    heap.chunk(container, [_OWNER], rest=[tasks], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk("_asyncio.Task", tasks, named={field: found})
    heap.chunk("shop.Page", found, size=600)

    text = (
        "All of their tasks are done, and keep their results for as long as they are "
        "held."
    )
    assert suspect_of(heap, tmp_path).signs == ((text,) if is_told else ())


def test_tasks_are_told_not_the_values_in_their_results(tmp_path: Path) -> None:
    tasks = [0x200000 + 64 * at for at in range(_MANY)]
    rows = [0x300000 + 64 * at for at in range(_MANY)]
    texts = [_PAGES + 1024 * at for at in range(4 * _MANY)]
    heap = HrpyHeap().variable("TASKS", _OWNER)
    heap.chunk("list", [_OWNER], rest=[tasks], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk("_asyncio.Task", tasks, size=160, named={"_result": rows})
    heap.chunk(
        "list", rows, size=300, rest=[texts[at::_MANY] for at in range(_MANY)],
        lengths=[4] * _MANY, flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.chunk("str", texts, size=70)

    assert suspect_of(heap, tmp_path).sentence.startswith(f"{_MANY:,} Task (")


def test_what_has_a_holder_of_the_same_type_is_told(tmp_path: Path) -> None:
    callbacks = [_PAGES + 1024 * at for at in range(_MANY)]
    heap = HrpyHeap().variable("CHANNEL", _OWNER)
    heap.chunk("shop.Channel", [_OWNER], named={"on_close": [0x2000]})
    heap.chunk("shop.Callbacks", [0x2000], named={"all": [0x3000]})
    heap.chunk("set", [0x3000], rest=[callbacks], lengths=[_MANY])
    heap.chunk("shop.Callbacks", callbacks, size=600)

    found = suspect_of(heap, tmp_path)

    assert " by Callbacks.all in Channel.on_close, from " in found.sentence


@pytest.mark.parametrize(("container", "words"), [("dict", "map"), ("list", "list")])
def test_collections_in_one_of_their_own_type_are_its_entries(
    container: str, words: str, tmp_path: Path
) -> None:
    rows = [_PAGES + 64 * number for number in range(_MANY)]
    heap = HrpyHeap().variable("SERVER", 0x900)
    heap.chunk("shop.Server", [0x900], named={"environ": [_OWNER]})
    heap.chunk(
        container, [_OWNER, *rows], size=600, rest=[rows, *([] for _ in rows)],
        lengths=[_MANY, *(0 for _ in rows)], flags=Flag.ELEMENTS,
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert f" are held in a {words} by Server.environ, from " in found.sentence
    assert found.advice == (
        f"To free them, remove entries at Server.environ -> {container}."
    )


def test_a_task_of_the_program_is_told_not_the_loop_that_runs_it(
    tmp_path: Path,
) -> None:
    heap = HrpyHeap()  # more references to the loop are counted than are in the dump
    heap.chunk("_asyncio.Loop", [0x900], named={"_ready": [0xA00]})
    heap.chunk("_asyncio.Task", [0xA00], named={"_coro": [0xB00]})
    heap.chunk(
        "coroutine", [0xB00], named={"store": [_OWNER]}, flags=Flag.TEXTS,
        values=texts_of(["main"]),
    )  # fmt: skip
    heap.chunk("shop.Store", [_OWNER], named={"views": [0xC00]})
    views = [_PAGES + 64 * number for number in range(_MANY)]
    heap.chunk("list", [0xC00], rest=[views], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk("shop.View", views, size=600)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.endswith(" in a list by Store.views, from coroutine main.")


@pytest.mark.parametrize(("bound", "field", "told"), [
    (20, "_Cache__maxsize", "TTLCache drops entries beyond its maxsize of 20, and has "
        "20, so this may be its normal size."),
    (30, "max_entries", "TTLCache drops entries beyond its max_entries of 30, so this "
        "may be its normal size."),
    (5, "max_entries", "TTLCache has far more entries than its max_entries of 5."),
    (5, "maxsize", "TTLCache has the name of a cache with a bound: if it has one, this "
        "may be its normal size."),  # that may be one of bytes
])  # fmt: skip
def test_the_bound_of_a_cache_is_compared_with_its_entries_not_with_their_parts(
    bound: int, field: str, told: str, tmp_path: Path
) -> None:
    heap = HrpyHeap().variable("RECENT", _OWNER)
    heap.chunk(
        "int", [_BOUND], flags=Flag.INTEGERS, values=struct.pack("<q", bound)
    )  # fmt: skip
    parts = pages(heap)[1::2]
    lists = [0x200000 + 64 * at for at in range(20)]
    heap.chunk(
        "list", lists, rest=[parts[at::20] for at in range(20)],
        lengths=[_MANY // 20] * 20, flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.dict(0x3000, {0x400000 + 64 * at: lists[at] for at in range(20)})
    heap.chunk(
        "cachetools.TTLCache", [_OWNER],
        named={field: [_BOUND], "_Cache__data": [0x3000]},
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert (*found.signs, *found.doubts) == (told,)


def test_only_entries_of_a_cache_are_compared_with_its_bound(tmp_path: Path) -> None:
    """As ``lru_cache`` also refers to what links them, and to the type of each link."""
    heap = HrpyHeap().variable("RECENT", _OWNER)
    heap.chunk("int", [_BOUND], flags=Flag.INTEGERS, values=struct.pack("<q", 300))
    links = [0x600000 + 64 * number for number in range(500)]
    heap.chunk("shop.Link", links)
    parts = {f"part{at}": [link] for at, link in enumerate(links)}
    heap.chunk(
        "shop.LRUCache", [_OWNER], named={"max_entries": [_BOUND], **parts},
        rest=[pages(heap)], lengths=[_MANY], flags=Flag.OWNER | Flag.PAIRS,
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert (*found.signs, *found.doubts) == (
        "LRUCache drops entries beyond its max_entries of 300, so this may be its "
        "normal size.",
    )


@pytest.mark.parametrize(("queues", "bound", "is_doubted"), [
    (1, _MANY, True), (1, 5 * _MANY, True), (4, _MANY // 4, True), (100, 4, False),
    (100, 500, False),
])  # fmt: skip
def test_bounds_of_many_queues_bound_nothing(
    queues: int, bound: int, tmp_path: Path, *, is_doubted: bool
) -> None:
    heap = HrpyHeap().variable("EVENTS", _OWNER)
    events = pages(heap)[1::2]
    rows = [0x200000 + 64 * at for at in range(queues)]
    heap.chunk(
        "collections.deque", rows, rest=[events[at::queues] for at in range(queues)],
        lengths=[_MANY // queues] * queues, flags=Flag.ELEMENTS | Flag.TEXTS,
        values=texts_of([f"maxlen {bound}"] * queues),
    )  # fmt: skip
    heap.dict(0x3000, {0x400000 + 64 * at: row for at, row in enumerate(rows)})
    heap.chunk("shop.Events", [_OWNER], named={"by_session": [0x3000]})

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} Page (")
    assert bool(found.doubts) == is_doubted
    ends = (
        "so it grows no further."
        if bound > _MANY
        else "so this may be its normal size."
    )
    assert all(doubt.endswith(ends) for doubt in found.doubts)


def test_both_fields_of_what_something_in_c_has_too_are_named(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("INDEX", _OWNER)
    ids = [_PAGES + 64 * number for number in range(_MANY)]
    heap.chunk("shop.Page", ids, size=600, counts=[4] * _MANY)
    heap.chunk("list", [0x3000], rest=[ids], lengths=[_MANY], flags=Flag.ELEMENTS)
    lists = [0x200000 + 64 * at for at in range(20)]
    heap.chunk(
        "list", lists, rest=[ids[at::20] for at in range(20)],
        lengths=[_MANY // 20] * 20, flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.chunk(
        "sortedcontainers.sorteddict.SortedDict", [0x3100], rest=[lists], lengths=[20],
        flags=Flag.OWNER | Flag.ELEMENTS,
    )  # fmt: skip
    heap.chunk(
        "shop.Index", [_OWNER], counts=[4],
        named={"pages": [0x3000], "by_price": [0x3100]},
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    assert set(found.cut.split(" and ")) == {
        "Index.pages -> list", "Index.by_price -> SortedDict",
    }  # fmt: skip
    assert "by others" not in found.sentence


@pytest.mark.parametrize(
    ("name", "field"),
    [("threading.Thread", "_target"), ("concurrent.futures._base.Future", "_result")],
)
def test_threads_and_futures_are_told_not_what_each_of_them_has(
    name: str, field: str, tmp_path: Path
) -> None:
    heap = HrpyHeap().variable("STARTED", _OWNER)
    kept = [0x200000 + 64 * at for at in range(_MANY)]
    values = [_PAGES + 64 * at for at in range(_MANY)]
    heap.chunk("list", [_OWNER], rest=[kept], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk(name, kept, size=80, named={field: values})
    heap.chunk("function", values, size=600)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"400 {name.rpartition('.')[2]} (")


def test_the_programs_own_field_is_named_where_a_librarys_has_the_objects(
    tmp_path: Path,
) -> None:
    """That it is a library's, the places of its code tell."""
    heap = HrpyHeap().variable("STORE", _OWNER)
    heap.chunk("shop.Store", [_OWNER], named={"db": [0x1100]})
    heap.chunk("fastdb.Client", [0x1100], named={"statements": [0x1200]})
    found = pages(heap)
    heap.dict(0x1200, dict(zip(found[::2], found[1::2], strict=True)))
    places = ["prepare (/srv/lib/python3.11/site-packages/fastdb/client.py:9)"]
    heap.chunk("code", [0x1300], flags=Flag.TEXTS, values=texts_of(places))

    suspect = suspect_of(heap, tmp_path)

    assert " in a map by Client.statements in Store.db, from " in suspect.sentence


@pytest.mark.parametrize(("texts", "is_record"), [(5, True), (2, False), (30, False)])
def test_records_are_told_not_the_texts_that_each_of_them_has(
    texts: int, tmp_path: Path, *, is_record: bool
) -> None:
    heap = HrpyHeap().variable("CITIES", _OWNER)
    rows = [0x200000 + 64 * at for at in range(_MANY)]
    words = [0x300000 + 64 * at for at in range(_MANY * texts)]
    heap.chunk("str", words, size=150)
    heap.chunk(
        "list", rows, size=90, rest=[words[at::_MANY] for at in range(_MANY)],
        lengths=[texts] * _MANY, flags=Flag.ELEMENTS,
    )  # fmt: skip
    keys = [0x800000 + 64 * at for at in range(_MANY)]
    heap.chunk("int", keys)
    heap.dict(0x3000, dict(zip(keys, rows, strict=True)))
    heap.chunk("shop.Cities", [_OWNER], named={"by_key": [0x3000]})

    found = suspect_of(heap, tmp_path)

    name = f"{_MANY} list (" if is_record else f"{_MANY * texts:,} str ("
    assert found.sentence.startswith(name)


def test_children_of_several_metrics_are_told_with_all_variables(
    tmp_path: Path,
) -> None:
    """A dict of each metric has them, whose keys are theirs, too: the rest of it."""
    heap = HrpyHeap()
    meters, child = [_OWNER, _OWNER + 64], _PAGES
    for meter, many in zip(meters, (3 * _MANY, _MANY), strict=True):
        ids = [child + 64 * at for at in range(many)]
        keys, child = [one + 0x1000000 for one in ids], child + 0x100000
        heap.chunk("tuple", keys, size=400)
        heap.chunk("shop.Meter", ids, size=600, named={"key": keys})
        heap.dict(meter + 0x2000, dict(zip(keys, ids, strict=True)))
    tables = [meter + 0x2000 for meter in meters]
    heap.chunk("shop.Meter", meters, named={"children": tables})
    for name, at in (("by_name", 0x8000), ("all", 0x8100)):
        heap.chunk("shop.Registry", [at + 64], named={name: [at]})
        heap.chunk("list", [at], rest=[meters], lengths=[2], flags=Flag.ELEMENTS)
    names = {0x100: meters[0], 0x140: meters[1], 0x180: 0x8040, 0x1C0: 0x8140}
    heap.texts([*names], ["SENT", "RETRIED", "REGISTRY", "SECOND"])
    heap.dict(0x200, names)
    heap.chunk(
        "module", [0x240], rest=[[0x200]], flags=Flag.OWNER | Flag.TEXTS,
        values=texts_of(["shop"]),
    )  # fmt: skip
    heap.module("shop", 0x240, 0x200)

    found = suspect_of(heap, tmp_path)

    assert found.cut == "Meter.children -> dict"
    assert found.sentence.startswith("1,600 Meter (")
    assert found.sentence.endswith(
        " are held in a map by Meter.children, from global variable shop.SENT and "
        "global variable shop.RETRIED."
    )


def test_futures_of_a_map_are_told_not_its_keys(tmp_path: Path) -> None:
    """A future leads to what it will have; its own size may be most of a map's."""
    heap = HrpyHeap().variable("SESSION", _OWNER)
    keys = [0x200000 + 64 * at for at in range(_MANY)]
    futures = [0x300000 + 64 * at for at in range(_MANY)]
    calls = [0x400000 + 64 * at for at in range(_MANY)]
    heap.chunk("uuid.UUID", keys, size=100)
    heap.chunk("method", calls, size=64)
    heap.chunk("_asyncio.Future", futures, size=150, named={"_callback": calls})
    heap.dict(0x3000, dict(zip(keys, futures, strict=True)))
    heap.chunk("shop.Session", [_OWNER], named={"replies": [0x3000]})

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} Future (")
    assert " are held in a map by Session.replies, from " in found.sentence
    assert not found.signs
    assert found.advice == "To free them, remove entries at Session.replies -> dict."


def test_a_timer_that_has_run_is_no_event_handler(tmp_path: Path) -> None:
    """Nor one to be cancelled: the loop has those that are scheduled."""
    heap = HrpyHeap().variable("HANDLES", _OWNER)
    held = pages(heap)[1::2]
    methods, handles = ([one + at for one in held] for at in (16, 32))
    heap.chunk("method", methods, named={"__self__": held})
    heap.chunk("asyncio.events.TimerHandle", handles, named={"_callback": methods})
    heap.chunk("list", [_OWNER], rest=[handles], lengths=[_MANY], flags=Flag.ELEMENTS)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.endswith(" are held in list shop.HANDLES.")
    assert found.advice.startswith("To free them, remove entries at global variable ")
    assert found.signs == (
        "None of their timers is scheduled: a timer that has run, or was cancelled, is "
        "held by the program alone.",
    )


@pytest.mark.parametrize("field", ["found", "gi_frame"])
def test_the_local_variable_of_a_generator_is_told(field: str, tmp_path: Path) -> None:
    heap = HrpyHeap().variable("RUNNING", 0x9000)
    held = pages(heap)[1::2]
    heap.chunk("list", [_OWNER], rest=[held], lengths=[_MANY], flags=Flag.ELEMENTS)
    heap.chunk(
        "generator", [0x9000], named={field: [_OWNER]}, flags=Flag.TEXTS,
        values=texts_of(["shop.search"]),
    )  # fmt: skip

    found = suspect_of(heap, tmp_path)

    of = "variable found of " if field == "found" else ""
    assert f" in a list by {of}generator shop.search, " in found.sentence
    assert found.cut.startswith("generator shop.search -> ")


def test_empty_sets_are_told_not_their_keys(tmp_path: Path) -> None:
    heap = HrpyHeap().variable("HUB", _OWNER)
    keys = [0x200000 + 64 * at for at in range(_MANY)]
    sets = [0x300000 + 64 * at for at in range(_MANY)]
    heap.chunk("str", keys, size=90)
    heap.chunk("set", sets, size=80)
    heap.dict(0x3000, dict(zip(keys, sets, strict=True)))
    heap.chunk("shop.Hub", [_OWNER], named={"listeners": [0x3000]})

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} set (")
    assert found.cut == "Hub.listeners -> dict"
