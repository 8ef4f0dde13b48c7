"""Bytes of columns that reading and analysing a heap takes, counted, not timed.

Numpy reports every array that Python makes to `tracemalloc`, and kernels make none of
their own; resident pages are at most these. Three heaps of the same shape separate
the bytes of an object from those of a reference.
"""

from __future__ import annotations

import gc
import importlib
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np

from ingest.analysis.distances import holding_references, search_roots
from ingest.analysis.dominators import dominator_tree, retained_sizes
from ingest.analysis.merged import merged_tree
from ingest.analysis.metrics import analyse
from ingest.analysis.preorder import preorder_of
from ingest.analysis.type_dominators import type_retained_bytes
from ingest.analysis.types import type_references
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from tests.dumps.clrprofiler import large_log, large_xml
from tests.dumps.dartheap import DartHeap
from tests.dumps.gcdump import large_dump
from tests.dumps.hprof import large_dump as large_hprof
from tests.dumps.hrpy import large_dump as large_hrpy
from tests.dumps.mlpd import large_log as large_mlpd
from tests.dumps.nettrace import large_trace
from tests.dumps.perfetto import large_trace as large_perfetto
from tests.dumps.pyheap import large_dump as large_pyheap
from tests.dumps.ruby import large_dump as large_ruby
from tests.dumps.v8 import large_snapshot as large_v8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.heap.graph import HeapGraph

SIZES = ((1 << 15, 1 << 17), (1 << 15, 1 << 18), (1 << 16, 1 << 17))
"""Objects and references. Tables have a power of two rows: so have these."""

_PIECE_BYTES = {"traverseheap": 64 << 10}
"""Pieces of a format, else `_SMALL_PIECE_BYTES`: XML has few objects in as much."""

_SMALL_PIECE_BYTES = 8 << 10
_TYPES = 50


class Cost(NamedTuple):
    """Bytes at the peak, beyond what was there before, each for one more."""

    per_object: float
    per_reference: float


