"""A small known Dart heap: fields, values, closures, isolates, external memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.dartheap import DartHeap, latin1, named, sized, utf16

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

_KINDS = (
    ("Root", "", ()),
    ("Isolate", "", ("_cache", "_first", "_closures")),
    ("Class", "", ("name_", "library_")),
    ("Library", "", ("name_", "url_")),
    ("Field", "", ("name_", "owner_", "type_", "host_offset_or_field_id_")),
    ("Function", "", ("name_", "owner_")),
    ("Context", "", ("parent_",)),
    ("_Smi", "dart:core", ()),
    ("_List", "dart:core", ("type_arguments_", "length_")),
    ("_Closure", "dart:core", ("function_", "context_")),
    ("_OneByteString", "dart:core", ()),
    ("_TwoByteString", "dart:core", ()),
    ("_WeakReference", "dart:core", ("target_",)),
    ("Cache", "package:app/cache.dart", ("entries", "spare", "name")),
    ("Node", "package:app/list.dart", ("next", "text")),
    ("Ring", "package:app/list.dart", ("next", "a b")),
)
CACHE = 5
LIST = 6
NODES = (7, 8, 9)
TEXTS = (10, 11, 12, 13, 14)
CLOSURES = (15, 16, 17)


def dart_heap() -> HeapGraph:
    """Two isolates: one has the cache and a list, the other some closures."""
    heap = DartHeap()
    for name, library, fields in _KINDS:
        heap.cls(name, library, fields)
    heap.obj("Root", 0, [2, 3, 22])
    heap.obj("Isolate", 0, [5, 7, 0], named("11"))
    heap.obj("Isolate", 0, [0, 0, 4, 7, 23], named("12"))
    heap.obj("_List", 48, [0, 0, 15, 16, 17], sized(3))
    heap.obj("Cache", 32, [6, 6, 10])
    heap.obj("_List", 400, [0, 0, 10, 11, 12, 0, 13], sized(5))
    heap.obj("Node", 24, [8, 10])
    heap.obj("Node", 25, [9, 11])
    heap.obj("Node", 26, [0, 14])
    for text in ("alike", "alike", "alike"):
        heap.obj("_OneByteString", 32, data=latin1(text))
    heap.obj("_OneByteString", 33, data=latin1("alike", 5))
    heap.obj("_TwoByteString", 60, data=utf16("ℵ alone"))
    heap.obj("_Closure", 40, [18, 20])
    heap.obj("_Closure", 40, [18, 21])
    heap.obj("_Closure", 41, [19, 21])
    heap.obj("Function", 70, [10, 22], named("onEvent"))
    heap.obj("Function", 71, [10, 22], named("<anonymous closure>"))
    heap.obj("Context", 50, [0, 25])
    heap.obj("Context", 51, [20, 26, 24])
    heap.obj("Class", 90, [10, 0], named("Cache"))
    heap.obj("_WeakReference", 16, [24])
    heap.obj("Ring", 17, [24, 25])
    heap.obj("Ring", 18, [24, 24])
    heap.obj("_OneByteString", 900, data=latin1("x" * 128, 880))
    heap.obj("Ring", 19, [28, 14])  # garbage
    heap.obj("_OneByteString", 34, data=latin1("dead"))
    heap.outside(24, 5000, "Picture")
    heap.outside(27, 7000, "Buffer")
    heap.outside(5, 10, "Handle")
    heap.hashes = [0] * 4 + [7] + [0] * 23
    with TemporaryDirectory() as folder:
        path = Path(folder) / "dump.dartheap"
        path.write_bytes(heap.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(strict=True), silent)
