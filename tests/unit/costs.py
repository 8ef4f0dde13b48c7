"""What reading and analysing a heap cost in bytes of columns, counted, not timed.

Numpy tells `tracemalloc` of every array that Python makes, and kernels make none of
their own; the pages that are resident are at most these. Three heaps of the same
shape tell the bytes of an object from those of a reference.
"""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import numpy as np

from ingest.analysis.distances import root_distances
from ingest.analysis.dominators import dominate, retained
from ingest.analysis.merged import merged
from ingest.analysis.metrics import analyse
from ingest.analysis.nesting import nest_of
from ingest.analysis.types import type_references
from ingest.analysis.typesets import type_retained_bytes
from ingest.heap.graph import Domain
from ingest.readers.gclog.assembly import Columns, assemble
from ingest.readers.gclog.pieces import Scanner
from ingest.readers.shared.irregularities import Report
from ingest.readers.shared.lines import whole_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.heap.graph import HeapGraph

SIZES = ((1 << 15, 1 << 17), (1 << 15, 1 << 18), (1 << 16, 1 << 17))
"""Objects and references. Tables have a power of two rows: so have these."""

_PIECE_BYTES = 256 << 10
_TYPES = 50


class Cost(NamedTuple):
    """Bytes at the peak, beyond what was there before, each for one more."""

    per_object: float
    per_reference: float


class _Now:
    """An executor that has done everything before anyone asks."""

    def __init__(self, _threads: int) -> None:
        pass

    def __enter__(self) -> _Now:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., object], *arguments: object) -> mock.Mock:
        value = work(*arguments)
        return mock.Mock(result=lambda: value)


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


def _read(text: bytes, found: dict[str, int]) -> HeapGraph:
    """The graph of ``text``: what all pieces hold, and the peak of all reading.

    The room that a thread scans in is as large for every heap, and left out.
    """
    before, _ = tracemalloc.get_traced_memory()
    cut = (text[at : at + _PIECE_BYTES] for at in range(0, len(text), _PIECE_BYTES))
    scanner = Scanner()
    pieces = list(scanner.scan(whole_lines(cut, "costs")))
    found["scanned pieces"] = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.reset_peak()
    report = Report(strict=True, name="costs")
    graph = assemble(Columns(pieces), scanner, (Domain("costs"),), report)
    found["reading"] = tracemalloc.get_traced_memory()[1] - before
    return graph


def peaks(objects: int, references: int) -> dict[str, int]:
    """Bytes at the peak of each stage, for one heap."""
    text = heap_text(objects, references)
    found: dict[str, int] = {}
    tracemalloc.start()
    try:
        graph = _read(text, found)
        with _peak(found, "distances"):
            root_distances(graph)
        with _peak(found, "type references"):
            type_references(graph)
        with _peak(found, "dominators"):
            tree, search = dominate(graph)
        with _peak(found, "retained"):
            held, _, _ = retained(graph, tree)
        with _peak(found, "places"):
            nest = nest_of(graph, tree, search)
        with _peak(found, "sets of types"):
            type_retained_bytes(graph, nest, held)
        dominator = tree.by_object()
        with _peak(found, "merged trees"):
            merged(graph, dominator)
        del tree, search, held, nest, dominator
        with _peak(found, "analysis"):
            analyse(graph)
    finally:
        tracemalloc.stop()
    return found


def measured() -> dict[str, Cost]:
    """The cost of each stage; takes some seconds."""
    with (
        mock.patch("ingest.readers.gclog.pieces.cores", return_value=1),
        mock.patch("ingest.readers.gclog.assembly.cores", return_value=1),
        mock.patch("ingest.analysis.metrics.ThreadPoolExecutor", _Now),
    ):
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
