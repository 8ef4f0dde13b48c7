"""Summary of a dump, computed from its columns without a database."""

from __future__ import annotations

from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np

from ingest.heap.completeness import Irregularity
from ingest.heap.graph import NO_DOMAIN, RefKind, RootFlag, RootKind
from ingest.queries.answer import Answer
from ingest.reports.render import cell, folded, table_text
from ingest.reports.report_panels import liveness
from ingest.reports.sites import largest_sites, sites_text
from ingest.reports.suspects import (
    next_step,
    notes,
    of_heap,
    smaller_text,
    suspects_text,
)
from ingest.runtimes import TypeClass, named
from ingest.suspects.find import find_suspects
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.find import Findings
    from ingest.words.text import Captions


_NOTABLE_SHARE = 0.01
"""All types of the program that retain this share of the heap are listed first."""

_BLOCK = 1 << 16
"""Objects in a slice, in which the largest are searched."""


def facts(
    graph: HeapGraph,
    metrics: HeapMetrics,
    source: str,
    sha256: str,
    top: int,
    *,
    own: Sequence[str] = (),
    estimated: Mapping[str, int] = MappingProxyType({}),
    estimated_types: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> dict[str, object]:
    """Return the output of ``info`` as values for JSON.

    Args:
        graph: The heap.
        metrics: Its metrics.
        source: Path of the file.
        sha256: Digest of the decompressed file, hexadecimal.
        top: How many objects and types to list.
        own: Patterns of types that are the program's own.
        estimated: Estimates for the heap if the dump is a sample, by name.
        estimated_types: Estimates for each type, by name.
    """
    findings = find_suspects(graph, metrics, own)
    weak = int(np.count_nonzero(RootFlag.WEAK.is_in(graph.root_flags)))
    return {
        "source": source,
        "sha256": sha256,
        "format": graph.format_name,
        "runtime": graph.runtime or None,
        "incomplete": graph.incomplete or None,
        "producer": graph.producer or None,
        "notes": list(graph.notes),
        "part": None if graph.part is None else graph.part.number,
        "parts": _parts(graph),
        "objects": graph.object_count,
        "types": len(graph.type_names),
        "references": graph.reference_count,
        "null_references": graph.null_reference_count,
        "missing_objects": graph.missing_count,
        "roots": len(graph.root_object),
        "weak_roots": weak,
        "root_kinds": _root_kinds(graph),
        "shallow_bytes": int(graph.shallow_bytes.sum()),
        "reachable_objects": metrics.reachable_count,
        "reachable_bytes": metrics.reachable_bytes,
        "strength_policy": str(metrics.policy),
        "soft_only_objects": metrics.count_by_strength[RefKind.SOFT],
        "soft_only_bytes": metrics.bytes_by_strength[RefKind.SOFT],
        "weak_only_objects": metrics.weak_only_count,
        "weak_only_bytes": metrics.weak_only_bytes,
        "external_bytes": graph.external_bytes,
        "estimated_objects": estimated.get("estimated_count"),
        "estimated_bytes": estimated.get("estimated_bytes"),
        "folded_objects": graph.folded.object_count,
        "folded_bytes": graph.folded.shallow_bytes,
        "folded_references": graph.folded.reference_count,
        "domains": _domains(graph),
        "warnings": {i.kind: i.count for i in graph.irregularities},
        "warning_lines": {i.kind: i.line for i in graph.irregularities},
        "warning_offsets": {i.kind: i.offset for i in graph.irregularities},
        "type_retained_exact": metrics.type_retained_exact,
        "top_retained": [
            {
                "address": graph.address(index),
                "type": graph.type_name(index),
                "retained_bytes": int(metrics.retained_bytes[index]),
            }
            for index in _largest(metrics.retained_bytes, graph, top)
        ],
        "top_types": _top_types(graph, metrics, top, estimated_types, own),
        "metadata_bytes": findings.metadata_bytes,
        "garbage_types": list(findings.garbage),
        "generated_classes": list(findings.generated),
        "suspects": of_heap(graph, findings.suspects),
        "smaller_groups": of_heap(graph, findings.smaller),
        "allocation_sites": largest_sites(graph, metrics, top),
    }


def _root_kinds(graph: HeapGraph) -> dict[str, int]:
    """How many roots there are of each kind, by its label."""
    kinds = np.unique(graph.root_kind, return_counts=True)
    counts = {
        RootKind(kind).label: int(count) for kind, count in zip(*kinds, strict=True)
    }
    return dict(sorted(counts.items()))


def _domains(graph: HeapGraph) -> list[dict[str, object]]:
    """The domains of the program, as values for JSON."""
    return [
        {
            "name": domain.name,
            "started_ms": domain.started_ms,
            "ended_ms": domain.ended_ms,
            "duration_ms": domain.duration_ms,
            "complete": domain.complete,
        }
        for domain in graph.domains
    ]


def _parts(graph: HeapGraph) -> list[dict[str, object]]:
    """The dumps of the file, if files of the format may have several."""
    if graph.part is None:
        return []
    parts = [graph.part, *graph.other_parts]
    return [
        {
            "number": part.number,
            "objects": part.object_count,
            "process": part.process or None,
            "is_read": part is graph.part,
        }
        for part in sorted(parts, key=lambda part: (part.process, part.number))
    ]


def _largest(values: NDArray[np.int64], graph: HeapGraph, top: int) -> list[int]:
    """Return the rows of the largest positive values; ties by object id."""
    found, least = np.empty(0, np.int64), 1
    for begin in range(0, len(values) if top else 0, _BLOCK):
        rows = begin + np.flatnonzero(values[begin : begin + _BLOCK] >= least)
        if len(rows):
            rows = np.concatenate([found, rows])
            order = np.lexsort((rows, graph.object_id[rows], -values[rows]))
            found = rows[order[:top]]
            if len(found) == top:
                least = int(values[found[-1]])
    return found.tolist()


def _top_types(
    graph: HeapGraph,
    metrics: HeapMetrics,
    top: int,
    estimated: Mapping[str, Sequence[int]],
    own: Sequence[str],
) -> list[dict[str, object]]:
    """The types that retain most, those of the program before the runtime's own.

    Small types of the program take at most half of the rows, and the runtime's metadata
    is left out.
    """
    retained = metrics.type_retained_bytes
    classes = named(graph.runtime).type_classes(graph.type_names, own)
    order = np.argsort(-retained, kind="stable")
    order = order[classes[order] != TypeClass.METADATA]
    own_rows = order[classes[order] == TypeClass.PROGRAM]
    large = retained[own_rows] >= _NOTABLE_SHARE * metrics.reachable_bytes
    first = own_rows[: max(int(np.count_nonzero(large)), top // 2)]
    order = np.append(first, order[~np.isin(order, first)])[:top]
    return [
        {
            "type": graph.type_names[t],
            "instances": int(metrics.instance_count[t]),
            "shallow_bytes": int(metrics.type_shallow_bytes[t]),
            "retained_bytes": int(metrics.type_retained_bytes[t]),
            **{name: column[t] for name, column in estimated.items()},
        }
        for t in order
        if metrics.instance_count[t]
    ]


_EXTERNAL = (
    "External bytes are memory outside the heap that is freed with its objects, such "
    "as that of buffers. Shallow and reachable bytes are without it."
)
"""What external bytes are."""

_FOLDED = (
    "Folded objects are details of the runtime: each is counted with the object that "
    "it is part of, or as a root. --fold none shows them."
)


def facts_text(
    found: Mapping[str, object], captions: Captions, dumps: Sequence[str]
) -> str:
    """The summary as text.

    Args:
        found: Result of `facts`, with what grew.
        captions: Short names of the types.
        dumps: The dumps as the user named them; the last one is summarized.
    """
    out: list[str] = []
    say = out.append
    source = printable(PurePath(str(found["source"])).name)
    say(f"{source}: {found['format']}\n")
    say(_suspects_text(found, dumps))
    say(sites_text(found))
    say("\nHeap\n")
    if found["producer"]:
        say(folded(printable(str(found["producer"]))))
    for note in cast("list[str]", found["notes"]):
        say(folded(printable(note), "    "))
    if found["producer"] or found["notes"]:
        say("\n")
    for name in (
        "objects",
        "reachable_objects",
        "references",
        "types",
        "roots",
        "shallow_bytes",
        "reachable_bytes",
    ):
        say(f"  {name.replace('_', ' '):<18}{cell(found[name]):>15}\n")
    for name in (
        "missing_objects",
        "weak_roots",
        "external_bytes",
        "soft_only_objects",
        "soft_only_bytes",
        "weak_only_objects",
        "weak_only_bytes",
        "estimated_objects",
        "estimated_bytes",
        "folded_objects",
        "folded_references",
    ):
        if found[name]:
            say(f"  {name.replace('_', ' '):<18}{cell(found[name]):>15}\n")
    if found["missing_objects"]:
        missing = "Missing objects are referred to, and are not in the dump"
        why = named(str(found["runtime"] or "")).missing
        missing += f"{', ' if why else ''}{why}. No size above includes them."
        say("\n" + folded(missing))
    if found["external_bytes"]:
        say("\n" + folded(_EXTERNAL))
    if found["folded_objects"]:
        say("\n" + folded(_FOLDED))
    kinds = cast("dict[str, int]", found["root_kinds"])
    if kinds:
        listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())
        say("\n" + folded(f"roots by kind: {listed}"))
    word = named(str(found["runtime"] or "")).domain
    for domain in cast("list[dict[str, object]]", found["domains"]):
        if domain["name"] == NO_DOMAIN:
            continue
        name = printable(str(domain["name"])) or "(records outside any domain)"
        ended = "" if domain["complete"] else ", incomplete"
        took = domain["duration_ms"]
        took_text = "" if took is None else f", dumped in {took:,} ms"
        say(f"  {word}: {name}{took_text}{ended}\n")
    say(_parts_text(found))
    say(_warnings_text(found))
    title = "Types by retained size, the program's own first"
    say(_rows_text(title, found["top_types"], captions))
    say(_rows_text("Objects by retained size", found["top_retained"], captions))
    if alive := liveness(found["strength_policy"], found["runtime"]):
        say("\n" + folded(alive, ""))
    return "".join(out)


def first_answer(
    dump: str, graph: HeapGraph, metrics: HeapMetrics, findings: Findings
) -> str:
    """A first summary of a heap that is not in the database yet, as text."""
    text = (
        f"{printable(PurePath(dump).name)}: {metrics.reachable_count:,} of "
        f"{graph.object_count:,} objects are reachable, "
        f"{human_bytes(metrics.reachable_bytes)}\n"
    )
    for note in notes(
        graph.object_count,
        int(graph.shallow_bytes.sum()),
        metrics.reachable_count,
        metrics.reachable_bytes,
        findings.metadata_bytes,
        incomplete=graph.incomplete,
        garbage_types=findings.garbage,
        generated=findings.generated,
    ):
        text += "\n" + folded(note)
    suspects = of_heap(graph, findings.suspects)
    text += "\nLeak suspects\n" + suspects_text(suspects, graph.incomplete)
    text += smaller_text(of_heap(graph, findings.smaller))
    about = {
        "format": graph.format_name,
        "runtime": graph.runtime,
        "producer": graph.producer,
        "incomplete": graph.incomplete,
    }
    return f"{text}\n{next_step(about, dump)}"


def _suspects_text(found: Mapping[str, object], dumps: Sequence[str]) -> str:
    """The suspects and what grew, which precede all figures."""
    text = ""
    names = "objects shallow_bytes reachable_objects reachable_bytes metadata_bytes"
    figures = [cast("int", found[name]) for name in names.split()]
    incomplete = cast("str | None", found["incomplete"])
    garbage = cast("list[str]", found["garbage_types"])
    generated = cast("list[str]", found["generated_classes"])
    for note in notes(
        *figures, incomplete=incomplete, garbage_types=garbage, generated=generated
    ):
        text += "\n" + folded(note)
    growth = cast("dict[str, object] | None", found["growth"])
    step = next_step(found, dumps[-1])
    if growth is not None:
        # Comparisons need tables, which one dump does without.
        from ingest.reports.growth import growth_step, growth_text

        text += growth_text(growth)
        step = step if incomplete else growth_step(dumps)
    text += "\nLeak suspects\n"
    suspects = cast("list[dict[str, object]]", found["suspects"])
    text += suspects_text(suspects, incomplete)
    text += smaller_text(cast("list[dict[str, object]]", found["smaller_groups"]))
    return f"{text}\n{step}"


def _parts_text(found: Mapping[str, object]) -> str:
    """A line for each dump of a file that has several."""
    parts = cast("list[dict[str, object]]", found["parts"])
    if len(parts) < 2:
        return ""
    text = "\nHeap dumps of the file\n"
    for part in parts:
        process = f", process {part['process']}" if part["process"] else ""
        read = ", this one" if part["is_read"] else ""
        objects = counted(cast("int", part["objects"]), "objects")
        text += f"  --part {part['number']}: {objects}{process}{read}\n"
    return text


def _warnings_text(found: Mapping[str, object]) -> str:
    text = ""
    lines = cast("dict[str, int | None]", found["warning_lines"])
    offsets = cast("dict[str, int | None]", found["warning_offsets"])
    for kind, count in cast("dict[str, int]", found["warnings"]).items():
        place = Irregularity(kind, count, lines[kind], offsets[kind]).place
        if kind == "missing_object" and not place:  # told among the figures
            continue
        text += f"  warning: {kind.replace('_', ' ')}: {count:,}{place}\n"
    return text


def _rows_text(title: str, rows: object, captions: Captions) -> str:
    found = cast("list[dict[str, object]]", rows)
    if not found:
        return ""
    shown = [row | {"type": captions.of(str(row["type"]))} for row in found]
    rows = Answer(tuple(found[0]), tuple(tuple(row.values()) for row in shown))
    filled = rows.without_empty_columns()
    return f"\n{title}\n" + table_text(filled.columns, filled.rows)
