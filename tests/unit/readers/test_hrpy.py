"""The reader of CPython heaps against dumps that say what they hold."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import NO_FIELD, RootKind
from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers.hrpy import sniff
from ingest.readers.hrpy.chunks import NEVER, Flag
from ingest.readers.hrpy.reader import read
from ingest.tables.heap_tables import HeapTables
from tests.deep import cuts
from tests.dumps.hrpy import HrpyHeap, example, facts, program, record, texts_of
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    references,
    root_names,
    value,
)

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


def graph_of(
    heap: HrpyHeap | bytes, size: int = 1 << 20, **options: object
) -> HeapGraph:
    data = heap if isinstance(heap, bytes) else heap.bytes()
    asked = ReadOptions(**options)  # type: ignore[arg-type]
    return read(Pieces(data, size), asked, silent)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_all_of_a_heap_is_read(size: int) -> None:
    graph = graph_of(program(), size)

    assert graph.runtime == "python"
    assert graph.producer == "CPython 3.12.1"
    assert graph.missing_count == 0
    assert not graph.irregularities
    assert value(graph, 0x110) == "ключ"
    assert value(graph, 0x130) == "7"
    assert value(graph, 0x138) == "-5"
    assert value(graph, 0x140) == "2.5"
    assert value(graph, 0x210) == "app.cache"
    assert graph.type_name(by_id(graph)[0x400]) == "app.Session"
    assert references(graph, 0x300) == [
        (0x110, "(key)"), (0x400, "['ключ']"), (0x130, "(key)"), (0x410, "[7]"),
    ]  # fmt: skip
    assert references(graph, 0x600) == [(0x610, "[0]"), (0x400, "[1]")]
    assert references(graph, 0x210) == [(0x100, "(key)"), (0x300, "SESSIONS")]


def test_sizes_have_what_is_in_front_of_an_object_and_are_rounded() -> None:
    graph = graph_of(program(), fold=Fold.NONE)

    assert graph.shallow_bytes[by_id(graph)[0x400]] == 80  # 56 + 16, rounded
    assert graph.shallow_bytes[by_id(graph)[0x600]] == 32


def test_a_dict_of_one_object_becomes_part_of_it() -> None:
    graph = graph_of(program())

    assert 0x420 not in by_id(graph)
    assert references(graph, 0x400) == [(0x140, "user"), (0x500, None)]
    assert references(graph, 0x410) == [
        (0x500, None), (0x120, "(key)"), (0x140, "user"),
    ]  # fmt: skip
    assert graph.shallow_bytes[by_id(graph)[0x410]] == 80 + 64
    assert graph.folded.object_count == 2  # that of the module too
    whole = graph_of(program(), fold=Fold.NONE)
    assert references(whole, 0x410)[0] == (0x420, "__dict__")
    assert whole.shallow_bytes.sum() == graph.shallow_bytes.sum()
    assert whole.reference_count == graph.reference_count + 2


def test_a_dict_that_others_refer_to_stays() -> None:
    heap = program()
    heap.chunk("list", [0x700], rest=[[0x420]], lengths=[1], flags=4)

    assert references(graph_of(heap), 0x410)[0] == (0x420, "__dict__")


def test_what_modules_and_frames_have_are_roots_with_their_names() -> None:
    graph = graph_of(program())

    assert root_names(graph, 0x300) == ["static root app.cache.SESSIONS"]
    assert root_names(graph, 0x210) == ["static root app.cache"]
    assert root_names(graph, 0x600) == ["local root in work (app.py:3) rows"]
    assert graph.owners == ("MainThread",)


def test_what_nothing_found_refers_to_is_held_by_c_or_garbage() -> None:
    heap = program()
    heap.chunk("list", [0x800, 0x810], rest=[[], []], counts=[3, 2], flags=4,
        lengths=[0, 0])  # fmt: skip
    heap.chunk("set", [0x820], counts=[(1 << 32) - 1])
    graph = graph_of(heap)

    assert root_names(graph, 0x800) == ["runtime root"]
    assert root_names(graph, 0x810) == []
    assert 0x810 not in alive(graph)
    assert root_names(graph, 0x820) == ["internal root"]
    assert root_names(graph, 0x130) == []  # a number, which the interpreter has


def test_what_a_greenlet_has_on_its_stack_in_c_is_told_as_such() -> None:
    """Which is itself and its methods, as long as it waits."""
    heap = program()
    heap.chunk("shop.Green", [0x840], counts=[9], named={"gr_context": [0x830]})
    heap.chunk("method", [0x850], counts=[3], named={"__self__": [0x840]})
    heap.chunk("function", [0x830], counts=[9])
    graph = graph_of(heap)

    for row in (0x840, 0x850):
        assert root_names(graph, row) == ["runtime root stack of a greenlet"]
    assert root_names(graph, 0x830) == ["runtime root"]


def test_what_c_holds_at_a_known_place_has_its_name() -> None:
    heap = program()
    heap.roots["held"] = [["handler of signal 10", 0x830], ["nowhere", 0x999]]
    heap.chunk("Context", [0x810, 0x820], counts=[3, 2])
    heap.chunk("function", [0x830], counts=[2])
    graph = graph_of(heap)

    assert root_names(graph, 0x810) == ["runtime root context of a thread"]
    assert root_names(graph, 0x820) == []
    assert root_names(graph, 0x830) == ["runtime root handler of signal 10"]


def test_what_nothing_refers_to_in_a_copy_was_held_by_another_thread() -> None:
    heap = program()
    heap.dict(0x800, {0x100: 0x810}, counts=[2])
    heap.chunk("app.Session", [0x810])
    assert root_names(graph_of(heap), 0x800) == []
    heap.roots["threads"] *= 2
    graph = graph_of(heap)
    assert root_names(graph, 0x800) == ["runtime root another thread"]
    assert 0x810 in alive(graph)
    heap.header["mode"] = "stop"
    assert root_names(graph_of(heap), 0x800) == []


def test_values_of_contexts_are_named_by_their_variables() -> None:
    heap = program()
    names = texts_of(["user", "request", None])
    heap.chunk("ContextVar", [0x700, 0x708, 0x710], flags=Flag.TEXTS, values=names)
    heap.chunk(
        "hamt_bitmap_node", [0x800, 0x810],
        rest=[[0x810, 0x400, 0x700, 0x700, 0x708], [0x410, 0x710, 0x400, 0x400, 0x700]],
    )  # fmt: skip
    graph = graph_of(heap)

    assert references(graph, 0x800) == [
        (0x810, None), (0x400, "user"), (0x700, "(key)"), (0x700, "request"),
        (0x708, "(key)"),
    ]  # fmt: skip
    assert references(graph, 0x810) == [
        (0x410, "(variable)"), (0x710, "(key)"), (0x400, None), (0x400, None),
        (0x700, None),
    ]  # fmt: skip


def test_memory_outside_of_the_heap_has_its_objects() -> None:
    heap = program()
    kept = struct.pack("<3Q", 70, 0, 4096)
    heap.chunk("mmap.mmap", [0x800, 0x810, 0x820], flags=Flag.OUTSIDE, values=kept)
    kept = struct.pack("<2Q", 9, 11)
    again = [0x7F0, 0x800]
    heap.chunk("numpy.ndarray", again, flags=Flag.OUTSIDE, values=kept)
    graph = graph_of(heap)
    tables = HeapTables(graph, analyse(graph))
    found = tables.part("objects", 0, graph.object_count)

    told = {
        ident: (name, size)
        for ident, name, size in zip(
            graph.object_id.tolist(), found["external_name"], found["external_bytes"],
            strict=True,
        )
        if size is not None
    }  # fmt: skip
    assert told == {
        0x7F0: ("data of an array", 9), 0x800: ("mapped memory", 70),
        0x820: ("mapped memory", 4096),
    }  # fmt: skip
    assert graph.external_bytes == 4175


def test_memory_of_tensors_is_named_by_its_device() -> None:
    heap = program()
    devices = texts_of(["cpu", None, "cuda:0"]) + struct.pack("<3Q", 8, 16, 32)
    heap.chunk(
        "torch.storage.UntypedStorage", [0x800, 0x810, 0x820],
        flags=Flag.TEXTS | Flag.OUTSIDE, values=devices,
    )  # fmt: skip
    external = graph_of(heap).external

    assert external is not None
    names = [external.names[at] for at in external.name_index]
    assert list(zip(external.size_bytes.tolist(), names, strict=True)) == [
        (8, "tensors on cpu"), (16, "tensors on "), (32, "tensors on cuda:0"),
    ]  # fmt: skip


def test_objects_have_the_sites_where_they_were_made() -> None:
    heap = program()
    heap.records.append(facts(b"SITE", [["a.py:3", "b.py:9"], ["a.py:7"]]))
    sites = struct.pack("<3I", 1, NEVER, 0)
    heap.chunk("list", [0x800, 0x810, 0x820], flags=Flag.SITES, values=sites)
    graph = graph_of(heap)
    tables = HeapTables(graph, analyse(graph))
    found = tables.part("objects", 0, graph.object_count)

    assert graph.history is not None
    told = dict(zip(graph.object_id.tolist(), found["site"].to_list(), strict=True))
    assert [told[i] for i in (0x800, 0x810, 0x820, 0x400)] == [1, None, 0, None]
    rows = tables.part("allocation_sites", 0, 2)
    assert rows["name"].to_list() == ["a.py:3", "a.py:7"]
    assert rows["stack"].to_list() == ["a.py:3 < b.py:9", "a.py:7"]
    assert found["collections_survived"].to_list() == [None] * graph.object_count


def test_frames_that_are_objects_are_not_counted_twice() -> None:
    heap = program()
    heap.header["frames_are_objects"] = True
    held = np.flatnonzero(graph_of(heap).root_kind == RootKind.RUNTIME)

    # Its list is referred to once, which no object explains.
    assert len(held) == 1 + np.count_nonzero(
        graph_of(program()).root_kind == RootKind.RUNTIME
    )


def test_an_object_of_several_modules_is_first_under_its_own_name() -> None:
    heap = HrpyHeap()
    heap.texts([0x10, 0x18], ["work", "alias"])
    heap.chunk("function", [0x100], flags=32, values=_texts("lib.work"), counts=[4])
    heap.dict(0x200, {0x18: 0x100}).dict(0x300, {0x10: 0x100})
    heap.module("lib", 0x100, 0x300).module("app", 0x100, 0x200)
    graph = graph_of(heap)

    assert root_names(graph, 0x100)[:2] == [
        "static root lib.work",
        "static root app.alias",
    ]


def test_variables_of_a_module_with_two_names_have_that_of_main() -> None:
    """In a spawned process classes say that they are of the module's second name."""
    heap = HrpyHeap()
    heap.texts([0x10], ["work"])
    texts = _texts("__mp_main__.work")
    heap.chunk("function", [0x100], flags=32, values=texts, counts=[4])
    heap.dict(0x200, {0x10: 0x100})
    heap.module("__main__", 0x100, 0x200).module("__mp_main__", 0x100, 0x200)

    names = root_names(graph_of(heap), 0x100)
    assert [name for name in names if "work" in name] == ["static root __main__.work"]


