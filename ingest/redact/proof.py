"""Proof that a redacted copy has no secrets left, and the same heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.readers import open_source, read
from ingest.redact.secrets import found_in, left_in
from ingest.suspects.find import find_suspects
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress
    from ingest.redact import Redacted
    from ingest.suspects.suspect import Suspect

_COLUMNS = (
    "object_id", "type_index", "shallow_bytes", "ref_start", "ref_target", "ref_kind",
    "root_object", "root_kind", "root_flags", "length", "generation", "identity_hash",
)  # fmt: skip
_MEASURES = ("strength", "root_distance", "dominator", "retained_bytes",
             "instance_count", "type_retained_bytes")  # fmt: skip
_OF_SUSPECT = ("type_index", "object_count", "retained_bytes", "share", "object_index",
               "container_index", "pattern", "root_kind", "cut_step")  # fmt: skip


class ProofCheck(NamedTuple):
    """One property that was compared between a dump and its redacted copy.

    Attributes:
        what: The property, in words.
        of_dump: Its value in the dump.
        of_copy: Its value in the copy.
        holds: Whether both values are as redaction promises.
    """

    what: str
    of_dump: str
    of_copy: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """What was compared between a dump and its redacted copy.

    Attributes:
        checks: In their order.
        left: Secrets that the copy still has.
    """

    checks: tuple[ProofCheck, ...]
    left: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether all is as it should be."""
        return all(check.holds for check in self.checks)


class _MeasuredHeap(NamedTuple):
    graph: HeapGraph
    metrics: HeapMetrics
    suspects: tuple[Suspect, ...]


def _heap(dump: str, progress: Progress) -> _MeasuredHeap:
    with open_source(dump) as source:
        graph = read(source, ReadOptions(any_expansion=True), progress)
    metrics = analyse(graph, progress, origins=False)
    return _MeasuredHeap(graph, metrics, find_suspects(graph, metrics).suspects)


def prove(
    dump: str, copy: Path, made: Redacted, planted: Sequence[str], progress: Progress
) -> Proof:
    """Compare a dump with its copy.

    Memory: that of two heaps.

    Args:
        dump: The dump.
        copy: The copy.
        made: How it was made.
        planted: Texts that the copy must not have, of at least 8 bytes.
        progress: Receives all stages.

    Raises:
        DumpError: one of them cannot be read.
    """
    checks: list[ProofCheck] = []
    known = {text.encode() for text in planted}
    in_dump = left_in(dump, known, progress)
    found = found_in(dump, made.format, progress)
    left = left_in(str(copy), known | found, progress)
    if known:
        checks.append(
            ProofCheck("given secrets", f"{len(in_dump)} of {len(known)}",
                  f"{len(left & known)}", not left & known)
        )  # fmt: skip
    checks.append(
        ProofCheck("texts that look like secrets", f"{len(found):,}",
              f"{len(left & found):,}", not left & found)
    )  # fmt: skip
    before, after = _heap(dump, progress), _heap(str(copy), progress)
    checks += _compared(before, after)
    checks += _suspects(before, after)
    return Proof(
        tuple(checks), tuple(sorted(one.decode("utf-8", "replace") for one in left))
    )


def _compared(before: _MeasuredHeap, after: _MeasuredHeap) -> list[ProofCheck]:
    """Counts, columns and measures of the heap."""
    one, other = before.graph, after.graph
    found = [
        _check("objects", one.object_count, other.object_count),
        _check("references", len(one.ref_target), len(other.ref_target)),
        _check("roots", len(one.root_object), len(other.root_object)),
        _check("types", len(one.type_names), len(other.type_names)),
        _check("shallow bytes", int(one.shallow_bytes.sum()),
               int(other.shallow_bytes.sum())),
        _check("reachable bytes", before.metrics.reachable_bytes,
               after.metrics.reachable_bytes),
    ]  # fmt: skip
    for words, names, here, there in (
        ("addresses, types, sizes, lengths, references", _COLUMNS, one, other),
        ("distances, dominators, retained sizes", _MEASURES, before.metrics,
         after.metrics),
    ):  # fmt: skip
        different = [name for name in names if not _equal(here, there, name)]
        told = ", ".join(different) + " differ" if different else "equal"
        found.append(
            ProofCheck(words, f"{one.object_count:,} objects", told, not different)
        )
    return found


def _check(what: str, before: int, after: int) -> ProofCheck:
    return ProofCheck(what, f"{before:,}", f"{after:,}", before == after)


def _equal(one: object, other: object, name: str) -> bool:
    before, after = getattr(one, name, None), getattr(other, name, None)
    if before is None or after is None:
        return before is after
    return np.array_equal(before, after)


def _suspects(before: _MeasuredHeap, after: _MeasuredHeap) -> list[ProofCheck]:
    """Suspects, and their fingerprints where nothing in them is hidden."""
    pairs = list(zip(before.suspects, after.suspects, strict=False))
    same = sum(
        all(getattr(one, name) == getattr(other, name) for name in _OF_SUSPECT)
        for one, other in pairs
    )
    many = len(before.suspects)
    equal = sum(one.fingerprint == other.fingerprint for one, other in pairs)
    hidden = sum(
        one.fingerprint != other.fingerprint
        and _names(before.graph, one) != _names(after.graph, other)
        for one, other in pairs
    )
    told = f"{equal} equal"
    if hidden:
        told += f", {counted(hidden, 'with hidden names')}"
    return [
        ProofCheck("leak suspects: objects, bytes, holders, cuts", str(many),
              f"{same} equal", same == many == len(after.suspects)),
        ProofCheck("fingerprints of suspects", str(many), told, equal + hidden == many),
    ]  # fmt: skip


def _names(graph: HeapGraph, suspect: Suspect) -> tuple[object, ...]:
    """The names that a fingerprint is made of."""
    return (
        graph.type_names[suspect.type_index], suspect.holder, suspect.reference,
        suspect.root_name, suspect.cut,
    )  # fmt: skip
