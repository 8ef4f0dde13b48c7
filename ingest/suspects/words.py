"""A leak suspect in words: how it is held, where to cut, one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ingest.heap.graph import EPHEMERON, RootKind
from ingest.runtimes import named
from ingest.suspects.steps import beginning_of, end_of
from ingest.what_if.places import NATIVE_HANDLE, OF_THREADS, UNNAMED_ROOT
from ingest.words.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ingest.suspects.holders import Holder
    from ingest.words.text import Captions

_NO_COLLECTIONS = ("timer", "registrations", "event handlers", "listeners", "handles")
_ARGUMENTS = re.compile(r"(?<=.)(?:`\d+)?(?:\[(?!\]).*?\]|<.*>)(?=(?:\[\])*$)")
"""The type arguments in the name of a type."""
_OF_TABLES = re.compile(r".*(?:Dictionary|List|Map|Queue|Set|Stack)\[\]$")
"""An array of collections, which is none of these itself."""
_OF_LOCAL = re.compile(r"a (?:frame of [^>]+|local variable) -> (\S+)")
_THREADS = re.compile(r"threads? (?!.* -> ).+")
_COROUTINE = re.compile(r"(?:^| and )coroutine ")
_TASK = re.compile(r"\.Tasks\.")

_SET = re.compile(
    r"(?:^|[.$_/:]|Hash|Tree|Sorted|Linked|Array|List|Enum|Frozen|Identity|Key|Ordered"
    r"|Weak|Singleton|(?:Checked|Compact|Concurrent|Immutable|Open|Persistent"
    r"|Synchronized|Unmodifiable)\w*)Set(?![a-z])|^(?:frozen)?set$"
)
"""A type of sets, which may have a map inside."""

_ALONE = ("Listener", "Observer")
"""How names of single listeners end."""

_ENDED = re.compile(
    r"(?:Adapter|Callback|Channel|Client|Connection|Consumer|Handler|Listener|Observer"
    r"|Producer|Registration|Session|Socket|Stream|Subscri(?:ber|ption)|Watch(?:er)?)"
    r"(?:Impl)?(?:\$.*)?$"
)
"""A type of what can be closed or unregistered, by its name."""

_UNITS = ("bytes",)
"""Types that are called as a unit, of which a number would read as a size."""

OF_BOTH = "both"
"""What the share is of, where objects own memory outside the heap."""

MAX_SENTENCE, _MAX_NAME, _MOST_ROOTS = 300, 60, 3

_PATTERNS = {
    "registrations": r"^CallbackPartition|CancellationTokenSource\+CallbackNode"
        r"|CancellationTokenSource\+Registrations",
    "timer": r"(?<!WaitOr)Timer",
    "event handlers": r"EventHandler|Delegate(?!d)|Handler(`|$)|Callback(`|$)"
        r"|StreamSubscription",
    "listeners": "",
    "lock": "",
    "lazy list": "",
    "cache": r"Cach|Memo(?!r)",
    "queue": r"Queue(?!\w*(?:Element|Entry|Item|Task)(?!\w))|Deque",
    "linked list": r"LinkedList",
    "map": r"Dictionary|Hashtable|HashMap|HashSet|Bucket|bucket",
    "stack": r"Collections.*Stack",
    "list": r"List|Collection|\[\]|Vector",
    "closure": "",
}  # fmt: skip
"""What a type on the way from a holder to what it holds says of the pattern, whatever
the runtime is. The first one counts that any type matches."""

_PHRASES = {
    "timer": "through timers",
    "registrations": "as cancellation registrations",
    "event handlers": "as event handlers",
    "listeners": "as listeners",
    "lock": "as waiters of a lock",
    "waiters": "as waiters",
    "lazy list": "in a lazy list",
    "cache": "in a cache",
    "queue": "in a queue",
    "linked list": "in a linked list",
    "map": "in a map",
    "set": "in a set",
    "stack": "in a stack",
    "list": "in a list",
    "closure": "through a closure",
    "object": "",
    "handles": "",
}

_TABLES = ("list", "map", "set")
_MANY_IN = ("queue", "map", "stack", "list")
"""Patterns of collections, of which one may be inside of each entry of another."""

_FRAME = RootKind.JAVA_FRAME.label

_COLLECTIONS = {
    "timer": "cancel the timers",
    "registrations": "dispose the registrations and linked sources",
    "event handlers": "remove the handlers",
    "listeners": "unregister the listeners",
    "cache": "remove entries",
    "queue": "remove entries",
    "linked list": "remove entries",
    "map": "remove entries",
    "set": "remove entries",
    "stack": "remove entries",
    "list": "remove entries",
    "handles": "free the handles",
}


@cache
def _patterns(runtime: str) -> tuple[tuple[str, Callable[[str], object]], ...]:
    """What finds each pattern in the name of a type, in the order in which to ask."""
    further = named(runtime).patterns
    return tuple(
        (pattern, re.compile("|".join(filter(None, words)) or "(?!)").search)
        for pattern, words in (
            (pattern, (known, further.get(pattern)))
            for pattern, known in _PATTERNS.items()
        )
    )


_LONG_SHAPE = re.compile(r"(\{(?:[^,{}]+, ){3})[^{}]{20,}(?:\}|…$)")


def _end_of(text: str) -> str:
    """The end of a long name, which tells more than what is before it."""
    return end_of(_LONG_SHAPE.sub(r"\1…}", text), 2 * _MAX_NAME)


def _shortened(text: str) -> str:
    return beginning_of(text, MAX_SENTENCE)


@dataclass(frozen=True)
class Words:
    """A suspect in words.

    Attributes:
        type_name: Full name of the type that accumulates.
        object_count: How many there are.
        retained_bytes: What they retain; ``None`` if that is not known.
        share: Of the reachable bytes, 0 to 1; with those outside if they own such.
        outside_bytes: What they own outside the heap.
        holder: What holds them.
        between: Full names of the types from what the holder refers to down to the
            objects.
        outer: Those of these types whose objects have nearly all of what is freed, but
            for what each object has its own of.
        are_keys_too: Whether they are keys of entries, and the values of these as well.
        is_run: Whether objects of the type retain one another.
        is_chain: Whether a few of them retain nearly all others.
        is_collection: Whether objects of the type are collections themselves, so that
            one that leads to them may be what they are in.
        captions: Short names of the types.
        runtime: Name of the runtime.
        function: Name and place of a function that holds one of them; ``None`` if there
            is none.
        calls: The same of one that one of them refers to.
        cut: The references to remove, as ``Holder.field -> Type``.
        also: Further places that hold them, in words: all have to go.
        alone_bytes: What one of these places alone holds at most, if that is a part of
            what they free; else 0.
        meanwhile: The same of frames and the like, which end of themselves.
        is_group: Whether many places of one role hold them, each its own.
        is_mostly: Whether they hold most of them only.
        others: Fields of others that also refer to each of them, in words, if they are
            held one by one and these are few.
        companions: What is freed with them and is more than they are, in words.
        inside_cut: The cut that frees the companions alone, which each of them has
            collected; empty if there is none.
        direct_count: How many are in their collection themselves, if the others are
            parts of these; 0 otherwise.
        there_count: How many their collection has, if that has others; 0 otherwise.
        link: The fields by which one of a list holds the next one; empty if unknown.
        has_many: Whether many threads have a holder of these words.
        roots: The roots below which several holders are, in words; empty for one.
        has_one_root: Whether the paths to all begin at one static field.
        is_sparse: Whether they are an array that is nearly empty.
        is_cancelled: Whether they are tasks that were cancelled.
        waits_for: The finalizer in words if they wait for it, else ``None``.
        inner: The collection inside of the cut's that has them, as ``list ['resize']``;
            empty if it is the cut's.
        spread: Where in that they are held, with ``{}`` for how the cut holds that, as
            ``in 30 lists {}``; empty if that tells all.
        shared: The collection that has all of them if several places refer to it, in
            words; empty if none has.
        future: The type of what is not done and keeps them until then; empty if there
            is none.
        has_room: Collections that may hold them where the file does not tell.
        entries: The pattern of what has them as its entries, where its type does not
            tell it; empty for none.
        frame: The frame whose local variable is the root; empty if that is not known.
        place: Where the threads are that hold them; empty if that is not known.
        library: What the program has of a library if the holder is part of it, and the
            program's own reference to that, or to a holder of the type of what it
            holds; each empty if there is none.
    """

    type_name: str
    object_count: int
    retained_bytes: int | None
    share: float
    holder: Holder
    between: Sequence[str]
    is_run: bool
    captions: Captions
    runtime: str = ""
    function: str | None = None
    calls: str | None = None
    cut: str = ""
    also: Sequence[str] = ()
    meanwhile: Sequence[str] = ()
    is_group: bool = False
    is_mostly: bool = False
    others: Sequence[str] = ()
    companions: str = ""
    inside_cut: str = ""
    direct_count: int = 0
    there_count: int = 0
    waits_for: str | None = None
    link: str = ""
    outside_bytes: int = 0
    is_sparse: bool = False
    is_cancelled: bool = False
    has_many: bool = False
    has_one_root: bool = False
    roots: Sequence[str] = ()
    inner: str = ""
    spread: str = ""
    shared: str = ""
    alone_bytes: int = 0
    future: str = ""
    has_room: str = ""
    entries: str = ""
    place: str = ""
    frame: str = ""
    library: tuple[str, str] = ("", "")
    is_collection: bool = False
    outer: Sequence[str] = ()
    are_keys_too: bool = False
    is_chain: bool = False

    @cached_property
    def pattern(self) -> str:
        """How they are held; ``object`` where a field refers to them directly."""
        holder, between = self.holder, self.between
        cells = named(self.runtime).closure_field
        if cells and holder.reference == cells:
            between = between[2:]  # what has the variables is no list of the program
        is_in_like = self.is_collection and not self.is_run
        names = [name for name in between if is_in_like or name != self.type_name]
        if self._waker:
            return "waiters"
        if holder.reference in named(self.runtime).handlers_fields:
            return "event handlers"
        is_handle = holder.index < 0 and holder.root_kind in ("handle", "jni_global")
        for pattern, matches in _patterns(self.runtime):
            if self.is_chain and pattern in _TABLES:
                continue  # which has the first one only
            # A delegate holds the other handlers of its event in an array.
            asked = between if pattern == "event handlers" and names else names
            if pattern in (*_MANY_IN, "linked list"):
                # What each entry has its own of tells nothing.
                asked = self.outer if self._is_in_outer else self._to_first(names)
            are_listeners = pattern == "listeners" and self._are_listeners(names)
            asked = [_OF_TABLES.sub("[]", _ARGUMENTS.sub("", name)) for name in asked]
            if any(map(matches, asked)) or pattern == self.entries or are_listeners:
                if pattern == "event handlers" and is_handle:
                    break  # native code has them
                if pattern == "event handlers" and names:
                    if (kept := self._kept_in(names, matches)) is not None:
                        return kept
                    is_wrapped = self.is_run and not any(
                        name.endswith("[]") for name in names
                    )
                    if is_wrapped or _TASK.search(names[0]):
                        continue  # one calls the next, or it runs after a task
                return self._or_cache(pattern)
        if self.is_run:
            patterns = _patterns(self.runtime) if self.is_collection else ()
            own = (one for one, matches in patterns if matches(self.type_name))
            return next((one for one in own if one in _MANY_IN), "linked list")
        return "handles" if is_handle else "object"

    def _are_listeners(self, names: Sequence[str]) -> bool:
        """Whether a collection of listeners leads to them, or has them.

        Args:
            names: Full names of the types on the way.
        """
        is_listener = named(self.runtime).are_listeners
        every, is_in = (*names, self.type_name), False
        for at, name in enumerate(every):
            if is_listener(name) and (is_in or not name.endswith(_ALONE)):
                # What each of them has collected are no listeners.
                below = sum(one.endswith("[]") for one in every[at + 1 :])
                if below <= (not name.endswith(("[]", *_ALONE))):
                    return True
            is_in = self._has_many_in(name)
        return False

    def _to_first(self, names: Sequence[str]) -> Sequence[str]:
        """Names of types on the way, to the first that is told as a collection."""
        is_one = [self._has_many_in(re.sub(r"\[\]$", "", name)) for name in names]
        return names[: is_one.index(True) + 1] if True in is_one else names

    def _has_many_in(self, type_name: str) -> bool:
        """Whether a type is one of collections that are told as such."""
        known = dict(_patterns(self.runtime))
        return any(known[pattern](type_name) for pattern in _MANY_IN)

    @property
    def _is_in_outer(self) -> bool:
        """Whether what has nearly all of what is freed is told as a collection."""
        return any(map(self._has_many_in, self.outer))

    @property
    def _is_holder_over(self) -> bool:
        """Whether the type of their holder says that this is no longer used."""
        return bool(named(self.runtime).over(self.holder.type_name or ""))

    @property
    def _runs_in_thread(self) -> bool:
        """Whether a thread has them because it runs them, until it ends."""
        holder, runs = self.holder, named(self.runtime).runs
        is_near = holder.index in holder.path[:2] and holder.reference in runs
        return is_near and holder.root_kind == RootKind.THREAD.label

    @property
    def _has_others(self) -> bool:
        """Whether others hold them besides the place that is told."""
        is_of_all = self.is_group and self.cut == self.captions.of(self.type_name)
        return is_of_all and self.pattern not in _NO_COLLECTIONS

    @property
    def are_threads(self) -> bool:
        """Whether they are threads themselves, which nothing else holds."""
        is_root = self.holder.root_kind == RootKind.THREAD.label
        return is_root and self.holder.index < 0 and not self.between

    @property
    def _waker(self) -> str:
        """The type of what has the tasks that wait for it, and them; or empty."""
        wakes = named(self.runtime).wakes
        return next((name for name in self.between[:-1] if name in wakes), "")

    def _kept_in(
        self, names: Sequence[str], is_delegate: Callable[[str], object]
    ) -> str | None:
        """The pattern of a collection that has delegates as its entries.

        A collection may also have an event itself: a field of it refers to a delegate.
        """
        bare = [_ARGUMENTS.sub("", name) for name in names]
        delegates = [
            at
            for at, name in enumerate(bare)
            if not name.endswith("[]") and is_delegate(name)
        ]
        at = delegates[0] if delegates else 0
        is_own = at == 0 or (at == 1 and not bare[0].endswith("[]"))
        if is_own or is_delegate(self.holder.type_name or ""):
            return None
        for pattern, matches in _patterns(self.runtime):
            if matches(bare[0]):
                is_kept = pattern in _COLLECTIONS and pattern not in _NO_COLLECTIONS
                return self._or_cache(pattern) if is_kept else None
        return None

    def _or_cache(self, pattern: str) -> str:
        """The pattern; ``set`` or ``cache`` where what has a map or list is one."""
        if pattern not in ("map", "list"):
            return pattern
        if self._is_in_set:
            pattern = "set"
        owner, runtime = self.holder.type_name or "", named(self.runtime)
        # The name of a script or its path tells nothing of its variables.
        prefixes = filter(None, (runtime.module_prefix, runtime.scope_prefix))
        of_script = owner.startswith(tuple(prefixes))
        names = ("" if of_script else owner, self.holder.reference or "")
        is_cache = any(
            re.search("cache|memo(?!r)", name, re.IGNORECASE) for name in names
        )
        return "cache" if is_cache else pattern

    @property
    def _is_in_set(self) -> bool:
        """Whether the first collection that leads to them is a set."""
        for name in self.outer if self._is_in_outer else self.between:
            if _is_set(name):
                return True
            if self._has_many_in(name):
                break
        return False

    @property
    def _is_unrecorded(self) -> bool:
        """Whether the file does not tell what holds them."""
        holder = self.holder
        return holder.index < 0 and holder.root_kind == RootKind.NOT_RECORDED.label

    @property
    def _holder(self) -> str:
        """The holder and its field in words."""
        if self.holder.is_shared:
            return "the runtime's table of interned values"
        words = self.holder.role if self.is_group else self.holder.words
        return _end_of(named(self.runtime).speak(words))

    @property
    def _collection(self) -> str | None:
        """The collection of a variable of the program that has them, by its name."""
        holder = self.holder
        if holder.index >= 0 or holder.root_kind != "static" or not self.between:
            return None
        if self.is_group:
            return None
        if holder.root_field is None or holder.root_name is None:
            return None
        word = named(self.runtime).collections.get(self.between[0])
        return None if word is None else f"{word} {holder.root_name}"

    @property
    def sentence(self) -> str:
        """All in a sentence of at most `MAX_SENTENCE` characters."""
        is_one, name = self.object_count == 1, self._short(self.type_name)
        what = counted_objects(self.object_count, name)
        what = f"One {_object(name)}" if is_one else what
        if self.there_count:
            what = f"{self.object_count:,} of {self.there_count:,} {_object(name)}"
        if self.retained_bytes is not None:
            size, of = human_bytes(self.retained_bytes), "the reachable heap"
            if self.outside_bytes:
                size += f" and {human_bytes(self.outside_bytes)} outside the heap"
                of = OF_BOTH
            what += f" ({size}, {self.share:.0%} of {of})"
        if self.direct_count:
            what += f", {self.direct_count:,} of them directly,"
        if self.companions:
            what += f" with {self.companions}"
        if self.waits_for is not None:
            verb = "waits" if is_one else "wait"
            return _shortened(f"{what} {verb} for {self.waits_for}.")
        if self.are_threads:
            are = "is a thread that has" if is_one else "are threads that have"
            name = re.sub("^threads? ", "", self._holder)
            return _shortened(f"{what} {are} not ended: {name}.")
        what += " is held" if is_one else " are held"
        what += ", mostly" if self.is_mostly else ""
        are_in_map = self.are_keys_too and self.pattern in ("map", "cache")
        what += " as keys and values" if are_in_map else ""
        if (collection := self._collection) is not None:
            text = f"{what} in {collection}"
        else:
            phrase = _PHRASES[self.pattern]
            if self.spread and self.pattern not in _NO_COLLECTIONS:
                phrase = self.spread.replace("{}", phrase).rstrip(", ")
            if self._waker:
                phrase += f" of the {self._short(self._waker)}"
            is_handler = self.entries == "event handlers"
            if named(self.runtime).has_shape(self.type_name) and not is_handler:
                phrase = phrase.replace("as event", "through event")  # what they have
            text = f"{what} {phrase + ' ' if phrase else ''}by {self._holder}"
            text += f" in {_end_of(self.library[1])}" if self.library[1] else ""
            holder = self.holder
            of_threads = self.is_group and holder.root_kind in OF_THREADS
            has_many = self.has_many or of_threads
            root = holder.root_role if has_many else holder.root_words
            root = " and ".join(self.roots) or root
            is_shown = of_threads or self.has_one_root or not self.is_group
            is_shown &= holder.index >= 0 and len(self.roots) <= _MOST_ROOTS
            # A variable with a name of its own needs no constant that leads to it.
            is_shown &= holder.type_name not in named(self.runtime).named_by
            is_shown &= not root.startswith((UNNAMED_ROOT, NATIVE_HANDLE, "a local"))
            # What soon ends is known by itself: the runtime has all such.
            ends = holder.type_name in named(self.runtime).weak_holders
            is_shown &= not ends or holder.root_name is not None
            # Of a variable without a name, which may as well be a constant.
            is_shown &= holder.root_name is not None or not root.startswith("a global")
            if is_shown:
                text += f", from {_end_of(root)}"
        text += "".join(f", and by {_end_of(words)}" for words in self.also)
        if self._has_others:
            text += f", and by {' and by '.join(self.others) or 'others'}"
        if self.meanwhile:
            more = f", and meanwhile by {_end_of(' and by '.join(self.meanwhile))}"
            text += more if len(text + more) < MAX_SENTENCE else ""
        if self.link and self.pattern == "linked list":
            text += f", each by the {_end_of(self.link)} of another"
        more = "; clearing only one of them frees nothing" if self.also else ""
        if self.alone_bytes:
            size = human_bytes(self.alone_bytes)
            more += f" but what it alone holds, at most {size}"
        more = more if len(text + more) < MAX_SENTENCE else ""
        return _shortened(f"{text}{more}.")

    @property
    def advice(self) -> str:
        """What frees them, in a sentence.

        Where a collection has them, its entries have to go: it is needed itself.
        """
        what = "it" if self.object_count == 1 else "them"
        if self.waits_for is not None:
            subject = "It is" if self.object_count == 1 else "They are"
            return (
                f"{subject} freed once the finalizer has ended with {what}: see what "
                f"it does, or do without it. `what-if --cut '{self.cut}'` counts "
                f"{what}."
            )
        if self.holder.is_shared:
            return (
                f"To free {what}, do not intern {what}. `what-if --cut '{self.cut}'` "
                f"counts {what}."
            )
        if self._is_unrecorded:
            return (
                f"To free {what}, find in the program what holds {what}: the file does "
                f"not tell{self.has_room and f'; {self.has_room}'}."
            )
        how = self._how(what)
        if self.function is not None:
            of_them = "" if self.object_count == 1 else "one of "
            is_other = self.type_name != named(self.runtime).function_type
            of_them = "the function that holds " * is_other + of_them
            how += f"; {of_them}{what} is {self.function}"
        elif self.calls is not None:
            which = "it" if self.object_count == 1 else "one of them"
            how += f"; {which} calls {self.calls}"
        if (method := named(self.runtime).ended_by.get(self.type_name)) is not None:
            each = "it" if self.object_count == 1 else "each"
            how = f"call {method} of {each}, or {how}"
        if self.place:
            how += f"; most of the threads are in {printable(self.place)}"
        if self.inside_cut:
            how += f"; or keep {what}, and remove entries at {self.inside_cut}"
        return f"To free {what}, {how}."

    def _how(self, what: str) -> str:
        """What is to be done about the cut.

        Args:
            what: The word for the objects.
        """
        references = "references" if self.cut.count(" -> ") > 1 else "reference"
        if self.is_sparse:
            how = (
                f"make it smaller, or clear {self.cut}: removing entries frees nothing"
            )
        elif self.is_cancelled:
            how = f"remove tasks from their queue when they are cancelled: {self.cut}"
        elif self._waker:
            which = self._holder
            if self._waker != self.between[0]:
                which = f"the {self._short(self._waker)} that has {what}"
            method = named(self.runtime).wakes[self._waker]
            call = f"call {method} of {which}, or " if method else ""
            how = f"{call}cancel what waits: {self.cut}"
        elif self.future:
            future = named(self.runtime).speak(self.future)
            how = f"finish the {future}, or remove the {references} {self.cut}"
        elif self.link and self.is_run and self.pattern == "linked list":
            how = f"clear the reference {self.cut}, or the {_end_of(self.link)} of each"
        elif self.holder.reference == EPHEMERON:
            name = self._short(self.holder.type_name or "")
            how = f"remove {name} from the weak maps that have {what}: {self.cut}"
        elif self._is_holder_over:
            name = self._short(self.holder.type_name or "")
            how = f"drop what refers to each {name} that has {what}: {self.cut}"
        elif self.pattern == "lock":
            of = "" if self.holder.reference else "of "
            how = f"have what has the lock {of}{self._holder} release it"
        elif _THREADS.fullmatch(self.cut):
            has_workers = named(self.runtime).worker in self.between
            how = "shut down the executors that have" if has_workers else "end"
            is_alike = self.cut.startswith("thread ") and self.object_count > 1
            how += f" {'the threads: ' if is_alike else ''}{self.cut}"
        elif self.pattern in _COLLECTIONS and self.cut.startswith("0x"):
            how = f"{_COLLECTIONS[self.pattern]} at {self._holder}: {self.cut}"
        elif self.pattern in _COLLECTIONS:
            how = self._of_collection(what, references)
        elif " -> " not in self.cut:
            do = "end the threads that have" if self.place else "remove what refers to"
            how = f"{'end' if self.are_threads else do} {self.cut}"
        elif self._runs_in_thread:
            s, these = ("s", "these") if self.has_many else ("", "this")
            how = f"end the thread{s}, by shutting down what has started {these}: "
            how += self.cut
        elif self.holder.index < 0 and self.holder.root_kind == _FRAME:
            how = f"clear the variables that have {what}, or return: {self.cut}"
        elif self.is_group or (self.holder.index < 0 and self.holder.reference is None):
            how = f"remove the {references} {self.cut}"
        else:
            how = f"clear the {references} {self.cut}"
            if self.library[0]:
                how = f"have {self.library[0]} {how}"
        if (self.is_group or self.also) and re.search(_COROUTINE, self.cut):
            how += ", or end or cancel the coroutines"
        of = f", of {self.inner}" if "[" in self.inner else ""
        how = named(self.runtime).frees(self.cut, of) or how
        for pattern, words in named(self.runtime).freed_by:
            is_told = re.search(pattern, self.cut) is not None
            if not is_told and any(re.search(pattern, one) for one in self.between):
                how = f"{words}, or {how}"
        return how

    def _of_collection(self, what: str, references: str) -> str:
        """What is to be done about the entries of a collection.

        Args:
            what: The word for the objects.
            references: The word for the references of the cut.
        """
        of, do = f" of {self.inner}" if self.inner else "", _COLLECTIONS[self.pattern]
        if self.pattern == "event handlers":
            of = of.replace(" of Array [", " of [")
            if of and not of.endswith("]"):
                do = "remove entries"  # of a variable that a handler has
        elif self.pattern == "listeners":
            of = ""  # these are in it
        at = "at" if " -> " in self.cut else "that have"
        if self.pattern == "timer" and at == "that have":
            of = ""  # the list of timers is the runtime's
        if self.cut in map(self.captions.of, self.between):
            at = "of"
        elif self._has_others:
            at = f"at {self._holder}, and clear whatever else refers to"
        how = f"{do}{of} {at} {self.cut}"
        if found := _OF_LOCAL.fullmatch(self.cut):
            has = f"of {printable(self.frame)}" if self.frame else "without a name"
            has = f"the {found[1]} that a local variable {has} has"
            how = f"{do}{of} of {has}: {self.cut}"
        if self.pattern == "handles" or (
            self.pattern == "timer" and " -> " in self.cut
        ):
            how = f"{do}: {self.cut}"  # in tables of the runtime
        if self.library[0] and how.startswith("remove entries"):
            is_timer = dict(_patterns(self.runtime))["timer"](self.type_name)
            if self.pattern != "cache" and (is_timer or _ENDED.search(self.type_name)):
                by = "cancelling" if is_timer else "closing or unregistering"
                how += f", for example by {by} {what}"
            how = f"have {self.library[0]} {how}"
        if self.shared:
            how = (
                f"{_COLLECTIONS[self.pattern]} of the {self.shared} that these "
                f"places share, or remove the {references} {self.cut}"
            )
        return how

    def _short(self, type_name: str) -> str:
        name = named(self.runtime).speak(self.captions.of(type_name))
        if len(name) > _MAX_NAME:
            name = _LONG_SHAPE.sub(r"\1…}", name)
        return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def _is_set(type_name: str) -> bool:
    """Whether a type is one of sets, whatever its arguments are."""
    return _SET.search(re.sub("<.*>", "", _ARGUMENTS.sub("", type_name))) is not None


def collections_word(type_name: str, runtime: str) -> str:
    """What to call several collections of a type: ``lists``."""
    if _is_set(type_name):
        return "sets"
    for pattern, matches in _patterns(runtime):
        if pattern in (*_MANY_IN, "linked list") and matches(type_name):
            return f"{pattern}s"
    return "collections"


def counted_objects(count: int, name: str) -> str:
    """Objects of a type, as ``960 Tile``; as ``960 bytes objects`` if it is a unit."""
    name = name.replace("lambda of ", "lambdas of ", int(count != 1))
    return f"{count:,} {_object(name)}{'s' if name in _UNITS and count != 1 else ''}"


def _object(name: str) -> str:
    """An object of a type: by the name of that alone, unless it is called as a unit."""
    return f"{name} object" if name in _UNITS else printable(name)
