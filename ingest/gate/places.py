"""Where findings are: an example of their objects, what holds it, and the source."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.fingerprints import normalised_type
from ingest.analysis.tracking import allocation_at
from ingest.analysis.types import rows_where
from ingest.gate.findings import TREE, Rule, SourcePlace, each_time
from ingest.runtimes import TypeClass, named
from ingest.suspects.holders import Paths
from ingest.suspects.words import Words

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.gate.findings import Finding
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder
    from ingest.tables.heap_tables import HeapTables

    Rows = NDArray[np.int32]

_SAMPLE = 2000
"""Objects of a path that are looked at as examples."""

_OF_SCRIPT = re.compile(
    r"(?:.* )?(?P<file>[^ ]+):(?P<line>\d+):(?P<column>\d+)(?: \((?P<folder>.*)\))?"
)
"""A function of JavaScript: ``onTick store.js:12:3 (/srv/app)``."""

_OF_FILE = re.compile(r"(?:block in )?(?P<file>.+?):(?P<line>\d+)(?: in .*)?")
"""A place of Python or Ruby: ``shop.rb:7 in new``."""

_LIBRARIES = re.compile(
    r"^<|^node:|^internal[:/]|[/\\](?:site-packages|dist-packages|node_modules|gems)[/\\]"
    r"|[/\\]lib(?:64)?[/\\](?:python|ruby)[\d/\\]"
)
"""Files that are not the program's own."""


def with_examples(
    findings: Sequence[Finding], tables: HeapTables
) -> tuple[list[Finding], list[str]]:
    """Give findings a path to one of their objects, and its source; return notes, too.

    Growth of objects that only weak references lead to, and that the next collection
    frees, becomes a note.

    Args:
        findings: Findings about the last dump.
        tables: Tables by which that dump was judged, with the path of each object.
    """
    objects = _objects_on({one.fingerprint for one in findings}, tables)
    if not objects:
        return list(findings), []
    graph, metrics = tables.graph, tables.metrics
    classes = named(graph.runtime).type_classes(graph.type_names, tables.own)
    paths = Paths(graph, tables.owned, classes, tables.own)
    of_program: dict[str, list[int]] = {}
    for kind in np.flatnonzero(classes == TypeClass.PROGRAM).tolist():
        name = normalised_type(graph.type_names[kind])
        of_program.setdefault(name, []).append(kind)
    is_freed_next = metrics.is_freed_next()
    found, notes = [], []
    for finding in findings:
        rows = objects.get(finding.fingerprint)
        if rows is None or not len(rows):
            found.append(finding)
            continue
        if finding.rule is Rule.GROWTH and bool(is_freed_next[rows].all()):
            notes.append(
                f"{finding.path[-1]} grew{each_time(len(finding.counts))}, but only "
                "weak references and handles lead to these objects: the next "
                "collection frees them."
            )
            continue
        kind = int(graph.type_index[rows[0]])
        held = paths.holder(kind, rows)
        each = _of_each(finding, paths, of_program, rows)
        if held is not None and each is not None and each.role != held.role:
            held = each
        source = _made_at(graph, rows)
        if held is not None:
            source = source or _held_at(paths, held)
            if finding.rule is Rule.GROWTH:
                example, _ = paths.steps(held)
                sentence = _sentence(finding, graph, held, kind, held is each)
                finding = replace(finding, example=example, sentence=sentence)
        # Files are names that a redacted dump must not have.
        found.append(replace(finding, source=None if graph.is_redacted else source))
    return found, notes


def _made_at(graph: HeapGraph, rows: Rows) -> SourcePlace | None:
    """The place in the program where most of some objects were made."""
    made = None if graph.history is None else graph.history.allocations
    if made is None or graph.history is None or graph.history.collections:
        return None
    at = allocation_at(graph.object_id[rows], made)
    for site, _ in Counter(made.site[at[at >= 0]].tolist()).most_common():
        for frame in made.sites[site]:
            if (place := place_of(frame)) is not None:
                return place
    return None


def _held_at(paths: Paths, holder: Holder) -> SourcePlace | None:
    """The function that holds, or the script of the module that does."""
    function, is_module = paths.source(holder)
    place = None if function is None else place_of(function)
    return place and SourcePlace(place.file, 0) if is_module else place


def place_of(function: str) -> SourcePlace | None:
    """The place of a function or frame in the program; ``None`` if none is known."""
    told = _OF_SCRIPT.fullmatch(function)
    if told is not None:
        folder = told["folder"]
        file = f"{folder}/{told['file']}" if folder else told["file"]
        place = SourcePlace(file, int(told["line"]), int(told["column"]))
    elif (told := _OF_FILE.fullmatch(function)) is not None:
        place = SourcePlace(told["file"], int(told["line"]))
    else:
        return None
    return None if _LIBRARIES.search(place.file) else place


def _of_each(
    finding: Finding,
    paths: Paths,
    of_program: Mapping[str, list[int]],
    rows: Rows,
) -> Holder | None:
    """The field of the program's objects nearest above those that grew.

    Many objects, which do not grow themselves, may each collect some of them.

    Args:
        finding: What grew.
        paths: Paths from roots.
        of_program: The program's types, by normalised name.
        rows: int32. Objects that grew.
    """
    for name in finding.steps[-2::-1]:
        if not (kinds := of_program.get(name, [])):
            continue
        if len(kinds) > 1 or paths.places.stands[kinds[0]]:
            return None
        if (found := paths.inside(kinds[0], rows)) is None:
            return None
        return paths.of(found[0], paths.cuts.member_below(found[0], rows))
    return None


def _sentence(
    finding: Finding, graph: HeapGraph, holder: Holder, kind: int, is_group: bool
) -> str:
    """What holds the objects that grew, in the words of leak suspects."""
    return Words(
        type_name=graph.type_names[kind],
        object_count=finding.counts[-1],
        retained_bytes=None,
        share=0.0,
        holder=holder,
        between=[graph.type_name(at) for at in holder.between],
        is_run=False,
        is_group=is_group,
        captions=graph.captions,
        runtime=graph.runtime,
    ).sentence


def _objects_on(wanted: Container[str], tables: HeapTables) -> dict[str, Rows]:
    """Some of the objects of paths and of suspects, by their fingerprints."""
    graph, metrics = tables.graph, tables.metrics
    found = {
        one.fingerprint: np.array([one.object_index], np.int32)
        for one in tables.findings.suspects
        if one.fingerprint in wanted
    }
    tree = tables.merged[TREE]
    assert tree.row is not None
    keys = tables.type_paths["fingerprint"].to_list()
    for path, (key, above) in enumerate(zip(keys, tree.parent.tolist(), strict=True)):
        # Nodes and tables of a collection are on its path, too.
        if key in wanted and key not in found and keys[above] != key:
            on_path = (tree.row == path) & (metrics.root_distance > 0)
            # Objects of paths that are left out have the row of the nearest path above.
            on_path &= graph.type_index == tree.type_index[path]
            rows = rows_where(on_path)
            at = np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(int)
            found[key] = rows[at]
    return found
