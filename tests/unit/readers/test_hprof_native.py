"""Direct buffers, bitmaps and destroyed activities of Java and Android dumps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.hprof import (
    BOOLEAN,
    BYTE,
    HEAP_DUMP_END,
    INT,
    OBJECT,
    SEGMENT,
    SYSTEM_CLASS,
    Hprof,
    jdk,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

_OBJECT = "java/lang/Object"


def graph_of(dump: Hprof, folder: Path) -> HeapGraph:
    dump.root(SYSTEM_CLASS, 0x1000)
    path = folder / "x.hprof"
    path.write_bytes(dump.bytes())
    with open_source(str(path)) as source:
        return read(source, ReadOptions(), silent)


def outside(graph: HeapGraph) -> dict[int, tuple[str, int]]:
    """Memory outside the heap, by address."""
    found = graph.external
    if found is None:
        return {}
    columns = (found.object_index, found.name_index, found.size_bytes)
    return {
        int(graph.object_id[i]): (found.names[name], int(size))
        for i, name, size in zip(*columns, strict=True)
    }


def texts(graph: HeapGraph) -> dict[int, str]:
    assert graph.values is not None
    rows, values = graph.values.between(0, 1 << 30)
    return {int(graph.object_id[i]): v for i, v in zip(rows, values, strict=True)}


@pytest.mark.parametrize("id_size", [4, 8])
def test_direct_buffers_own_memory_unless_they_are_views_or_files(
    id_size: int, tmp_path: Path
) -> None:
    """The memory of Netty and of native code has no cleaner."""
    dump = jdk(id_size=id_size)
    dump.cls("java/nio/Buffer", 0x2000, _OBJECT, {"mark": INT, "capacity": INT})
    dump.cls("java/nio/ByteBuffer", 0x2010, "java/nio/Buffer", {"hb": OBJECT})
    mapped = {"fd": OBJECT, "isSync": BOOLEAN}
    dump.cls("java/nio/MappedByteBuffer", 0x2030, "java/nio/ByteBuffer", mapped)
    fields = {"att": OBJECT, "cleaner": OBJECT}
    dump.cls("java/nio/DirectByteBuffer", 0x2020, "java/nio/MappedByteBuffer", fields)
    other = 0x10300
    for address, given in (
        (0x10000, {"cleaner": other, "capacity": 4096}),
        (0x10040, {"capacity": 8192}),
        (0x10080, {"att": other, "capacity": 4096}),
        (0x100C0, {"cleaner": other}),
        (0x10100, {"cleaner": other, "capacity": -5}),
        (0x10140, {"cleaner": other, "fd": other, "capacity": 1 << 29}),
        (0x10180, {"att": other, "fd": other, "capacity": 1 << 29}),
    ):
        dump.obj(address, "java/nio/DirectByteBuffer", mark=7, **given)
    dump.obj(other, _OBJECT)

    assert outside(graph_of(dump, tmp_path)) == {
        0x10000: ("direct buffer", 4096),
        0x10040: ("direct buffer", 8192),
    }


@pytest.mark.parametrize("field", ["viewedBuffer", "att"])
def test_direct_buffers_of_jdk_6_and_android_own_what_they_free(
    field: str, tmp_path: Path
) -> None:
    dump = jdk()
    fields = {field: OBJECT, "cleaner": OBJECT, "capacity": INT, "memoryRef": OBJECT}
    if field == "viewedBuffer":
        del fields["memoryRef"]
    dump.cls("java/nio/DirectByteBuffer", 0x2020, _OBJECT, fields)
    name = "java/nio/DirectByteBuffer"
    dump.obj(0x10000, name, cleaner=0x10100, capacity=4096)
    dump.obj(0x10040, name, capacity=4096)
    dump.obj(0x10100, _OBJECT)

    assert outside(graph_of(dump, tmp_path)) == {0x10000: ("direct buffer", 4096)}


def _string(dump: Hprof, address: int, text: str, coder: int = 0) -> None:
    code = "utf-16-le" if coder else "latin-1"
    dump.obj(address, "java/lang/String", value=address + 32, coder=coder)
    dump.numbers(address + 32, BYTE, text.encode(code))


def test_long_texts_that_begin_alike_are_equal_only_if_all_of_them_is(
    tmp_path: Path,
) -> None:
    dump = jdk()
    same = "select " * 100
    given = {
        0x20000: (same + "1", 0), 0x30000: (same + "2", 0), 0x40000: (same + "1", 0),
        0x50000: (same + "1", 1), 0x60000: (same + "\u0142", 1),
        0x70000: (same * 50 + "1", 0), 0x80000: (same * 50 + "2", 0),
        0x100000: (same * 100 + "1", 0), 0x200000: (same * 100 + "2", 0),
    }  # fmt: skip
    for address, (text, coder) in given.items():
        _string(dump, address, text, coder)

    found = texts(graph_of(dump, tmp_path))

    assert found[0x20000] == found[0x40000] != found[0x30000]
    assert found[0x50000] != found[0x60000]
    assert found[0x70000] != found[0x80000]
    assert found[0x100000] == found[0x200000]  # whose first 64 KiB are equal
    for address, (_, coder) in given.items():
        text = found[address]
        assert len(text) == (128 if coder else 256)
        assert re.fullmatch(r"(select )+\w*\.\.\. #[0-9a-f]{12}", text), text


@pytest.mark.parametrize("filler", ["\0", "?"])
def test_texts_that_another_tool_has_removed_are_none(
    filler: str, tmp_path: Path
) -> None:
    dump = jdk()
    for i in range(40):
        _string(dump, 0x20000 + 0x100 * i, filler * (5 + i % 3))
    _string(dump, 0x10000, "kept")
    whole = jdk()
    for i in range(40):
        _string(whole, 0x20000 + 0x100 * i, f"text {i}")
    _string(whole, 0x10000, filler * 4)

    graph, other = graph_of(dump, tmp_path), graph_of(whole, tmp_path)

    assert graph.values is not None
    assert not set(texts(graph)) & set(range(0x10000, 0x30000))
    assert graph.notes[0].startswith("the texts were removed from this dump")
    assert "40 of 41" in graph.notes[0]
    assert texts(other)[0x20000] == "text 0"
    assert not any("removed" in note for note in other.notes)


def _of_koom(*, is_filled: bool) -> bytes:
    """A dump of Android whose arrays KOOM has cut, and perhaps filled again."""
    dump = jdk("1.0.3", 4)
    for i in range(30):
        dump.segment()
        dump.space(65, "app")
        _string(dump, 0x20000 + 0x100 * i, f"text {i % 2}")
        dump.numbers(0x50000 + 0x100 * i, INT, bytes(4000 + 4 * i))
        dump.root(SYSTEM_CLASS, 0x20000 + 0x100 * i)
    parts = [dump.head(), *dump.records]
    for subs in dump.segments:
        size = sum(map(len, subs))
        for at, one in enumerate(subs):
            if one[0] == 0x23:
                subs[at] = one[:14].ljust(len(one) if is_filled else 0, b"\0")
        parts.append(dump.record(SEGMENT, b"".join(subs), size))
    return b"".join([*parts, dump.record(HEAP_DUMP_END, b"")])


@pytest.mark.parametrize("is_filled", [False, True])
def test_a_dump_that_koom_has_cut_has_arrays_without_texts(
    is_filled: bool, tmp_path: Path
) -> None:
    path = tmp_path / "x.hprof"
    path.write_bytes(_of_koom(is_filled=is_filled))
    with open_source(str(path)) as source:
        graph = read(source, ReadOptions(strict=True), silent)

    assert graph.notes[0].startswith("KOOM removed the contents of primitive arrays")
    assert not set(texts(graph)) & set(range(0x20000, 0x60000))
    ids = graph.object_id.tolist()
    assert graph.shallow_bytes[ids.index(0x50100)] >= 4004
    assert graph.length is not None
    assert graph.length[ids.index(0x20000)] == len("text 0")


def test_bitmaps_have_pixels_outside_unless_in_an_array(tmp_path: Path) -> None:
    dump = jdk()
    fields = {"mBuffer": OBJECT, "mWidth": INT, "mHeight": INT}
    dump.cls("android/graphics/Bitmap", 0x2000, _OBJECT, fields)
    huge = 2**31 - 1
    for address, buffer, width, height in (
        (0x10000, 0, 100, 50),
        (0x10040, 0x10100, 100, 50),
        (0x10080, 0, huge, huge),
        (0x100C0, 0, 0, 50),
    ):
        values = {"mBuffer": buffer, "mWidth": width, "mHeight": height}
        dump.obj(address, "android/graphics/Bitmap", **values)
    dump.obj(0x10100, _OBJECT)
    graph = graph_of(dump, tmp_path)

    assert outside(graph) == {0x10000: ("bitmap", 20_000), 0x10080: ("bitmap", 2**42)}
    assert texts(graph)[0x10000] == "100 x 50"


def test_objects_say_that_their_work_is_done(tmp_path: Path) -> None:
    dump = jdk()
    fields = {"name": OBJECT, "isClosed": BOOLEAN, "closedBy": OBJECT}
    dump.cls("app/Session", 0x2000, _OBJECT, fields)
    dump.cls("app/AdminSession", 0x2010, "app/Session", {"finished": BOOLEAN})
    dump.cls("app/Other", 0x2020, _OBJECT, {"closed": OBJECT, "isOpen": BOOLEAN})
    dump.obj(0x10000, "app/Session", isClosed=1)
    dump.obj(0x10040, "app/Session", isClosed=0)
    dump.obj(0x10080, "app/AdminSession", isClosed=1, finished=0)
    dump.obj(0x100C0, "app/AdminSession", isClosed=0, finished=1)
    dump.obj(0x10100, "app/Other", closed=0x10000, isOpen=1)
    found = texts(graph_of(dump, tmp_path))

    ended = {at: text for at, text in found.items() if 0x10000 <= at <= 0x10100}
    assert ended == {0x10000: "closed", 0x10080: "closed"}


@pytest.mark.parametrize("is_old", [False, True])
def test_view_models_and_fragments_say_if_android_is_done_with_them(
    is_old: bool, tmp_path: Path
) -> None:
    dump = jdk("1.0.3", 4)
    state = "androidx/lifecycle/viewmodel/internal/ViewModelImpl"
    flag = {"isCleared": BOOLEAN}
    dump.cls(state, 0x2000, _OBJECT, {"lock": OBJECT} | flag)
    fields = {"mTags": OBJECT} | ({"mCleared": BOOLEAN} if is_old else {"impl": OBJECT})
    dump.cls("androidx/lifecycle/ViewModel", 0x2010, _OBJECT, fields)
    dump.cls("app/Cart", 0x2020, "androidx/lifecycle/ViewModel", {"items": OBJECT})
    fields = {"mCalled": BOOLEAN, "mFragmentManager": OBJECT}
    dump.cls("androidx/fragment/app/Fragment", 0x2030, _OBJECT, fields)
    dump.cls("app/Page", 0x2040, "androidx/fragment/app/Fragment", {"n": INT})
    for at, is_done in ((0x10000, 1), (0x20000, 0)):
        dump.obj(at, "app/Cart", impl=at + 0x100, mCleared=is_done, items=at)
        dump.obj(at + 0x100, state, isCleared=is_done)
        manager = 0 if is_done else at
        dump.obj(at + 0x200, "app/Page", mFragmentManager=manager, mCalled=1, n=7)
    dump.obj(0x30000, "app/Page")  # not attached yet
    dump.obj(0x30100, "app/Cart", items=0x10100)

    found = texts(graph_of(dump, tmp_path))

    assert {at: text for at, text in found.items() if 0x10000 <= at < 0x40000} == {
        0x10000: "cleared", 0x10100: "cleared", 0x10200: "destroyed",
    }  # fmt: skip


def test_activities_say_if_they_are_destroyed(tmp_path: Path) -> None:
    dump = jdk()
    fields = {"mTitle": OBJECT, "mDestroyed": BOOLEAN}
    dump.cls("android/app/Activity", 0x2000, _OBJECT, fields)
    dump.cls("app/Main", 0x2010, "android/app/Activity", {"view": OBJECT})
    dump.obj(0x10000, "app/Main", mDestroyed=1, view=0x10080)
    dump.obj(0x10040, "app/Main", mDestroyed=0, view=0x10080)
    dump.obj(0x10080, "android/app/Activity", mDestroyed=1)
    found = texts(graph_of(dump, tmp_path))

    assert {at for at, text in found.items() if text == "destroyed"} == {
        0x10000, 0x10080
    }  # fmt: skip
    assert 0x10040 not in found