def _texts(*texts: str) -> bytes:
    from tests.dumps.hrpy import texts_of

    return texts_of(texts)


def test_what_c_keeps_for_a_module_is_not_its_variables() -> None:
    """As the cache of pointer types of ``_ctypes``."""
    heap = HrpyHeap().texts([0x110], ["CACHE"]).dict(0x200, {0x110: 0x300})
    heap.dict(0x300, {}).dict(0x400, {})
    heap.chunk(
        "module", [0x100], rest=[[0x400, 0x200]], flags=Flag.OWNER | Flag.TEXTS,
        counts=[2], values=texts_of(["lib"]),
    )  # fmt: skip
    graph = graph_of(heap.module("lib", 0x100, 0x200))
    module = graph.object_id.tolist().index(0x100)
    rows = range(*graph.ref_start[module : module + 2].tolist())
    fields = {int(graph.object_id[graph.ref_target[row]]): row for row in rows}

    assert graph.field_name(fields[0x400]) is None


@pytest.mark.parametrize("is_told", [True, False])
def test_a_dict_that_c_keeps_for_an_object_is_not_its_own(is_told: bool) -> None:
    """As those that a cache of functions has as results: they may be of any number."""
    heap = HrpyHeap().texts([0x110, 0x120], ["mine", "page"])
    heap.dict(0x200, {0x110: 0x110}).dict(0x300, {0x120: 0x120}).dict(0x400, {})
    heap.chunk(
        "functools._lru_cache_wrapper", [0x100], counts=[3],
        named={"__dict__": [0x200]} if is_told else {},
        rest=[[0x300, 0x400] if is_told else [0x300, 0x400, 0x200]],
        flags=0 if is_told else Flag.OWNER,
    )  # fmt: skip

    own = [(0x110, "(key)"), (0x110, "mine")] if is_told else [(0x200, None)]
    kept = [(0x300, None), (0x400, None)]
    assert references(graph_of(heap), 0x100) == kept + own


