"""Cuts as a user writes them.

::

    0x1c15d2                     an object
    Game.Level                   all objects of a type
    Game.Cache.items -> List     references from a field, also a static one, to a type
    static -> Game.Level         roots of a kind
    threads worker-#             threads: they end, and their frames with them
    Game.Cache -> List -> Tile   references of the lists of caches to tiles: a path

A step is an address, a full or short name of a type, each with or without a field
behind a dot, a kind of root (the first step only), or ``*``. A path cuts its last
references. A step can also be what a leak suspect calls its holder (see
`ingest.what_if.places`), and ``A -> B and C -> D`` are two cuts at once.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.types import count_by, rows_of
from ingest.arrays.spans import rows_in
from ingest.errors import NotFound
from ingest.heap.graph import EPHEMERON, OF_LOADER, RootKind
from ingest.what_if.freed import Cut
from ingest.what_if.places import IN_WEAK_MAP, UNNAMED_STATIC, ReferencePlaces
from ingest.words.type_names import KnownTypes, guess_type, hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ints
    from ingest.heap.graph import HeapGraph
    from ingest.words.type_names import TypeFound

_ARROW = re.compile(r"\s*(?:->|→)\s*")
_ELEMENT = re.compile(r"\[(\d+)\]")
_ADDRESS = re.compile(r"(0[xX][0-9a-fA-F]{1,16})(?:\.(.+))?")
AND = " and "
"""The word between cuts that are made together."""
_FEW = 8
"""References of fewer than this part of the heap's are looked at one by one."""
_STATIC = re.compile(r"(?:a )?static field (?:of )?")
_ROOT = re.compile(rf"({'|'.join(kind.label for kind in RootKind)})(?: roots?)?")


class _Step(NamedTuple):
    """What one step of a cut names.

    Attributes:
        objects: Bool (N + M,).
        roots: Bool (R,). Roots that it names, as the start of a path.
        field: Only this field of its objects; ``None`` for all.
    """

    objects: Bools
    roots: Bools
    field: str | None = None


