"""References between objects, their classes, and class loaders.

An object holds its class, a class its loader, and a loader all its classes. The VM's
own loaders never unload classes, so the values of their static fields are roots. So are
those of a loader that something else keeps, unless the program has several like it. All
other classes hold the values of their static fields; their loader and each of their
instances hold them. In a loader with many instances that is kept in any case, instances
do not, since they would add nothing to what is alive.

Source: The Java Language Specification, section 12.7, Unloading of Classes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_TYPE, RootFlag, RootKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Starts
    from ingest.readers.shared.resolver import ResolvedHeap

_PERMANENT = (
    "jdk.internal.loader.ClassLoaders$",
    "sun.misc.Launcher$",
    "com.ibm.oti.vm.",
)
"""Prefixes of types of loaders that the VM keeps."""
_OF_REFLECTION = "DelegatingClassLoader"
"""Suffix of types of loaders that each have one class for reflection."""
_OF_FORMS = "clojure.lang.DynamicClassLoader"
"""Loaders of which Clojure has one for each form: what that defines stays in vars."""
_CLASS_LOADER = "java.lang.ClassLoader"

_MANY_INSTANCES = 1000
"""If a loader has fewer instances, they always refer to their class."""
_MOST_ROUNDS = 64
"""The longest chain of loaders that hold one another; further ones are not kept."""


class ClassRows(NamedTuple):
    """The T types of a heap, as far as they are classes.

    Attributes:
        names: Their full names.
        mirror: int32 (T,). Row of the class object, or -1.
        loader: int32 (T,). Row of the class loader, or -1.
        class_field: Row of the field name `OF_CLASS`.
        classes_field: Row of the field name `OF_LOADER`.
    """

    names: Sequence[str]
    mirror: Ints
    loader: Ints
    class_field: int
    classes_field: int


def hold_classes(heap: ResolvedHeap, classes: ClassRows) -> None:
    """Let instances, classes and loaders hold one another where classes can go."""
    types = _unloadable(heap, classes)
    if not len(types):
        return
    roots = heap.roots
    assert roots.type is not None
    assert roots.field is not None
    is_unloadable = _among(len(classes.names), types)
    is_static = (roots.type != NO_TYPE) & is_unloadable[roots.type]
    counts = np.bincount(heap.type_index, minlength=len(classes.names))
    loaders, of = np.unique(classes.loader[types], return_inverse=True)
    instances = np.bincount(of, weights=counts[types])
    is_kept = np.zeros(len(loaders), np.bool_)
    if is_static.any() or (instances > _MANY_INSTANCES).any():
        is_kept = _kept(heap, classes, types, is_static)[loaders]
    is_alone = is_kept & ~_come_and_go(heap, classes, types, loaders, of)
    types, of = types[~is_alone[of]], of[~is_alone[of]]
    if not len(types):
        return
    is_static &= _among(len(classes.names), types)[roots.type]
    named = types[(instances <= _MANY_INSTANCES)[of] | ~is_kept[of]]
    owner = np.flatnonzero(_among(len(classes.names), named)[heap.type_index])
    added = (
        (
            classes.mirror[roots.type[is_static]],
            heap.root_object[is_static],
            roots.field[is_static],
        ),
        (
            classes.loader[types],
            classes.mirror[types],
            np.full(len(types), classes.classes_field, np.int32),
        ),
        (
            owner.astype(np.int32),
            classes.mirror[heap.type_index[owner]],
            np.full(len(owner), classes.class_field, np.int32),
        ),
    )
    heap.links.append(*map(np.concatenate, zip(*added, strict=True)))
    heap.keep_roots(~is_static)


def _unloadable(heap: ResolvedHeap, classes: ClassRows) -> Ints:
    """int32: the types of loaders that the VM does not keep itself."""
    rows = np.flatnonzero((classes.mirror >= 0) & (classes.loader >= 0))
    loaders, of = np.unique(classes.loader[rows], return_inverse=True)
    goes = np.array(
        [
            not classes.names[row].startswith(_PERMANENT)
            for row in heap.type_index[loaders].tolist()
        ],
        np.bool_,
    )
    roots = heap.roots
    assert roots.type is not None
    is_system = roots.kind == RootKind.SYSTEM_CLASS
    if _CLASS_LOADER in classes.names:  # whose static field has the program's loader
        own = classes.names.index(_CLASS_LOADER)
        is_static = (roots.kind == RootKind.STATIC) & (roots.type == own)
        goes &= ~np.isin(loaders, heap.root_object[is_static])
    goes = goes[of] & ~np.isin(classes.mirror[rows], heap.root_object[is_system])
    return rows[goes].astype(np.int32)


def _among(rows: int, chosen: Ints) -> Bools:
    """Bool (rows + 1,): the chosen rows; the last entry, which -1 selects, is false."""
    found = np.zeros(rows + 1, np.bool_)
    found[chosen] = True
    return found


def _come_and_go(
    heap: ResolvedHeap,
    classes: ClassRows,
    types: Ints,
    loaders: Ints,
    of: NDArray[np.intp],
) -> Bools:
    """Bool (len(loaders),): loaders of which the program has several.

    They are of one type, as those of plug-ins and scripts, or have classes of the same
    names, as those of an application that was loaded again.
    """
    kinds = heap.type_index[loaders]
    found = np.bincount(kinds, minlength=len(classes.names))[kinds] > 1
    found &= [classes.names[kind] != _OF_FORMS for kind in kinds.tolist()]
    names = [classes.names[row] for row in types.tolist()]
    count = Counter(names)
    shared = np.array([count[name] > 1 for name in names], np.bool_)
    found[of[shared]] = True
    return found


def _kept(
    heap: ResolvedHeap, classes: ClassRows, types: Ints, is_static: Bools
) -> Bools:
    """Bool: objects that are strongly reachable even if instances hold no classes."""
    links, roots = heap.links, heap.roots
    assert roots.type is not None
    seen = np.zeros(len(links.start) - 1, np.bool_)
    queue = np.empty(len(seen), np.int32)
    kinds = np.empty(0, np.uint8) if links.kind is None else links.kind
    source = np.concatenate(
        [classes.loader[types], classes.mirror[roots.type[is_static]]]
    )
    target = np.concatenate([classes.mirror[types], heap.root_object[is_static]])
    seeds = heap.root_object[~is_static & ~RootFlag.WEAK.is_in(roots.flags)]
    for _ in range(_MOST_ROUNDS):
        _reach(links.start, links.target, kinds, seeds, seen, queue)
        seeds = target[seen[source] & ~_seen(seen, target)]
        if not len(seeds):
            break
    return seen


def _seen(seen: Bools, rows: Ints) -> Bools:
    """Whether rows were seen; placeholders, which hold nothing, count as seen."""
    found = np.ones(len(rows), np.bool_)
    known = rows < len(seen)
    found[known] = seen[rows[known]]
    return found


@kernel
def _reach(
    start: Starts, target: Ints, kinds: Bytes, seeds: Ints, seen: Bools, queue: Ints
) -> None:
    """Mark all objects that strong references reach from some objects."""
    head = tail = 0
    for one in seeds:
        if one < len(seen) and not seen[one]:
            seen[one] = True
            queue[tail] = one
            tail += 1
    while head < tail:
        source = queue[head]
        head += 1
        for ref in range(start[source], start[source + 1]):
            found = target[ref]
            if found >= len(seen) or seen[found]:
                continue
            if len(kinds) == 0 or kinds[ref] == 0:
                seen[found] = True
                queue[tail] = found
                tail += 1