def test_large_dicts_are_named_by_position() -> None:
    heap = HrpyHeap()
    keys = [0x10000 + 16 * i for i in range(1001)]
    heap.texts(keys, [f"key {i}" for i in range(1001)])
    heap.chunk("app.Thing", [0x100])
    heap.dict(0x200, dict.fromkeys(keys, 0x100))
    graph = graph_of(heap)

    assert references(graph, 0x200)[-1] == (0x100, "[1000]")


def test_halves_of_characters_in_names_are_replaced() -> None:
    heap = HrpyHeap()
    heap.chunk("app.\ud800", [0x100], named={"a\udfff": [0x100]})
    graph = graph_of(heap)

    assert graph.type_names[0] == "app.\ufffd"
    assert references(graph, 0x100) == [(0x100, "a\ufffd")]


def test_an_id_twice_and_a_reference_to_nothing_are_counted() -> None:
    heap = program()
    heap.chunk("list", [0x600], rest=[[0x9990]], lengths=[1], flags=4)
    heap.chunk("list", [0x900], rest=[[0x9990]], lengths=[1], flags=4)
    graph = graph_of(heap)

    found = {entry.kind: entry.count for entry in graph.irregularities}
    assert found == {"repeated_object": 1, "missing_object": 1}
    with pytest.raises(MalformedDump, match=r"(repeated|missing) object"):
        graph_of(heap, strict=True)


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused() -> None:
    data = example()
    seen = set()
    for end in cuts(8, len(data), every=29):
        try:
            graph = graph_of(data[:end])
        except DumpError:
            seen.add("refused")
            continue
        kinds = [entry.kind for entry in graph.irregularities]
        assert "truncated_record" in kinds
        assert "ends too early" in graph.incomplete
        seen.add("read")
    assert seen == {"refused", "read"}


