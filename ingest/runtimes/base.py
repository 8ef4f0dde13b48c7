"""The description of a runtime: its types, and the words for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray


class TypeClass(IntEnum):
    """What a type belongs to."""

    PROGRAM = 0
    """The program's own."""

    LIBRARY = 1
    """Values of the runtime and its libraries: strings, textures, streams."""

    CONTAINER = 2
    """Types that only lead to other objects: arrays of references, collections,
    delegates, boxes, tasks."""

    METADATA = 3
    """Data of the virtual machine about the program: classes, code, scripts."""

    ROOTS = 4
    """A pseudo object that stands for roots."""


class TypeColumns(NamedTuple):
    """The T types of a heap, and the P pairs of types with references between them.

    Attributes:
        names: T full names.
        classes: uint8 (T,). The `TypeClass` of each.
        instance_count: int64 (T,).
        shallow_bytes: int64 (T,), bytes. Size of all instances together.
        pair_source: int32 (P,). The type that refers.
        pair_target: int32 (P,). The type that is referred to.
        pair_count: int64 (P,). References of each pair.
    """

    names: Sequence[str]
    classes: NDArray[np.uint8]
    instance_count: NDArray[np.int64]
    shallow_bytes: NDArray[np.int64]
    pair_source: NDArray[np.int32]
    pair_target: NDArray[np.int32]
    pair_count: NDArray[np.int64]


class Platform(NamedTuple):
    """A platform of some programs of a runtime, such as Android.

    Attributes:
        name: The word in the ``needs:`` line of a query.
        program: What to call a program: ``an Android program``.
        type_prefix: Begins the full name of a type that no other program has.
        producer: Begins the text on what has written a dump of it.
        writes: How a dump of such a program is written.
    """

    name: str
    program: str
    type_prefix: str
    producer: str
    writes: str


