"""Direct buffers, bitmaps and destroyed activities of Java and Android dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.hprof import BOOLEAN, INT, OBJECT, SYSTEM_CLASS, Hprof, jdk

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


def test_direct_buffers_own_memory_unless_they_are_views(tmp_path: Path) -> None:
    dump = jdk()
    dump.cls("java/nio/Buffer", 0x2000, _OBJECT, {"mark": INT, "capacity": INT})
    dump.cls("java/nio/ByteBuffer", 0x2010, "java/nio/Buffer", {"hb": OBJECT})
    fields = {"att": OBJECT, "cleaner": OBJECT}
    dump.cls("java/nio/DirectByteBuffer", 0x2020, "java/nio/ByteBuffer", fields)
    name = "java/nio/DirectByteBuffer"
    for address, cleaner, capacity in (
        (0x10000, 0x10100, 4096),
        (0x10040, 0, 4096),
        (0x10080, 0x10100, 0),
        (0x100C0, 0x10100, -5),
    ):
        dump.obj(address, name, cleaner=cleaner, capacity=capacity, mark=7)
    dump.obj(0x10100, _OBJECT)

    assert outside(graph_of(dump, tmp_path)) == {0x10000: ("direct buffer", 4096)}


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