def test_no_end_is_an_end_too_early() -> None:
    data = program().bytes(ended=False)

    assert "ends too early" in graph_of(data).incomplete
    with pytest.raises(TruncatedDump):
        graph_of(data, strict=True)


def _patched(**changes: int) -> bytes:
    """The last chunk of the example with other numbers in its head."""
    heap = program()
    at = max(i for i, r in enumerate(heap.records) if r.startswith(b"OBJS"))
    head = ["type", "flags", "count", "extra", "width", "fixed", "low", "high"]
    data = bytearray(heap.records[at])
    for name, number in changes.items():
        place = 12 + 4 * head.index(name)
        data[place : place + 4] = number.to_bytes(4, "little")
    heap.records[at] = bytes(data)
    return heap.bytes()


def _with_outside(size: int) -> bytes:
    kept = struct.pack("<Q", size)
    heap = program().chunk("mmap.mmap", [0x800], flags=Flag.OUTSIDE, values=kept)
    return heap.bytes()


def _with_sites(site: int) -> bytes:
    heap = program()
    heap.records.append(facts(b"SITE", [["a.py:3"]] * 5))
    sites = struct.pack("<I", site)
    return heap.chunk("list", [0x800], flags=Flag.SITES, values=sites).bytes()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (_patched(count=10**9), "claims 1,000,000,000 objects"),
        (_patched(low=0xFFFFFFFF), "claims 1 object"),
        (_patched(width=0xFFFFFFFF), "claims 1 object"),
        (_patched(type=99), "type that is not declared"),
        (_patched(flags=1 << 20), "unknown flags"),
        (_with_outside((1 << 64) - 1), "more than any memory"),
        (_patched(flags=8 + 2), "more elements than references"),
        (_patched(flags=4), "more elements than references|no lengths|longer than"),
        (_patched(fixed=7), "claims 1 reference"),
        (_patched(extra=0xFFFFFFF0), None),
        (_patched(flags=4 + 2 + 32), "shorter than its"),
        (example()[:8] + record(b"HEAD", b"{"), "not JSON"),
        (example()[:8] + record(b"HEAD", b"[]"), "HEAD lacks"),
        (example()[:8] + record(b"HEAD", b'{"align_bytes": 0}'), "HEAD lacks"),
        (example()[:8] + record(b"HEAD", b"[" * 100_000), "not JSON"),
        (example()[:8] + facts(b"TYPE", [[5, 1, "x"]]), "TYPE lacks"),
        (example()[:8] + facts(b"TYPE", [[0, -1, "x"]]), "TYPE lacks"),
        (example()[:8] + facts(b"TYPE", [[0, 1, None]]), "TYPE lacks"),
        (example()[:8] + facts(b"NAME", [3]), "NAME lacks"),
        (example()[:8] + facts(b"SITE", [3]), "SITE lacks"),
        (example()[:8] + facts(b"SITE", [[3]]), "SITE lacks"),
        (_with_sites(5), "a site that is not declared"),
        (example()[:8] + facts(b"ROOT", {"modules": [1]}), "ROOT lacks"),
        (example()[:8] + facts(b"ROOT", {"threads": [{}]}), "ROOT lacks"),
        (example()[:8] + facts(b"ROOT", {"held": [[1, 2]]}), "ROOT lacks"),
        (example()[:8] + facts(b"DONE", {"objects": 0}), "no objects"),
        (example()[:8] + b"\0\0\0\0" + bytes(8), "invalid tag"),
        (b"\x89HRPY\r\n\x02", "version 2 of the format"),
    ],
)
def test_what_contradicts_the_format_is_refused_with_its_byte(
    data: bytes, text: str | None
) -> None:
    if text is None:
        assert graph_of(data).object_count
        return
    with pytest.raises(MalformedDump, match=text) as told:
        graph_of(data)
    assert told.value.offset