class CutParser:
    """Cuts of one heap, from text.

    Args:
        graph: The heap.
        on_notice: Called if the type found has another name than the one written.
        places: The words for what holds objects; made if ``None``.
    """

    def __init__(
        self,
        graph: HeapGraph,
        on_notice: Callable[[str], object] = str,
        places: ReferencePlaces | None = None,
    ) -> None:
        self._graph = graph
        self._on_notice = on_notice
        self.places = ReferencePlaces(graph) if places is None else places

    def cut(self, text: str) -> Cut:
        """The cut that ``text`` describes.

        Raises:
            NotFound: It names a type, an object or a reference that the heap does not
                have, or a name that several types have.
        """
        if len(parts := _parts(text)) > 1:
            cuts = [self._one_cut(part) for part in parts]
            return reduce(Cut.with_, cuts)
        return self._one_cut(text)

    def _one_cut(self, text: str) -> Cut:
        words = _ARROW.split(text.strip())
        if "" in words:
            raise NotFound(f"the cut {text!r} has an empty step")
        steps = [self._step(word, first=at == 0) for at, word in enumerate(words)]
        found = Cut.nothing(self._graph)
        if len(steps) == 1:
            if steps[0].field is None and steps[0].objects.any():
                return found._replace(objects=steps[0].objects)
            if (ended := self._ended(steps[0].roots)) is not None:
                return ended
            steps.append(self._step("*", first=False))
        references, roots = self._between(steps[0], steps[1].objects)
        for step, following in pairwise(steps[1:]):
            met = np.zeros_like(step.objects)
            met[self._graph.ref_target[references]] = True
            met[self._graph.root_object[roots]] = True
            references, _ = self._between(
                step._replace(objects=step.objects & met), following.objects
            )
            roots = np.zeros_like(roots)
        if not references.any() and not roots.any():
            raise NotFound(f"the dump has no reference {text!r}")
        return found._replace(references=self._aliased(references, roots), roots=roots)

    def _ended(self, roots: Bools) -> Cut | None:
        """The cut by which threads end; ``None`` where other roots are named."""
        graph, found = self._graph, Cut.nothing(self._graph)
        if not roots.any() or (graph.root_kind[roots] != RootKind.THREAD).any():
            return None
        found.objects[graph.root_object[roots]] = True
        if graph.root_owner is None:
            return found
        owners = graph.root_owner[roots]
        of_them = np.isin(graph.root_owner, owners[owners >= 0])
        return found._replace(roots=np.asarray(of_them))

    def _aliased(self, references: Bools, roots: Bools) -> Bools:
        """The references, with those that are a second record of a static root."""
        graph = self._graph
        statics: dict[int, set[str]] = {}
        is_static = roots & (graph.root_kind == RootKind.STATIC)
        for root in np.flatnonzero(is_static).tolist():
            if (field := self.places.static_field(root)) is not None:
                statics.setdefault(int(graph.root_object[root]), set()).add(field)
        if not statics:
            return references
        rows = rows_of(np.array(list(statics), np.int32), graph.ref_target)
        for row, source in zip(
            rows.tolist(), graph.sources(rows).tolist(), strict=True
        ):
            of_target = statics[int(graph.ref_target[row])]
            if self.places.is_alias(source, graph.field_name(row), of_target):
                references[row] = True
        return references

    def objects(self, text: str) -> Bools:
        """The object, or the objects of the type, that ``text`` names.

        Args:
            text: An address, or a name of a type.

        Raises:
            NotFound: The heap has no such object, and no object of such a type.
        """
        counts = self._instance_counts
        if not _ADDRESS.fullmatch(text):
            known = KnownTypes(counts, self._graph.captions.of)
            found = known.find(text) or guess_type(text, counts)
            if found is None or not counts[found.name]:
                raise NotFound(
                    f"the dump has no object of a type {text!r}{hint(text, counts)}"
                )
            return self._instances(self._rows(found))
        return self._step(text, first=False).objects

    def _between(self, step: _Step, targets: Bools) -> tuple[Bools, Bools]:
        """References and roots of a step that lead to one of ``targets``."""
        graph = self._graph
        roots = step.roots & targets[graph.root_object]
        rows = np.flatnonzero(step.objects)
        begin = graph.ref_start[rows]
        counts = graph.ref_start[rows + 1] - begin
        if _FEW * int(counts.sum()) < graph.reference_count:
            theirs = rows_in(begin, counts)
            theirs = theirs[targets[graph.ref_target[theirs]]]
        else:
            counts = np.diff(graph.ref_start)
            theirs = np.flatnonzero(
                np.repeat(step.objects, counts) & targets[graph.ref_target]
            )
        if step.field is not None:
            theirs = theirs[self._has_field(graph.ref_field, step.field, theirs)]
            at = np.flatnonzero(roots)
            roots[at] = self._has_field(graph.root_field, step.field, at)
        references = np.zeros(graph.reference_count, np.bool_)
        references[theirs] = True
        return references, roots

    def _has_field(
        self, fields: Ints | None, name: str, rows: NDArray[np.intp]
    ) -> Bools:
        """Which of some references or roots have a field; none if none is recorded."""
        if fields is None:
            return np.zeros(len(rows), np.bool_)
        if element := _ELEMENT.fullmatch(name):
            return np.asarray(fields[rows] == -1 - int(element[1]))
        kinds = [i for i, field in enumerate(self._graph.field_names) if field == name]
        return np.isin(fields[rows], kinds)

    def _step(self, text: str, *, first: bool) -> _Step:
        graph, text = self._graph, text.replace(IN_WEAK_MAP, f".{EPHEMERON}")
        no_roots = np.zeros(len(graph.root_object), np.bool_)
        if text == "*":
            every = np.ones(len(graph.object_id), np.bool_)
            return _Step(every, ~no_roots if first else no_roots)
        if address := _ADDRESS.fullmatch(text):
            objects = graph.object_id == np.uint64(int(address[1], 16))
            if not objects.any():
                raise NotFound(f"the dump has no object {address[1]}")
            return _Step(np.asarray(objects), no_roots, address[2])
        if first and (kind := _ROOT.fullmatch(text)):
            roots = graph.root_kind == RootKind[kind[1].upper()]
            nothing = np.zeros(len(graph.object_id), np.bool_)
            return _Step(nothing, np.asarray(roots))
        held = self.places.global_named(text)
        if held is not None or " " in text:
            roots_named = self.places.roots_named(text) if first else None
            if held is None and (roots_named is None or text == UNNAMED_STATIC):
                held = self.places.objects_named(text)
            if roots_named is not None or held is not None:
                objects = np.zeros(len(graph.object_id), np.bool_)
                if held is not None:
                    objects[held.objects] = True
                roots = no_roots if roots_named is None else roots_named
                return _Step(objects, roots, None if held is None else held.field)
        types, field = self._type(_STATIC.sub("", text, count=1))
        objects = self._instances(types)
        if field is not None:
            objects[self._class_objects(types)] = True
        roots = np.isin(graph.root_type, types) if first else no_roots
        return _Step(objects, roots, field)

    def _instances(self, types: NDArray[np.int64]) -> Bools:
        """The objects of some types."""
        # By comparing, which takes less than a table where the types are few.
        return np.isin(self._graph.type_index, types, kind="sort")

    def _class_objects(self, types: NDArray[np.int64]) -> Ints:
        """The objects that hold the static fields of types, in place of roots."""
        graph = self._graph
        if graph.type_object is None or OF_LOADER not in graph.field_names:
            return np.empty(0, np.int32)
        rows = graph.type_object[types]
        return rows[rows >= 0]

    @cached_property
    def _types(self) -> dict[str, list[int]]:
        """Rows of the types by full name."""
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self._graph.type_names):
            found.setdefault(name, []).append(row)
        return found

    @cached_property
    def _instance_counts(self) -> dict[str, int]:
        """Objects of each type by full name."""
        graph = self._graph
        counts = count_by(graph.type_index, len(graph.type_names)).tolist()
        return {
            name: sum(counts[at] for at in rows) for name, rows in self._types.items()
        }

    @cached_property
    def _counts_with_roots(self) -> dict[str, int]:
        """The same with roots: a cut may name a static class, which has no objects."""
        graph = self._graph
        counts = count_by(graph.root_type, len(graph.type_names)).tolist()
        return {
            name: self._instance_counts[name] + sum(counts[at] for at in rows)
            for name, rows in self._types.items()
        }

    @cached_property
    def _known_types(self) -> KnownTypes:
        return KnownTypes(self._counts_with_roots, self._graph.captions.of)

    def _type(self, text: str) -> tuple[NDArray[np.int64], str | None]:
        """Rows of the type that ``text`` names, and the field behind it."""
        counts, known = self._counts_with_roots, self._known_types
        if found := known.find(text):
            return self._rows(found), None
        # A name can have dots in brackets, and a field has none.
        owner, _, field = text.rpartition(".")
        if owner and (found := known.find(owner)):
            self._check_field(field)
            return self._rows(found), field
        if found := guess_type(text, counts):
            return self._rows(found), None
        roots = self.places.roots_like(text)
        meant = f"; did you mean {roots!r}" if roots else hint(text, counts)
        raise NotFound(f"the dump has no type {text!r}{meant}")

    def _check_field(self, field: str) -> None:
        """Refuse a field that no object or root of the heap has.

        Raises:
            NotFound: no such field; the message suggests similar names.
        """
        known = sorted(set(self._graph.field_names))
        if not known or field in known or _ELEMENT.fullmatch(field):
            return
        near = " or ".join(get_close_matches(field, known))
        meant = f"; did you mean {near}" if near else ""
        raise NotFound(f"the dump has no field {field!r}{meant}")

    def _rows(self, found: TypeFound) -> NDArray[np.int64]:
        """Rows of a type; tells the user if its name is not as written."""
        if found.notice:
            self._on_notice(found.notice)
        return np.array(self._types[found.name])


def _parts(text: str) -> list[str]:
    """Split a text into cuts; names may contain the word that separates them."""
    found: list[str] = []
    for part in text.split(AND):
        if found and not (_ARROW.search(part) and _ARROW.search(found[-1])):
            found[-1] += AND + part
        else:
            found.append(part)
    return found