_is_pattern = re.compile(r"[*?[]").search
_BOUNDED = tuple(
    f"*{name}{arguments}"
    for name in (
        "LruCache",
        "LRUCache",
        "LruMap",
        "LRUMap",
        "BoundedCache",
        "Bounded*Map",
    )
    for arguments in ("", "`*", "<*>")
)
"""Names that programs of any runtime give to caches with a bound."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Runtime:
    """One runtime, or a family of runtimes with the same types.

    Globs over full names, as the runtime spells them, classify types, in the order of
    `type_classes`. A type that no glob matches is the program's own.

    Attributes:
        name: Name in heaps, in the database and in ``needs:`` lines of queries.
        program: What to call a program that runs on it: ``a Java program``.
        owner: The word for what has roots of its own: a thread, or an isolate.
        domain: The word for a part of a heap with separate types.
        signs: Globs of types that only a heap of this runtime has, for formats that
            are written for several; see `ingest.runtimes.of_types`.
        roots: Globs of pseudo objects that stand for roots.
        metadata: Globs of the virtual machine's data about the program.
        links: Full names of such types whose objects also link values of the program,
            as a promise and what waits for it: what only these have is no metadata.
        variables_type: Full name of the type among these whose objects have the
            variables of a function; empty if it has none.
        top_class: The class of the runtime whose constants are those of the program
            that are in no class of its own; empty if there is none.
        constants: What the names of roots have by which classes have the constants of
            their code; empty for none.
        stubs: Regular expression of such data that grows with compiled code; empty for
            none but what is named code.
        code_texts: The fields of such data, by type, that refer to the text of code;
            and the fields by which parts of a text refer to it.
        of_loaders: Types whose objects are such data too, unless there are many more
            of them than of another type: open archives, and those of class loaders.
        loaders: Regular expression of the names of class loaders: what one has is known
            of its code, not what the program has it for.
        fixed: Globs of collections that cannot grow once they are made.
        values: Globs of values that would otherwise be containers, such as large arrays
            of numbers.
        containers: Globs of types that only lead to other objects.
        library: Globs of all other types of the runtime and its libraries.
        delegate_types: Finds, from a heap's types, rows of further types that only lead
            to other objects; ``None`` if names tell all.
        statics_table: Prefix of the full name of the arrays in which the runtime keeps
            its static fields; empty if it has no such arrays.
        patterns: Regular expressions of types that show how objects are held, by
            pattern; further ones are in `ingest.suspects.words`.
        spoken: Regular expressions of names that are long by what a compiler or the
            runtime has made of them, and what a sentence has in place of each.
        captured: Regular expression of fields that a compiler makes for what an inner
            class refers to; empty for none.
        lambdas: Regular expression of the types of lambdas, whose group is the class
            that has their code; empty for none.
        read_once: What the runtime reads from files of its own into a field or static
            field (empty for any), by the type that has it; and the most objects. Of a
            type with but one object, none are suspect: the certificates that are
            trusted, say.
        own_bytes: The runtime begins with so many bytes of values in its own fields,
            at most: they are no suspects.
        numbers: Regular expressions of parts of a type's name that differ between
            builds and runs, and their replacements. All are applied, in order.
        inside: Regular expressions of normalised names: entries, nodes and tables
            inside collections.
        platforms: Platforms of some of its programs.
        missing: Which objects its dumps leave out, as the end of a sentence; empty if
            none are known.
        bounded: Globs of caches that drop entries when they are full.
        limits: Caches whose bound is another object, by full name: what the bound is
            called, and the fields that lead to it.
        extended_map: Full name of a map that programs extend to make such caches; empty
            if there is none. Its entries are of types nested in it.
        collection_types: Full names of types that collections of libraries extend, as
            the runtime's own do.
        collection_parts: Regular expression of the end of a nested type's name, such as
            that of an entry of such a collection.
        traceback_type: Full name of the type by which exceptions hold frames; empty if
            they hold none.
        entries_fields: Fields in which collections have an array of their entries, and
            the full name of its type, where that is not one of ``inside``.
        pairs_field: That of these fields whose array has each key before its value;
            empty if none has.
        command: The static field that has the properties of a process, and the key of
            what it runs, a type or an archive; empty if none has.
        code_places: Full name of the code whose value has its place, and the regular
            expression of places of libraries, whose group is the package.
        roomy: What the collections whose room may be empty have it for, by their full
            names.
        weak_entry: Full name of the entries of maps that hold their keys weakly; empty
            if such maps have no entries of their own.
        weak_type: Full name of the type that all types of weak references extend, whose
            objects refer weakly to what is not gone; empty if dumps do not tell.
        weak_references: Full names of the types of weak references.
        weak_collections: Globs of types of collections that remove what they refer to
            weakly as soon as it is freed.
        worker: Full name of the type of an executor's workers, which refer to it and to
            their threads; empty if there is none.
        runs: The fields by which a thread has what it runs until it ends.
        waiting: How futures refer to what waits for them, until they are done: by type,
            the field (``None`` for a reference without one) and the types of what it
            leads to (one that is empty for any).
        futures: Regular expression of types of futures that have what waits for them
            in a field without a name, or in a list; empty if there are none.
        continuations: The same of what waits for them.
        timers_by_ms: Full name of lists of timers, each of which is kept by their
            period in ms; empty if there are none.
        timer_calls: The field of timers, by full name, with the function that they
            call: none of one that has been cancelled.
        timers: Full names of timers, which the runtime has in lists of its own for as
            long as they are scheduled.
        one_shots: The fields of timers with their delay in ms, and with whether they
            come again, by full name.
        stack_of: Full name of threads whose size includes their stack; empty if no
            type's does.
        stacks_in_heap: Full name of threads whose stacks are objects of the heap while
            they wait; empty if no type's are.
        listeners: Regular expression of names of listeners, and of what has these only;
            empty for none.
        delays: Regular expression of the types of what waits for a timer that fires
            once; empty if there are none.
        ended_by: The method that ends what objects of a type do, and with it what holds
            them, by their full name.
        wakes: What has the tasks that wait for it, by its full name, and the method
            with which it lets them go on; empty if no program can call it.
        awaits: The field in which tasks have the future that they wait for, by their
            full name.
        results: What a reference of a task that is done says: its fields with what the
            task came to, and the type of that if it came to nothing.
        writes: How a program of it writes a dump, where no command takes one.
        unrecorded: Collections whose entries its dumps do not record: bytes of each
            entry that one has room for, by full name; see `room`.
        unrecorded_bytes: Bytes of such a collection and its table without the entries.
        finalizer_threads: Names of the threads that call finalizers.
        finalizer_rests: Part of the place where such a thread is when it has ended with
            all; empty if unknown.
        supertypes: Fields that lead, one after the other, from a class object to the
            class objects that it extends, with ``[]`` for the elements of a tuple;
            empty if its dumps do not tell.
        enums: Full names of types of which types of constants, or their class objects,
            are subtypes; empty if there are none, or dumps do not tell.
        enum_name: The field of a constant with its name.
        weak: Words for what refers to objects in its dumps without keeping them alive;
            empty if there is nothing of the kind.
        counts_references: Whether it frees most objects at once, by counting
            references, so that only circles wait for its collector.
        has_finalizer_queue: Whether objects that wait for their finalizers have roots.
        lasting_ids: Tells which ids name the same object in all dumps of one process;
            ``None`` if no ids do.
        unique_hashes: Whether identity hash codes are of one object each, as those are
            that a reader makes, and higher in later dumps.
        unloads_types: Whether a type can be loaded again and again, and be unloaded.
        module_prefix: Prefix of types that stand for the variables of a script or
            module, whose name follows; empty if there is none.
        scope_prefix: Prefix of types that stand for the variables of a function, whose
            script follows; empty if there is none.
        outer_scope: The field by which a scope refers to the one around it, and the
            prefix of the types of scopes without a script; both empty for none.
        private_prefix: Prefix of fields that only the code which has made them can
            refer to; empty if there are none.
        global_objects: Regular expressions of the types of the global object, whose
            group tells one from another, each with what a program calls it.
        mapped_prefix: Prefix of types by which the runtime maps its own files, which
            take no memory of the program; empty if there are none.
        module_type: Full name of the type of modules, whose variables are roots; empty
            if they are no objects.
        limited_keys: Globs of types of which a program has a limited number, whatever
            its input.
        ended: Words for objects whose type shows that they are no longer used, by a
            prefix of its full name: ``detached from all documents``.
        queued_tasks: Tasks that stay in their queue when they are cancelled, with the
            field of what each calls, which it loses then, and the type of the queue.
        ended_words: Values by which components that the system has ended say so: they
            are suspects, however little they retain.
        records: Full names of types of objects without a class, which programs also use
            as maps: their fields are its keys.
        function_type: Full name of the type of functions whose value is their name and
            place; empty if there is none.
        handlers_fields: Fields in which emitters of events have all handlers.
        function_fields: Regular expression of fields of such functions that are not
            properties, which a program gives them.
        called_fields: Fields by which a call that waits, or a bound function, refers to
            its function.
        no_class: Regular expression of types that are known by their contents alone.
        embedder: Regular expression of collections of the program that has the runtime
            inside, such as a browser.
        library_functions: Regular expression that matches values of those functions
            that are not the program's own.
        library_scripts: The same of constructors: their classes are of the library.
        closure_field: The field of functions that has the cells of their variables.
        shape: Prefix of the names of types that objects without a class have; empty if
            all have one.
        listener: What the names of types without a class begin with whose objects each
            have an event handler; empty if there are none.
        has_structures: Whether elements of an array may be structures, not objects.
        has_private_fields: Whether fields are declared by a type, and those of a
            library are not for programs to change.
        freed_by: Regular expressions of cuts that no program makes by itself, or of
            types below these, and what it does instead.
        passing_roots: Names of roots that say nothing of growth: by which a debugger
            keeps what a program has printed since that is there, and tables that drop
            what nothing else has.
        of_finalizer: Names of types of which the runtime has one for each object that
            has a finalizer.
        of_document: What the names of types begin with whose objects are shown in a
            document, which holds them whatever else refers to them.
        prototype_type: Full name of the type of prototypes, whose value is the name of
            their class and which refer to its constructor; empty if there are none.
        shape_type: Full name of the type of what leads from objects to the functions of
            their class; ``None`` if there is none.
        collections: Words for the runtime's own collections, by full name, if a
            variable of the program refers to one; empty if the pattern says it.
        holders: Full names of types of the runtime whose objects hold on behalf of a
            part of the program, which their value names. Each has words by the field
            that holds, with ``{name}`` and ``{field}``; the words under ``""`` are for
            other fields.
        class_type: The holder that is the type of classes, if a class can be of a type
            of its own, which holds as this one does; empty if none can.
        keyed_by: Those holders that stand for another object, with the field that
            refers to it. An entry of a map of thread-locals stands for its key, and is
            named after the static field that holds the key.
        named_by: Those that have no value, with the ways by fields to the texts of
            their name.
        namespaces: Full names of types that hold static fields a second time, besides
            the roots that stand for these fields.
        weak_holders: Those holders that soon end, as frames do: they are named only if
            nothing else holds.
        variables: Regular expressions of those whose fields are local variables, and of
            those of their fields that are none.
        filler: The type whose presence tells that the collector fills gaps with arrays,
            and the type of these in dumps; both empty if none is seen.
        root_words: Words for roots, by the name of the kind, that differ from those of
            `ingest.suspects.words`.
        root_signs: Sentences that speak for a leak of what roots of a kind hold, by its
            name.
    """

    name: str
    program: str
    owner: str = "thread"
    domain: str = "domain"
    signs: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    variables_type: str = ""
    top_class: str = ""
    constants: str = ""
    stubs: str = ""
    code_texts: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    of_loaders: Mapping[str, str] = field(default_factory=dict)
    loaders: str = r"(?!)"
    fixed: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    delegate_types: Callable[[TypeColumns], NDArray[np.int64]] | None = None
    statics_table: str = ""
    patterns: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[tuple[str, str], ...] = ()
    spoken: tuple[tuple[str, str], ...] = ()
    captured: str = ""
    lambdas: str = ""
    read_once: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    own_bytes: int = 0
    inside: tuple[str, ...] = ()
    platforms: tuple[Platform, ...] = ()
    missing: str = ""
    bounded: tuple[str, ...] = ()
    limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extended_map: str = ""
    collection_types: tuple[str, ...] = ()
    collection_parts: str = ""
    limited_keys: tuple[str, ...] = ()
    ended: Mapping[str, str] = field(default_factory=dict)
    ended_words: tuple[str, ...] = ()
    queued_tasks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    records: tuple[str, ...] = ()
    function_type: str = ""
    handlers_fields: Sequence[str] = ()
    function_fields: str = ""
    called_fields: tuple[str, ...] = ()
    no_class: str = "[^A-Za-z_$]"
    embedder: str = r"(?!)"
    library_functions: str = r"(?!)"
    library_scripts: str = r"(?!)"
    closure_field: str = ""
    shape: str = ""
    listener: str = ""
    has_structures: bool = False
    has_private_fields: bool = False
    freed_by: tuple[tuple[str, str], ...] = ()
    passing_roots: tuple[str, ...] = ()
    of_finalizer: tuple[str, ...] = ()
    of_document: tuple[str, ...] = ()
    prototype_type: str = ""
    shape_type: str | None = None
    collections: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    class_type: str = ""
    keyed_by: Mapping[str, str] = field(default_factory=dict)
    named_by: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    weak_holders: tuple[str, ...] = ()
    variables: tuple[str, str] = ("(?!)", "")
    filler: tuple[str, str] = ("", "")
    root_words: Mapping[str, str] = field(default_factory=dict)
    root_signs: Mapping[str, str] = field(default_factory=dict)
    traceback_type: str = ""
    entries_fields: Mapping[str, str] = field(default_factory=dict)
    pairs_field: str = ""
    command: tuple[str, str] = ("", "")
    code_places: tuple[str, str] = ("", "")
    roomy: Mapping[str, str] = field(default_factory=dict)
    weak_entry: str = ""
    weak_type: str = ""
    weak_references: tuple[str, ...] = ()
    weak_collections: tuple[str, ...] = ()
    worker: str = ""
    runs: tuple[str, ...] = ()
    waiting: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    futures: str = ""
    continuations: str = ""
    timers_by_ms: str = ""
    timer_calls: Mapping[str, str] = field(default_factory=dict)
    timers: tuple[str, ...] = ()
    one_shots: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stack_of: str = ""
    stacks_in_heap: str = ""
    listeners: str = ""
    delays: str = ""
    ended_by: Mapping[str, str] = field(default_factory=dict)
    wakes: Mapping[str, str] = field(default_factory=dict)
    awaits: Mapping[str, str] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    writes: str = ""
    unrecorded: Mapping[str, int] = field(default_factory=dict)
    unrecorded_bytes: int = 0
    finalizer_threads: tuple[str, ...] = ()
    finalizer_rests: str = ""
    supertypes: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    enum_name: str = "name"
    weak: str = "weak references or weak roots"
    counts_references: bool = False
    has_finalizer_queue: bool = False
    lasting_ids: Callable[[NDArray[np.uint64]], NDArray[np.bool_]] | None = None
    unique_hashes: bool = False
    unloads_types: bool = False
    module_prefix: str = ""
    scope_prefix: str = ""
    outer_scope: tuple[str, str] = ("", "")
    private_prefix: str = ""
    global_objects: tuple[tuple[str, str], ...] = ()
    module_type: str = ""
    mapped_prefix: str = ""

    @property
    def identified_by(self) -> str:
        """The column that alone identifies an object in all dumps of its process.

        Returns:
            The name of a column of the objects' table; empty if there is none.
        """
        if self.lasting_ids is not None:
            return "address"
        return "identity_hash" if self.unique_hashes else ""

    @cached_property
    def _rules(self) -> tuple[tuple[TypeClass, Callable[[str], object]], ...]:
        """Matchers of the names of each class, in the order to try them."""
        return (
            (TypeClass.ROOTS, _any(self.roots)),
            (TypeClass.METADATA, _any(self.metadata)),
            (TypeClass.LIBRARY, _any(self.values)),
            (TypeClass.CONTAINER, _any(self.containers)),
            (TypeClass.LIBRARY, _any(self.library)),
        )

    @cached_property
    def _is_sign(self) -> Callable[[str], object]:
        return _any(self.signs)

    @property
    def scopes(self) -> tuple[str, ...]:
        """Prefixes of the types that stand for variables, and of other scopes."""
        found = self.scope_prefix, self.module_prefix, self.outer_scope[1]
        return tuple(filter(None, found))

    def speak(self, text: str) -> str:
        """A text without what a compiler or the runtime has made of its names."""
        for pattern, words in self.spoken:
            text = re.sub(pattern, words, text)
        return text

    def frees(self, cut: str, of: str) -> str:
        """What a program does in place of a cut, part by part; empty if unknown.

        Args:
            cut: The cut.
            of: What to write before a colon and the part of the cut.
        """

        def of_text(text: str) -> str:
            known = (words for way, words in self.freed_by if re.search(way, text))
            return next(known, "")

        parts = cut.split(" and ")
        found = [of_text(part) for part in parts]
        if len({*found} - {""}) < 2:
            words = of_text(cut)
            return f"{words}{of}: {cut}" if words else ""
        told = zip(found, parts, strict=True)
        return ", and ".join(
            f"{words}: {part}" if words else f"clear {part}" for words, part in told
        )

    @cached_property
    def is_bounded(self) -> Callable[[str], object]:
        """Whether a type has the name of a cache that drops entries when it is full."""
        return _any((*_BOUNDED, *self.bounded))

    def room(self, name: str, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64: for how many entries, about, such collections of a type have room."""
        room = (size_bytes - self.unrecorded_bytes) // self.unrecorded[name]
        return np.asarray(np.maximum(room, 0), np.int64)

    def is_listener(self, name: str) -> bool:
        """Whether objects of a type each have an event handler."""
        return bool(self.listener) and name.startswith(self.listener)

    def has_shape(self, name: str) -> bool:
        """Whether objects of a type have no class, but a shape."""
        return bool(self.shape) and name.startswith(self.shape)

    def over(self, name: str) -> str:
        """What the name of a type says of objects that are no longer used, or empty."""
        found = (what for prefix, what in self.ended.items() if name.startswith(prefix))
        return next(found, "")

    @cached_property
    def are_listeners(self) -> Callable[[str], object]:
        """Whether a type is one of listeners, or has nothing but these."""
        return re.compile(self.listeners or "(?!)").search

    @cached_property
    def is_global(self) -> Callable[[str], object]:
        """Whether a type is that of the global object."""
        patterns = (pattern for pattern, _ in self.global_objects)
        return re.compile("|".join(patterns) or "(?!)").fullmatch

    @cached_property
    def is_called(self) -> Callable[[str], object]:
        """Whether a type is one of functions, or of what these have or are kept in."""
        kinds = map(self.patterns.get, ("closure", "delegate", "event handlers"))
        patterns = filter(None, (*kinds, self.lambdas))
        return re.compile("|".join(patterns) or "(?!)").search

    @cached_property
    def is_fixed(self) -> Callable[[str], object]:
        """Whether a type is a collection that cannot grow."""
        return _any(self.fixed)

    @cached_property
    def is_weak_collection(self) -> Callable[[str], object]:
        """Whether a type is a collection without what is freed elsewhere."""
        return _any(self.weak_collections)

    @cached_property
    def is_limited(self) -> Callable[[str], object]:
        """Whether a program has a limited number of instances of a type."""
        return _any(self.limited_keys)

    def has_signs(self, type_names: Iterable[str]) -> bool:
        """Whether a heap with these types is one of this runtime."""
        return bool(self.signs) and any(map(self._is_sign, dict.fromkeys(type_names)))

    def type_classes(
        self, type_names: Sequence[str], own: Sequence[str] = ()
    ) -> NDArray[np.uint8]:
        """uint8 (T,): the `TypeClass` of each type.

        Args:
            type_names: T full names.
            own: Globs of types that are the program's own, whatever the runtime says;
                globs that begin with ``!`` are of a library. The last match decides.
        """
        return np.array(self._classes(tuple(type_names), tuple(own)), np.uint8)

    @cached_property
    def _classes(self) -> Callable[[tuple[str, ...], tuple[str, ...]], list[TypeClass]]:
        """The same, remembered for those that were asked last: of all of a heap."""
        return lru_cache(maxsize=4)(self._classified)

    def _classified(
        self, type_names: tuple[str, ...], own: tuple[str, ...]
    ) -> list[TypeClass]:
        rules = list(self._rules)
        for glob in own:
            kind = TypeClass.LIBRARY if glob.startswith("!") else TypeClass.PROGRAM
            rules.insert(0, (kind, _any([glob.removeprefix("!")])))
        classes = dict.fromkeys(type_names, TypeClass.PROGRAM)
        for name in classes:
            for kind, matches in rules:
                if matches(name):
                    classes[name] = kind
                    break
        return [classes[name] for name in type_names]


def _any(globs: Sequence[str]) -> Callable[[str], object]:
    """A match of any of some globs against a whole name."""
    # Most are names or beginnings of names, for which no pattern has to be compiled.
    names = frozenset(glob for glob in globs if not _is_pattern(glob))
    begins = [glob for glob in globs if glob[-1:] == "*" and not _is_pattern(glob[:-1])]
    beginnings = tuple(glob[:-1] for glob in begins)
    others = [glob for glob in globs if glob not in names and glob not in begins]
    # An empty alternative would match every name.
    matches = re.compile("|".join(map(translate, others)) or "(?!)").match
    return lambda name: (
        name in names or name.startswith(beginnings) or matches(name) is not None
    )