def test_a_wrong_total_is_refused() -> None:
    data = program().bytes(ended=False) + facts(b"DONE", {"objects": 3})

    with pytest.raises(MalformedDump, match="claims 3"):
        graph_of(data)


def test_a_record_of_another_writer_is_skipped_and_counted() -> None:
    data = program().bytes(ended=False) + facts(b"MORE", {})
    data += facts(b"DONE", {"objects": program().objects})
    kinds = [entry.kind for entry in graph_of(data).irregularities]

    assert kinds == ["unknown_record"]


def test_no_facts_of_the_header_are_needed() -> None:
    heap = program()
    heap.header = {"python": ["x"], "own_references": "2", "immortal_references": -1}
    graph = graph_of(heap)

    assert graph.producer == "CPython"
    assert graph.ref_field is not None
    assert NO_FIELD in graph.ref_field


def test_threads_that_ran_meanwhile_are_told() -> None:
    heap = program()
    heap.header["mode"] = "stop"
    assert not graph_of(heap).notes
    heap.roots["threads"] *= 2
    assert "other threads" in graph_of(heap).notes[0]


def test_what_objects_do_not_explain_of_the_memory() -> None:
    heap, mib = program(), 1 << 20
    memory = {"resident": 900 * mib, "anonymous": 700 * mib, "swapped": 100 * mib}
    heap.header["memory"] = memory
    (note,) = graph_of(heap).notes
    assert "explain 0% of the 800 MiB" in note
    assert note.endswith("the rest is of libraries in C, or free in an allocator.")
    memory |= {"arenas": 90 * mib, "blocks": 50 * mib, "malloc": 600 * mib}
    memory["malloc_free"] = 200 * mib
    (note,) = graph_of(heap).notes
    assert note.endswith(
        "the rest is 40.0 MiB free in CPython's allocator and 200 MiB free in the C "
        "library's, and 560 MiB of libraries in C."
    )
    heap.header["memory"] = {"anonymous": "much", "swapped": 1 << 70, "resident": -1}
    assert not graph_of(heap).notes


