"""What holds objects, in the words that suspects print and in which cuts are written.

A place is a set of roots, or of objects with a field. `ReferencePlaces` names each, and
finds the place of a name: it reads whatever it writes, in every format.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.heap.graph import EPHEMERON, OF_LOADER, RootFlag, RootKind
from ingest.runtimes import named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph

# Asked for each root: CPython 3.11 looks members up in a dictionary.
_LOCAL, _LABELS = int(RootKind.LOCAL), {int(kind): kind.label for kind in RootKind}

UNNAMED_ROOT = "a root"
NATIVE_HANDLE = "a native handle"
"""A root of what is not written in the program's language, as of sockets and timers."""
OF_THREADS = frozenset({"thread", "java_frame"})
"""The kinds of roots that a thread has, and that name it."""
UNNAMED_STATIC = "a static field that the dump does not name"

_ROOTS = {
    "finalizer_queue": "the finalizer queue",
    "handle": "a GC handle",
    "internal": "an internal root",
    "interned_string": "the table of interned strings",
    "java_frame": "a frame",
    "jni_global": "a JNI global reference",
    "jni_local": "a JNI local reference",
    "local": "a local variable",
    "monitor": "a monitor",
    "native_stack": "a native frame",
    "runtime": "the runtime",
    "dependent_handle": "a dependent handle (ConditionalWeakTable)",
    "not_recorded": "a holder that the file does not record",
    "static": "a static field",
    "thread_static": "a thread-static field",
    "system_class": "a system class",
    "thread": "thread",
    "thread_block": "a thread",
}
_MANY = {
    "a GC handle": "GC handles",
    NATIVE_HANDLE: "native handles",
    "a JNI global reference": "JNI global references",
    "thread": "threads",
}
_NUMBER = re.compile(r"\d+(,\d{3})*")
PROPERTY = "static property "
"""What words for a property of a function, or a static field of a class, begin with."""
IN_WEAK_MAP = "'s entry in a weak map"
"""What words for the value that a weak map has for an object end with."""
_THREAD = re.compile("(virtual )?thread ")
_NAME, _FIELD = "{name}", "{field}"


class Named(NamedTuple):
    """Objects that words name.

    Attributes:
        objects: int32. Their rows.
        field: Only this field of them; ``None`` for all.
    """

    objects: NDArray[np.int32]
    field: str | None


class _RootWords(NamedTuple):
    """The roots of a heap in words.

    Attributes:
        number: int64 (R,). Equal for roots whose words are equal.
        rows: Their numbers, by the words of one of them and of all like it.
        roles: The words of all that are like a root, by its own words.
    """

    number: NDArray[np.int64]
    rows: dict[str, list[int]]
    roles: dict[str, str]


def target_of(graph: HeapGraph, index: int, field: str) -> int | None:
    """What a field of an object refers to; ``None`` if it has no such field."""
    rows = range(*graph.ref_start[index : index + 2].tolist())
    row = next((row for row in rows if graph.field_name(row) == field), None)
    return None if row is None else int(graph.ref_target[row])


def statics_tables(graph: HeapGraph) -> Bools:
    """Bool (R,): roots that are pinned arrays of the runtime's static fields."""
    prefix = named(graph.runtime).statics_table
    if not prefix:
        return np.zeros(len(graph.root_object), np.bool_)
    found = graph.root_kind == RootKind.HANDLE
    found &= RootFlag.PINNED.is_in(graph.root_flags)
    rows = np.flatnonzero(found)
    kinds = graph.type_index[graph.root_object[rows]]
    arrays = [
        row for row, name in enumerate(graph.type_names) if name.startswith(prefix)
    ]
    found[rows] = np.isin(kinds, arrays)
    return np.asarray(found)


def described_types(graph: HeapGraph) -> dict[int, int]:
    """The type that each class object describes, where these hold static fields."""
    if graph.type_object is None or OF_LOADER not in graph.field_names:
        return {}
    kinds = enumerate(graph.type_object.tolist())
    return {row: kind for kind, row in kinds if row >= 0}