@contextmanager
def _before(work: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """What a second processor does beside the rest, done before it."""
    value = work()
    yield lambda: value


def heap_text(objects: int, references: int, seed: int = 1) -> bytes:
    """A gclog without garbage: a wide tree, and references to anywhere."""
    rng = np.random.default_rng(seed)
    index = np.arange(1, objects)
    sources = np.concatenate(
        [index // 3, rng.integers(0, objects, references + 1 - objects)]
    )
    targets = np.concatenate(
        [index, rng.integers(0, objects, references + 1 - objects)]
    )
    order = np.argsort(sources, kind="stable")
    rows = np.split(targets[order], np.searchsorted(sources[order], index))
    lines = ["a 2 costs", *(f"t {t + 1:x} T{t}" for t in range(_TYPES))]
    for i, row in enumerate(rows):
        held = "".join(f" {j * 16 + 16:x}" for j in row.tolist())
        lines.append(f"o {i * 16 + 16:x} {i % _TYPES + 1:x} 10{held}")
    return "\n".join([*lines, "r 10 1 0", "c costs", ""]).encode()


@contextmanager
def _peak(found: dict[str, int], stage: str) -> Iterator[None]:
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    yield
    _, peak = tracemalloc.get_traced_memory()
    found[stage] = peak - before


def dart_bytes(objects: int, references: int, seed: int = 1) -> bytes:
    """A Dart snapshot without texts, of which the garbage is left in the graph."""
    rng = np.random.default_rng(seed)
    heap = DartHeap()
    heap.cls("Root")
    kind = heap.cls("Thing", "package:app/app.dart", ["one", "two"])
    held: list[list[int]] = [[] for _ in range(objects + 1)]
    for row in range(2, objects + 1):
        held[row // 3 + 1].append(row)
    sources = rng.integers(1, objects, references - objects)
    targets = rng.integers(2, objects, references - objects)
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        held[source].append(target)
    heap.obj("Root", 0, held[1])
    for row in range(2, objects + 1):
        heap.obj(kind, 16, held[row])
    heap.hashes = [1] * objects
    return heap.bytes()


WRITERS: dict[str, Callable[[int, int], bytes]] = {
    "gclog": heap_text,
    "clrprofiler": large_log,
    "traverseheap": large_xml,
    "nettrace": large_trace,
    "gcdump": large_dump,
    "dart": dart_bytes,
    "hprof": large_hprof,
    "v8": large_v8,
    "hrpy": large_hrpy,
    "pyheap": large_pyheap,
    "ruby": large_ruby,
    "perfetto": large_perfetto,
    "mlpd": large_mlpd,
}
"""A dump of so many objects and references, by the package that reads it."""


class _InPieces:
    """A source in pieces of so many bytes; what is read is not held."""

    name = "costs"
    truncated = False

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self._size = size

    def expect_values(self) -> None:
        """Nothing is compressed here."""

    def chunks(self, _progress: object, _size: int = 0) -> Iterator[bytes]:
        for at in range(0, len(self._data), self._size):
            yield self._data[at : at + self._size]


def read(package: str, objects: int, references: int) -> tuple[HeapGraph, int]:
    """The graph of a dump, and the bytes at the peak while it was read."""
    reader = importlib.import_module(f"ingest.readers.{package}.reader")
    data = WRITERS[package](objects, references)
    source: Any = _InPieces(data, _PIECE_BYTES.get(package, _SMALL_PIECE_BYTES))
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    # What waits for the collector, and when it runs, shall not be counted.
    gc.collect()
    gc.disable()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        graph = reader.read(source, ReadOptions(), silent)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        gc.enable()
        if not traced:
            tracemalloc.stop()
    return graph, peak


def cost_of(peak: Callable[[int, int], int]) -> Cost:
    """Bytes an object and a reference, from the peaks of three heaps."""
    peak(*(size // 64 for size in SIZES[0]))
    one, more_references, more_objects = (peak(*size) for size in SIZES)
    return Cost(
        (more_objects - one) / (SIZES[2][0] - SIZES[0][0]),
        (more_references - one) / (SIZES[1][1] - SIZES[0][1]),
    )


def reading(package: str) -> Cost:
    """The cost of reading a dump of a format, on one thread.

    Pieces and blocks are small beside these heaps, as they are beside large ones.
    """
    with (
        mock.patch("ingest.readers.gclog.pieces.thread_count", return_value=1),
        mock.patch("ingest.readers.v8.assembly.beside", _before),
        mock.patch("ingest.readers.v8.reader.one_ahead", iter),
        mock.patch("ingest.readers.shared.resolver.thread_count", return_value=1),
        mock.patch("ingest.readers.shared.resolver._BLOCK_REFERENCES", 1 << 12),
    ):
        return cost_of(lambda *size: read(package, *size)[1])


def peaks(objects: int, references: int) -> dict[str, int]:
    """Bytes at the peak of each stage of the analysis, for one heap."""
    graph, _ = read("gclog", objects, references)
    found: dict[str, int] = {}
    tracemalloc.start()
    try:
        with _peak(found, "distances"):
            strength = search_roots(graph).strength
        with _peak(found, "type references"):
            type_references(graph)
        with _peak(found, "dominators"):
            tree, search = dominator_tree(holding_references(graph, strength))
        with _peak(found, "retained"):
            retained_sizes(graph, tree)
        with _peak(found, "preorder"):
            preorder = preorder_of(graph, tree, search)
        with _peak(found, "type dominators"):
            type_retained_bytes(graph, preorder)
        dominator = tree.by_object()
        with _peak(found, "merged trees"):
            merged_tree(graph, dominator)
        del tree, search, preorder, dominator
        with _peak(found, "analysis"):
            analyse(graph)
    finally:
        tracemalloc.stop()
    return found


def measured() -> dict[str, Cost]:
    """The cost of each stage of the analysis; takes some seconds."""
    with mock.patch("ingest.analysis.metrics.beside", _before):
        # What is loaded and compiled once shall not be counted.
        peaks(*(size // 64 for size in SIZES[0]))
        one, more_references, more_objects = (peaks(*size) for size in SIZES)
    objects = SIZES[2][0] - SIZES[0][0]
    references = SIZES[1][1] - SIZES[0][1]
    return {
        stage: Cost(
            (more_objects[stage] - one[stage]) / objects,
            (more_references[stage] - one[stage]) / references,
        )
        for stage in one
    }
