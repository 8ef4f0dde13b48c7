"""What the gate keeps of one dump: paths, types and suspects, by fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ingest.analysis.distances import holding_roots
from ingest.analysis.fingerprints import normalised_type, of_tree
from ingest.analysis.merged import NOT_A_TYPE, merged_tree
from ingest.analysis.suspects import find_suspects
from ingest.heap.graph import MISSING_TYPE_NAME, RootKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.analysis.merged import MergedTree
    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

MAX_PATHS = 50_000
"""Paths of one dump, the largest ones: many more than the graph has, for a leak begins
small."""


@dataclass(slots=True)
class PathGroup:
    """Objects that are reached in the same way.

    Attributes:
        names: The kind of the root, then short names of types.
        parent: Fingerprint of the path without its last step; empty at the top.
        root_kind: Of the root that the path begins at.
        type_name: Normalised name of the last type; empty for a root.
        object_count: Objects at the end of the path.
        shallow_bytes: Their size, bytes.
        total_bytes: That and the size of all that is reached through them first.
    """

    names: tuple[str, ...]
    parent: str
    root_kind: str
    type_name: str
    object_count: int = 0
    shallow_bytes: int = 0
    total_bytes: int = 0


class TypeTotal(NamedTuple):
    """Reachable instances of a type, and their size in bytes."""

    object_count: int
    shallow_bytes: int


@dataclass(frozen=True, slots=True)
class SuspectOf:
    """A leak suspect of a dump.

    Attributes:
        sentence: What `ingest info` says of it.
        names: What holds it, without addresses and values.
        type_name: Normalised name of the type that accumulates.
        object_count: How many objects accumulate.
        retained_bytes: What they retain, bytes.
    """

    sentence: str
    names: tuple[str, ...]
    type_name: str
    object_count: int
    retained_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One dump.

    Attributes:
        name: What to call it.
        sha256: Digest of its file.
        format_name: Its format.
        object_count: Reachable objects.
        reachable_bytes: Their size, bytes.
        paths: By fingerprint.
        normalised_types: Reachable instances by normalised name.
        types: Reachable instances by full name.
        captions: Short names of the types, by full name.
        suspects: By fingerprint, the best first.
    """

    name: str
    sha256: str
    format_name: str
    object_count: int
    reachable_bytes: int
    paths: Mapping[str, PathGroup]
    normalised_types: Mapping[str, int]
    types: Mapping[str, TypeTotal]
    captions: Mapping[str, str]
    suspects: Mapping[str, SuspectOf]


def profile_of(
    graph: HeapGraph,
    metrics: HeapMetrics,
    name: str,
    sha256: str,
    own: Sequence[str] = (),
) -> Profile:
    """What the gate keeps of a heap.

    Args:
        graph: The heap.
        metrics: Its metrics.
        name: What to call it.
        sha256: Digest of its file.
        own: Globs of types that are the program's own.
    """
    types: dict[str, TypeTotal] = {}
    normalised: dict[str, int] = {}
    for row, full in enumerate(graph.type_names):
        count = int(metrics.type_reachable_count[row])
        if count:
            size = int(metrics.type_reachable_bytes[row])
            before = types.get(full, TypeTotal(0, 0))
            types[full] = TypeTotal(
                before.object_count + count, before.shallow_bytes + size
            )
            key = normalised_type(full)
            normalised[key] = normalised.get(key, 0) + count
    suspects = {
        found.fingerprint: SuspectOf(
            found.sentence,
            _without_numbers(
                found.cut, graph.captions.of(graph.type_names[found.type_index])
            ),
            normalised_type(graph.type_names[found.type_index]),
            found.object_count,
            found.retained_bytes,
        )
        for found in find_suspects(graph, metrics, own).suspects
    }
    tree = merged_tree(
        graph,
        metrics.path_parent,
        by_root=holding_roots(graph, metrics.strength),
        limit=MAX_PATHS,
    )
    return Profile(
        name=name,
        sha256=sha256,
        format_name=graph.format_name,
        object_count=metrics.reachable_count,
        reachable_bytes=metrics.reachable_bytes,
        paths=_paths(graph, tree),
        normalised_types=normalised,
        types=types,
        captions={full: graph.captions.of(full) for full in types},
        suspects=suspects,
    )


def _without_numbers(cut: str, type_name: str) -> tuple[str, ...]:
    """The steps of a suspect that are the same in every dump."""
    holder, _, target = cut.rpartition(" -> ")
    return tuple(dict.fromkeys((holder, target, type_name)))


def _paths(graph: HeapGraph, tree: MergedTree) -> dict[str, PathGroup]:
    """The rows of a merged tree, those with the same fingerprint together."""
    full = [*graph.type_names, MISSING_TYPE_NAME]
    roots = tree.root_kind.tolist()
    kinds = tree.type_index.tolist()
    names = [
        RootKind(root).label if root >= 0 else "" if kind == NOT_A_TYPE else full[kind]
        for kind, root in zip(kinds, roots, strict=True)
    ]
    parents = tree.parent.tolist()
    keys = of_tree("root_paths", parents, names, roots)
    counts, sizes = tree.object_count.tolist(), tree.shallow_bytes.tolist()
    totals = tree.total_bytes.tolist()
    found: dict[str, PathGroup] = {}
    for row in range(1, len(keys)):
        key, above = keys[row], keys[parents[row]]
        is_root = roots[row] >= 0
        name = "" if is_root else normalised_type(names[row])
        if key not in found:
            before = found.get(above)
            found[key] = PathGroup(
                names=(
                    *(before.names if before else ()),
                    names[row] if is_root else graph.captions.of(names[row]),
                ),
                parent=above if before else "",
                root_kind=before.root_kind if before else names[row],
                type_name=name,
            )
        group = found[key]
        # What is inside a collection has the fingerprint of the collection.
        if name == group.type_name:
            group.object_count += counts[row]
            group.shallow_bytes += sizes[row]
        if key != above:
            group.total_bytes += totals[row]
    return found