class ReferencePlaces:
    """The words for what holds objects in one heap.

    Attributes:
        stands: Bool (T + 1,). Types whose objects stand for a part of the program; the
            last one is for placeholders.
    """

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph
        self._runtime = named(graph.runtime)
        self._static_names: dict[int, str | None] = {}
        self._words = self._words_by_type()
        self.stands = np.zeros(len(graph.type_names) + 1, np.bool_)
        self.stands[list(self._words)] = True

    def _words_by_type(self) -> dict[int, Mapping[str, str]]:
        """The words for what objects of a type hold, by types that have such words."""
        graph, holders = self._graph, self._runtime.holders
        found = {
            kind: holders[name]
            for kind, name in enumerate(graph.type_names)
            if name in holders
        }
        of_classes = holders.get(self._runtime.class_type)
        if of_classes is not None and graph.type_object is not None:
            # The types of classes: a class can have one of its own.
            kinds = np.unique(
                graph.type_index[graph.type_object[graph.type_object >= 0]]
            )
            found |= {kind: of_classes for kind in kinds.tolist() if kind >= 0}
        return found

    @cached_property
    def tables(self) -> Bools:
        """Bool (R,): see `statics_tables`."""
        return statics_tables(self._graph)

    @cached_property
    def described(self) -> dict[int, int]:
        """See `described_types`."""
        return described_types(self._graph)

    def declares(self, index: int, field: str | None) -> bool:
        """Whether a reference is a static field of a class object."""
        if field is None or field.startswith(("<", "[")):
            return False
        return index in self.described

    def function_name(self, index: int) -> str | None:
        """The name of a function of the program's; ``None`` for all else."""
        if self._graph.type_name(index) != self._runtime.function_type:
            return None
        return self._function_names(np.array([index], np.int32))[0]

    def _function_names(self, rows: NDArray[np.int32]) -> list[str | None]:
        if self._graph.values is None:
            return [None] * len(rows)
        is_of_library = re.compile(self._runtime.library_functions).search
        return [
            None if value is None or is_of_library(value) else value.partition(" ")[0]
            for value in self._graph.values.pick(rows)
        ]

    @cached_property
    def table_objects(self) -> frozenset[int]:
        """The arrays in which the runtime keeps static fields."""
        return frozenset(self._graph.root_object[self.tables].tolist())

    def is_alias(
        self, source: int, field: str | None, statics: Collection[str]
    ) -> bool:
        """Whether a reference is another record of a static field that is a root.

        Args:
            source: The object that refers.
            field: Its field.
            statics: The static fields that refer to the same object.
        """
        if source in self.table_objects:
            return True
        name = self._graph.type_name(source)
        return name in self._runtime.namespaces and any(
            field == static.rpartition(".")[2] for static in statics
        )

    def static_field(self, root: int) -> str | None:
        """The field of a root; ``None`` if not recorded."""
        graph = self._graph
        if graph.root_field is None or graph.root_field[root] < 0:
            return None
        return graph.field_names[int(graph.root_field[root])]

    def owner(self, root: int) -> str | None:
        """The thread or isolate of a root; ``None`` if not recorded."""
        graph = self._graph
        if graph.root_owner is None or graph.root_owner[root] < 0:
            return None
        return graph.owners[int(graph.root_owner[root])]

    def frame(self, root: int) -> str | None:
        """The frame that has a local variable; ``None`` if not recorded."""
        graph = self._graph
        at = -1 if graph.root_frame is None else int(graph.root_frame[root])
        if at < 0 or graph.stacks is None:
            return None
        return graph.stacks.frames[at]

    def root_name(self, root: int) -> str | None:
        """The static field, the type or the thread of a root, or ``None``."""
        graph = self._graph
        field, declaring = self.static_field(root), int(graph.root_type[root])
        is_local = graph.root_kind[root] == _LOCAL
        if field is not None and is_local:
            return f"{field} of {self.frame(root) or self.owner(root) or 'a thread'}"
        names = (
            [] if declaring < 0 else [graph.captions.of(graph.type_names[declaring])]
        )
        names += [] if field is None else [field]
        return ".".join(names) or self.owner(root)

    def root(self, root: int) -> str:
        """A root in words, such as ``static field Main.CACHE``."""
        if self.tables[root]:
            return UNNAMED_STATIC
        kind = _LABELS[int(self._graph.root_kind[root])]
        words, name = self._runtime.root_words, self.root_name(root)
        text = words.get(kind) or _ROOTS.get(kind, UNNAMED_ROOT)
        field = self.static_field(root)
        if name is None or (text == NATIVE_HANDLE and name.startswith("(")):
            return "a thread" if text == "thread" else text
        if kind == "thread_static":
            return f"thread-static field {name}"
        if kind == "local" and field is not None:
            # V8 tells only that a stack has it.
            return text if field.startswith("(") else f"local variable {name}"
        thread = name if _THREAD.match(name) else f"thread {name}"
        if kind == "thread":
            return thread
        if kind in ("java_frame", "jni_local", "native_stack"):
            return f"{text} of {thread}"
        if kind == "static":
            if field is not None and kind in words:
                return f"{text} {name}"
            return (
                f"a static field of {name}" if field is None else f"{text[2:]} {name}"
            )
        if kind == "runtime" and kind in words:
            return f"{text} ({name})"
        return f"{text} of {name}"

    def roots(self, root: int) -> str:
        """All roots like one, in words; names that differ only in numbers are equal.

        A number that all have, as of a line, is left as it is.
        """
        words = self.root(root)
        return self._roots_by_words.roles.get(words, words)

    def _alike(self, text: str, kept: Iterable[str] = ()) -> str:
        """The words of all roots like one, from its own words.

        Args:
            text: Its words.
            kept: What to write for each number; ``#`` if nothing.
        """
        text, numbers = _MANY.get(text, text), iter(kept)
        if _NUMBER.search(text):
            text = re.sub(r"(^|of )(virtual )?thread ", r"\1\2threads ", text)
            text = re.sub("^a frame of", "frames of", text)
        text = _NUMBER.sub(lambda _: next(numbers, "#"), text)
        return text.replace("virtual threads #", "virtual threads")

    def _role(self, alike: Sequence[str], is_one: bool) -> str:
        """Words for roots that differ in numbers alone, or if that is one, its own."""
        first = alike[0]
        if is_one and _NUMBER.search(first):
            return first
        numbers = ([one[0] for one in _NUMBER.finditer(words)] for words in alike)
        columns = zip(*numbers, strict=True)
        kept = ["#" if len({*column}) > 1 else column[0] for column in columns]
        return self._alike(first, kept)

    def part(self, index: int) -> str | None:
        """The part of the program that an object of the runtime stands for.

        Empty if the type tells it alone; ``None`` if nothing does.
        """
        graph = self._graph
        kind = int(graph.type_index[index])
        if kind < 0 or not self.stands[kind]:
            return None
        if graph.type_names[kind] in self._runtime.keyed_by:
            return self._key_of(index)
        if not any(_NAME in text for text in self._words[kind].values()):
            return ""  # the words of all are equal
        if graph.values is None:
            return None
        if ways := self._runtime.named_by.get(graph.type_names[kind]):
            return self._named_by(index, ways)
        return graph.values.pick(np.array([index], np.int32))[0]

    def _named_by(self, index: int, ways: Iterable[Iterable[str]]) -> str | None:
        """The texts that some ways by fields lead to, with ``/`` in between."""
        assert self._graph.values is not None
        names = []
        for way in ways:
            at: int | None = index
            for field in way:
                at = None if at is None else target_of(self._graph, at, field)
            if at is not None:
                names += self._graph.values.pick(np.array([at], np.int32))
        return "/".join(filter(None, names)) or None

    def _key_of(self, index: int) -> str | None:
        """The field that holds the key of an entry, a static one first; or ``None``."""
        graph = self._graph
        key = self._runtime.keyed_by[graph.type_name(index)]
        target = target_of(graph, index, key)
        if target is None:
            return None
        if target not in self._static_names:
            static = self._static_of(target)
            self._static_names[target] = static or self._fields_of_keys.get(target)
        return self._static_names[target]

    @cached_property
    def _fields_of_keys(self) -> dict[int, str]:
        """The first field that has the key of an entry, by keys, as ``Codec.local``."""
        graph, keyed_by = self._graph, self._runtime.keyed_by
        kinds = [row for row, name in enumerate(graph.type_names) if name in keyed_by]
        names = set(keyed_by.values())
        fields_of = [row for row, name in enumerate(graph.field_names) if name in names]
        if graph.ref_field is None:
            return {}
        rows = np.flatnonzero(np.isin(graph.ref_field, fields_of))
        is_key = np.isin(graph.type_index[graph.sources(rows)], kinds)
        keys = np.unique(graph.ref_target[rows[is_key]])
        found = np.flatnonzero(np.isin(graph.ref_target, keys))
        sources = graph.sources(found)
        is_other = ~np.isin(graph.type_index[sources], kinds)
        fields, statics = dict[int, str](), dict[int, str]()
        for row, source in zip(
            found[is_other].tolist(), sources[is_other].tolist(), strict=True
        ):
            field, target = graph.field_name(row), int(graph.ref_target[row])
            if self.declares(source, field):
                words = self.holder(source, field).removeprefix("static field ")
                statics.setdefault(target, words)
            elif field is not None and not field.startswith(("[", "<")):
                words = f"{graph.captions.of(graph.type_name(source))}.{field}"
                fields.setdefault(target, words)
        return fields | statics

    def _static_of(self, index: int) -> str | None:
        graph = self._graph
        roots = np.flatnonzero(graph.root_object == index)
        named_roots = [
            self.root_name(root)
            for root in roots.tolist()
            if self.static_field(root) is not None
        ]
        return named_roots[0] if named_roots else None

    def holder(self, index: int, field: str | None, part: str | None = None) -> str:
        """An object and its field in words, such as ``Cache.items``.

        Args:
            index: The object.
            field: The field that holds; ``None`` if not recorded.
            part: What the object stands for, if known, in place of its name.
        """
        name = self._graph.type_name(index)
        if self.declares(index, field):
            declaring = self._graph.type_names[self.described[index]]
            return f"static field {self._graph.captions.of(declaring)}.{field}"
        part = self.part(index) if part is None else part
        if part is not None:
            words = self._words[int(self._graph.type_index[index])]
            text = words.get(field or "", words[""])
            return text.format(name=part, field=field or "?")
        prefix = self._runtime.module_prefix
        if prefix and name.startswith(prefix) and field is not None:
            caption = self._graph.captions.of(name)
            of = f" of {caption.removeprefix(prefix)}" if caption != prefix else ""
            return f"module-level {field}{of}"
        kind = int(self._graph.type_index[index])
        caption = self._globals.get(kind) or self._graph.captions.of(name)
        if field is None or field.startswith("["):
            return caption  # the place of one says nothing about the others
        prefix = self._runtime.scope_prefix
        if prefix and name.startswith(prefix):
            script = "" if name == prefix else f" in {caption.removeprefix(prefix)}"
            return f"variable {field} of a function{script}"
        return f"{caption}{IN_WEAK_MAP}" if field == EPHEMERON else f"{caption}.{field}"

    @cached_property
    def _globals(self) -> dict[int, str]:
        """What a program calls its global object, by type, where it has but one."""
        found, pages = dict[int, str](), dict[str, set[str]]()
        for pattern, words in self._runtime.global_objects:
            match = re.compile(pattern).fullmatch
            for kind, name in enumerate(self._graph.type_names):
                if kind not in found and (one := match(name)):
                    found[kind] = words
                    pages.setdefault(words, set()).add(one[1])
        return {kind: words for kind, words in found.items() if len(pages[words]) == 1}

    def global_named(self, text: str) -> Named | None:
        """The global object that a text names; ``None`` if it names none."""
        name, dot, field = text.partition(".")
        kinds = [kind for kind, words in self._globals.items() if words == name]
        rows = np.flatnonzero(np.isin(self._graph.type_index, kinds))
        return Named(rows.astype(np.int32), field if dot else None) if kinds else None

    @cached_property
    def packages(self) -> frozenset[str]:
        """The packages of libraries, as the places of code tell them."""
        graph, (code, pattern) = self._graph, self._runtime.code_places
        if not code or graph.values is None or code not in graph.type_names:
            return frozenset()
        rows = np.flatnonzero(graph.type_index == graph.type_names.index(code))
        texts = filter(None, graph.values.pick(rows.astype(np.int32)))
        found = map(re.compile(pattern).search, texts)
        return frozenset(one[1] for one in found if one is not None)

    def roots_named(self, text: str) -> Bools | None:
        """Bool (R,): the roots that a text names; ``None`` if it names none."""
        number, rows, _ = self._roots_by_words
        return np.isin(number, rows[text]) if text in rows else None

    def roots_like(self, text: str) -> str | None:
        """The words of the roots whose last words are ``text``, if one text is so."""
        every = self._roots_by_words.rows
        found = [words for words in every if words.endswith((f" {text}", f".{text}"))]
        return found[0] if len(found) == 1 else None

    @cached_property
    def _roots_by_words(self) -> _RootWords:
        graph = self._graph
        further = (graph.root_field, graph.root_owner, graph.root_frame)
        columns: list[NDArray[Any]] = [graph.root_kind, graph.root_type, self.tables]
        columns += [column for column in further if column is not None]
        rows = np.stack([column.astype(np.int64) for column in columns])
        _, first, number = np.unique(
            rows, axis=1, return_index=True, return_inverse=True
        )
        found, roles = dict[str, list[int]](), dict[str, str]()
        for at, row in enumerate(first.tolist()):
            found.setdefault(self.root(row), []).append(at)
        alike: dict[str, list[str]] = {}
        for words in found:
            alike.setdefault(self._alike(words), []).append(words)
        for text, some in alike.items():
            every = sorted(at for words in some for at in found[words])
            owners = () if graph.root_owner is None else graph.root_owner[first[every]]
            is_one = len(some) == 1 and len({*owners}) < 2
            roles |= dict.fromkeys(some, role := self._role(some, is_one))
            found |= dict.fromkeys((text, role), every)
        return _RootWords(number.reshape(-1), found, roles)

    def objects_named(self, text: str) -> Named | None:
        """The objects that a text of `holder` names; ``None`` if there are none.

        Types are not looked for: see `ingest.what_if.cut_parser`.
        """
        graph = self._graph
        if text == UNNAMED_STATIC and self.tables.any():
            return Named(np.unique(graph.root_object[self.tables]), None)
        if self.described and (found := re.fullmatch(r"static field (.+)\.(.+)", text)):
            declaring = [
                row
                for row, kind in self.described.items()
                if graph.captions.of(graph.type_names[kind]) == found[1]
            ]
            if declaring and found[2] in graph.field_names:
                return Named(np.array(sorted(declaring), np.int32), found[2])
        if found := re.fullmatch(f"{PROPERTY}(.+)\\.([^.]+)", text):
            return self._functions(*found.groups())
        runtime, prefix, wanted = self._runtime, self._runtime.module_prefix, ""
        if prefix and (found := re.fullmatch(r"module-level (.+?)( of .+)?", text)):
            wanted = prefix + (found[2] or "").removeprefix(" of ")
        elif runtime.scope_prefix and (
            found := re.fullmatch(r"variable (.+?) of a function( in .+)?", text)
        ):
            prefix = runtime.scope_prefix
            wanted = prefix + (found[2] or "").removeprefix(" in ")
        if wanted and found is not None:
            kinds = [
                row
                for row, name in enumerate(graph.type_names)
                if name.startswith(prefix) and graph.captions.of(name) == wanted
            ]
            rows = np.flatnonzero(np.isin(graph.type_index, kinds)).astype(np.int32)
            if len(rows):
                return Named(rows, found[1])
        return next(self._parts_named(text), None)

    def _functions(self, name: str, field: str) -> Named | None:
        """The functions of a name; ``None`` if there are none."""
        graph = self._graph
        is_function = [kind == self._runtime.function_type for kind in graph.type_names]
        rows = np.flatnonzero(np.array([*is_function, False])[graph.type_index])
        names = self._function_names(rows.astype(np.int32))
        of_name = [row for row, one in zip(rows, names, strict=True) if one == name]
        return Named(np.array(of_name, np.int32), field) if of_name else None

    def _parts_named(self, text: str) -> Iterator[Named]:
        """Objects that stand for a part of the program which a text names."""
        graph = self._graph
        known = set(graph.field_names)
        for kind in np.flatnonzero(self.stands).tolist():
            words = self._words[kind]
            rows, values = np.empty(0, np.int32), np.empty(0, object)
            for key, template in words.items():
                for name, field in _matches(template, text):
                    if field is not None and field not in known:
                        continue
                    if not len(rows):
                        rows = np.flatnonzero(graph.type_index == kind).astype(np.int32)
                        values = np.array(self._parts(kind, rows), object)
                    found = rows[values == name] if _NAME in template else rows
                    if len(found):
                        yield Named(found, field or key or None)

    def _parts(self, kind: int, rows: NDArray[np.int32]) -> list[str | None]:
        graph = self._graph
        if graph.type_names[kind] in self._runtime.keyed_by:
            return [self._key_of(row) for row in rows.tolist()]
        if graph.type_names[kind] in self._runtime.named_by:
            return [self.part(row) for row in rows.tolist()]
        return [None] * len(rows) if graph.values is None else graph.values.pick(rows)


def _matches(template: str, text: str) -> Iterator[tuple[str, str | None]]:
    """The names and fields that turn a template into a text."""
    if _FIELD not in template:
        before, _, after = template.partition(_NAME)
        if (
            text.startswith(before)
            and text.endswith(after)
            and (len(text) > len(before) + len(after) or text == template)
        ):
            yield text[len(before) : len(text) - len(after)], None
        return
    pattern = re.escape(template)
    pattern = pattern.replace(re.escape(_NAME), "(?P<name>.+)")
    pattern = pattern.replace(re.escape(_FIELD), "(?P<field>.+)")
    for match in re.finditer(rf"\A(?:{pattern})\Z", text):
        groups = match.groupdict()
        yield groups.get("name") or "", groups["field"]
    if _NAME in template and (
        found := re.fullmatch(pattern.replace("(?P<name>.+)", "(?P<name>.+?)"), text)
    ):
        yield found["name"], found["field"]
