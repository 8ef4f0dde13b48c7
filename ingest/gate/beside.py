"""What grows beside the objects of a program: as many as these, or for the runtime."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.compare.growth import is_metadata
from ingest.heap.graph import RootKind
from ingest.runtimes import TypeClass, named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump
    from ingest.compare.paths import PathTree

    Flags = NDArray[np.bool_]

ABOUT = 1.1
"""So many times as many are about as many: of values, threads may hold some as well."""

_CODE = r"(?i)\bcode\b"
"""Types of compiled code, among the runtime's metadata."""


def is_beside(dump: ComparedDump, classes: NDArray[np.uint8], tree: PathTree) -> Flags:
    """Bool (G,): what the runtime has for itself, or what has its bound."""
    runtime = named(dump.runtime)
    is_code = is_metadata(tree.name, classes)
    found = (is_code & tree.has_objects) | _weakly_held(dump, classes, tree)
    found |= _one_for_each(classes, tree)
    # There is one for each object that grew, which is told itself.
    found |= [name in runtime.of_finalizer for name in tree.name]
    # A debugger keeps the last lines that are printed, once it is there.
    is_kept = np.array([name in runtime.passing_roots for name in tree.name], np.bool_)
    # What it keeps may also refer to the global object, which has what it has anyway.
    are_global = np.array([bool(runtime.is_global(name)) for name in tree.name])
    found |= tree.is_above(is_kept) & ~tree.is_above(are_global)
    # Code gets its constants when it is compiled.
    code = re.compile("|".join(filter(None, (_CODE, runtime.stubs))))
    of_code = is_code & [bool(code.search(name)) for name in tree.name]
    if runtime.constants:
        of_code |= [runtime.constants in name for name in tree.name]
    found |= tree.is_above(of_code) & (classes != TypeClass.PROGRAM)
    return found


def _weakly_held(
    dump: ComparedDump, classes: NDArray[np.uint8], tree: PathTree
) -> Flags:
    """Bool (G,): weak references in a collection that drops them, and their keys.

    There are as many as objects that something else holds. The runtime itself has such
    collections, of the subclasses of each class.
    """
    runtime, parent = named(dump.runtime), tree.parent
    found = np.zeros(len(tree.name), np.bool_)
    for row, name in enumerate(tree.name):
        if name not in runtime.weak_references:
            continue
        above = int(parent[row])
        beyond = int(parent[above]) if tree.has_objects[above] else above
        if tree.name[beyond] == RootKind.RUNTIME.label and not tree.has_objects[beyond]:
            found[row] = True
        is_weak = found[row] or runtime.is_weak_collection(tree.name[beyond])
        if is_weak and tree.has_objects[above]:
            found |= (parent == above) & (classes != TypeClass.PROGRAM)
    return found


def _one_for_each(classes: NDArray[np.uint8], tree: PathTree) -> Flags:
    """Bool (G,): what fields of objects have that were as many before: one for each.

    It has its bound: the fields fill up. With it is what each has as many of as before.
    """
    counts, above = tree.object_count, tree.object_count[tree.parent]
    has_fields = np.isin(classes, (TypeClass.PROGRAM, TypeClass.LIBRARY))
    is_field = (has_fields & tree.has_objects)[tree.parent]
    fewest = above.min(axis=1)
    found = is_field & (fewest > 1) & (counts.max(axis=1) <= fewest)
    found[tree.parent <= 0] = False  # the top, and the kinds of roots
    shares = counts / np.maximum(above, 1)
    is_share = shares[:, -1] <= ABOUT * shares[:, :-1].max(axis=1, initial=0)
    for rows in tree.levels[1:]:
        found[rows] |= found[tree.parent[rows]] & is_share[rows]
    return np.asarray(found)