def test_what_a_frame_gives_to_the_one_that_it_calls_is_not_held_by_c() -> None:
    """Its stack refers to that, too, which CPython before 3.11 tells nobody."""
    heap = HrpyHeap()
    heap.header["frames_are_objects"] = True
    heap.texts([0x10], ["text"])
    own = heap.header.get("own_references", 0)
    heap.chunk("list", [0x100, 0x110], counts=[own + 2, own + 3])
    heap.chunk(
        "frame", [0x200], named={"f_code": [0x10], "given": [0x100], "more": [0x110]}
    )
    graph = graph_of(heap)
    held = graph.root_object[graph.root_kind == RootKind.RUNTIME]

    assert 0x100 not in graph.object_id[held]
    assert 0x110 in graph.object_id[held]


def test_a_local_that_an_inner_function_captures_is_of_its_frame() -> None:
    """The frame has a cell with it, which is held by C only if more refer to it."""
    heap = program()
    own = heap.header["own_references"]
    heap.chunk(
        "cell", [0x900, 0x910, 0x920], counts=[own + 1, own + 2, own + 1],
        named={"cell_contents": [0x600, 0x600, 0x400]},
    )  # fmt: skip
    graph = graph_of(heap)

    assert root_names(graph, 0x600) == ["local root in work (app.py:3) rows"]
    assert root_names(graph, 0x900) == ["local root"]
    assert root_names(graph, 0x910) == ["runtime root"]
    assert root_names(graph, 0x920) == ["runtime root"]  # with what is no local


def test_methods_that_run_or_end_a_with_are_of_their_frames() -> None:
    """Its stack has them, and C has others, such as those to call at exit."""
    heap = program()
    names = ("Rows.work", "Rows.__exit__", "Rows.close")
    heap.chunk(
        "function", [0x900, 0x910, 0x920], flags=32, counts=[9] * 3,
        values=_texts(*(f"app.{name}" for name in names)),
    )  # fmt: skip
    heap.chunk(
        "method", [0xA00, 0xA10, 0xA20, 0xA30],
        counts=[heap.header["own_references"] + 1] * 4,
        named={
            "__func__": [0x900, 0x910, 0x920, 0x900],
            "__self__": [0x600, 0x600, 0x600, 0x400],
        },
    )  # fmt: skip
    graph = graph_of(heap)

    assert [root_names(graph, at) for at in (0xA00, 0xA10, 0xA20, 0xA30)] == [
        ["local root"], ["local root"], ["runtime root"], ["runtime root"],
    ]  # fmt: skip


def test_a_format_is_told_by_its_first_bytes() -> None:
    assert sniff(example()[:64])
    assert not sniff(b"HRPY")
    assert json.loads(json.dumps(program().header))["version"] == 1
