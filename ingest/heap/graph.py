"""The heap as columns: the result of every reader, and the input of the analysis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import InvalidGraph
from ingest.heap.completeness import Irregularity, why_incomplete
from ingest.runtimes import NAMES as RUNTIME_NAMES
from ingest.words.text import Captions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ingest.heap.history import History
    from ingest.heap.values import ExternalMemory, FieldValues, ObjectValues


NO_TYPE = -1
NO_FIELD = -(2**31)

EPHEMERON = "(ephemeron)"
"""Field name of the reference that a dependent handle makes from key to value."""

OF_KEY = "(key)"
"""Field name of the reference from a dict of Python to a key."""

OF_CLASS, OF_LOADER = "<class>", "<classes>"
"""Fields of the references that lead to a class from its instances and its loader, in
dumps in which class objects hold the values of static fields."""


class RefKind(IntEnum):
    """Strength of a reference, the strongest first.

    The collector frees softly reachable objects when memory is short, and weakly
    reachable ones at its next collection. A finalizer sees its object once nothing
    stronger holds it; phantom references are notified after the object is gone.
    """

    STRONG = 0
    SOFT = 1
    WEAK = 2
    FINALIZER = 3
    PHANTOM = 4

    @property
    def label(self) -> str:
        """Name of the strength in the graph and in answers."""
        return self.name.lower()


class RootKind(IntEnum):
    """Kind of a GC root, the same for all formats.

    Readers map the kinds of their format to these. Those from `JNI_GLOBAL` to
    `INTERNED_STRING` belong to the JVM. `NOT_RECORDED` holds objects that are alive
    although nothing in the dump holds them. A `THREAD_STATIC` is a static field with a
    value per thread; the value of a `DEPENDENT_HANDLE` lives as long as its key.
    """

    INTERNAL = 0
    LOCAL = 1
    FINALIZER_QUEUE = 2
    HANDLE = 3
    STATIC = 4
    RUNTIME = 5
    OTHER = 6
    JNI_GLOBAL = 7
    JNI_LOCAL = 8
    JAVA_FRAME = 9
    NATIVE_STACK = 10
    SYSTEM_CLASS = 11
    THREAD = 12
    THREAD_BLOCK = 13
    MONITOR = 14
    INTERNED_STRING = 15
    NOT_RECORDED = 16
    THREAD_STATIC = 17
    DEPENDENT_HANDLE = 18

    @property
    def label(self) -> str:
        """Name of the kind in the graph and in answers."""
        return self.name.lower()


class RootFlag(IntEnum):
    """Bits of ``root_flags``, the same for all formats."""

    PINNED = 1
    WEAK = 2
    INTERIOR = 4

    def is_in(self, flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which flags have this bit; a plain int would widen the column."""
        return np.asarray((flags & np.uint8(self)) != 0)


@dataclass(frozen=True, slots=True)
class Folded:
    """Objects that a reader left out because they belong to the runtime.

    Attributes:
        object_count: Objects left out.
        shallow_bytes: Their shallow size, bytes.
        reference_count: References left out, from or to those objects.
    """

    object_count: int = 0
    shallow_bytes: int = 0
    reference_count: int = 0


class SegmentKind(StrEnum):
    """Purpose of a segment of the heap."""

    EPHEMERAL = "ephemeral"
    GEN2 = "gen2"
    LOH = "loh"
    POH = "poh"
    UNKNOWN = "unknown"


GENERATIONS = 5
"""Number of generations: 0, 1, 2, then the LOH (3) and the POH (4)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous part of the heap.

    Attributes:
        start: First address.
        end: End of its last object.
        reserved_end: End of its reserved memory; ``None`` if not recorded.
        kind: Its purpose.
    """

    start: int
    end: int
    reserved_end: int | None = None
    kind: SegmentKind = SegmentKind.UNKNOWN


@dataclass(frozen=True, slots=True)
class GarbageCollection:
    """One collection of the process of a dump, before the dump or after it.

    Attributes:
        number: Number in the process, from the runtime.
        generation: Highest generation collected; ``None`` if not recorded.
        reason: Why it was triggered, in words; empty if not recorded.
        mode: ``blocking``, ``background`` or ``foreground``; empty if not recorded.
        started_us: Start, microseconds since the start of the trace.
        duration_us: Duration, microseconds; ``None`` if the end is not recorded. The
            program runs during a background collection.
        heap_bytes: Heap size after the collection, bytes; ``None`` if not recorded.
        promoted_bytes: Bytes that survived in the generations collected; ``None`` if
            not recorded.
        moved_bytes: Bytes that it moved; ``None`` if no ranges are recorded.
        unmoved_bytes: Bytes that survived in place; ``None`` if no ranges are recorded.
        is_dump: Whether the dump was taken at this collection.
    """

    number: int
    generation: int | None
    reason: str
    mode: str
    started_us: int
    duration_us: int | None = None
    heap_bytes: int | None = None
    promoted_bytes: int | None = None
    moved_bytes: int | None = None
    unmoved_bytes: int | None = None
    is_dump: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One dump of a file that may have several.

    Attributes:
        number: What ``--part`` takes: the number of a collection, the index of a dump.
        object_count: Objects of the dump that the file records.
        process: Its process if the file records several; else empty.
        is_default: Whether it is read if the user chooses none.
    """

    number: int
    object_count: int
    process: str = ""
    is_default: bool = False


NO_DOMAIN = "process"
"""Name of the only domain if the runtime has no domains."""


@dataclass(frozen=True, slots=True)
class Domain:
    """One application domain (or isolate) of the dump.

    Attributes:
        name: As spelled in the dump; empty for records outside any domain.
        started_ms: Clock of the device at the start of the section, milliseconds
            since it booted (32 bits, wraps after 49.7 days), or ``None``.
        ended_ms: The clock at the end of the section, or ``None``.
        complete: Whether the dump contains the end of the section.
    """

    name: str
    started_ms: int | None = None
    ended_ms: int | None = None
    complete: bool = True

    @property
    def duration_ms(self) -> int | None:
        """Time taken to dump the domain, milliseconds; correct across one wrap."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return (self.ended_ms - self.started_ms) % 2**32


@dataclass(frozen=True, eq=False)
class HeapGraph:
    """One heap dump as columns; an object is identified by its row number, its *index*.

    There are N objects of the dump, M placeholders for objects that are referenced but
    not in the dump, E references, T types, R roots and D domains. Rows 0 to N - 1 are
    the objects in the order of the dump, rows N to N + M - 1 the placeholders. The
    constructor checks the requirements below and makes the arrays read-only. A column
    that the dump does not record is ``None``.

    Attributes:
        format_name: Name of the reader.
        runtime: Name of the runtime whose heap it is, one of `ingest.runtimes.NAMES`;
            empty if that is not known.
        producer: Program that wrote the dump; empty if not recorded.
        notes: What the reader inferred, in words.
        taken_ms: When it was taken, milliseconds since 1970; ``None`` if not recorded.
        collects: Whether the program's garbage collector was switched on; ``None`` if
            not recorded.
        object_count: N.
        object_id: uint64 (N + M,). Id of the object in the dump: an address or an
            opaque number. Not sorted, not dense; unique, or unique within a domain in
            formats with such ids (checked by readers).
        type_index: int32 (N + M,). Row of ``type_names``; `NO_TYPE` on
            placeholders and only there.
        shallow_bytes: int64 (N + M,), bytes, >= 0; 0 on placeholders. Their sum
            fits int64, so that no sum over objects overflows.
        ref_start: int32 or int64 (N + M + 1,); see `starts_type`. Object i refers to
            ``ref_target[ref_start[i]:ref_start[i + 1]]``; ascending from 0 to E.
            Placeholders have no references.
        ref_target: int32 (E,). Object indexes in the order of the dump, which is
            that of the fields if the format has one. Two references to one object
            are two rows.
        ref_kind: uint8 (E,), `RefKind` values; ``None`` when all are strong.
        root_object: int32 (R,). Object indexes, one row per root: an object with two
            roots occurs twice.
        root_kind: uint8 (R,). `RootKind` values.
        root_flags: uint8 (R,). `RootFlag` bits.
        root_type: int32 (R,). Declaring type of a static field, or `NO_TYPE`.
        type_names: T full names, as the runtime spells them.
        type_domain: int32 (T,). Row of ``domains`` that declares the type.
        domain_index: int32 (N + M,). Row of ``domains``; ``None`` when D is 1.
        domains: D domains, at least one.
        ref_field: int32 (E,). The referring field: a row of ``field_names``; element i
            of a list, or variable i of a context, as -1 - i; or `NO_FIELD`.
        field_names: Names of fields, including static ones.
        root_field: int32 (R,). The static field, a row of ``field_names``, or
            `NO_FIELD`.
        root_owner: int32 (R,). Row of ``owners``, or -1.
        owners: Names of isolates or threads that have roots of their own.
        root_frame: int32 (R,). The frame that has the local: a row of
            ``stacks.frames``, or -1.
        stacks: Stacks of the owners.
        type_object: int32 (T,). The object that describes the type to the program, as
            a ``java.lang.Class`` does, or -1.
        type_loader: int32 (T,). The object that loaded the type, or -1.
        space: int8 (N + M,). Part of the heap by use: a row of ``spaces``, or -1.
        spaces: Names of these parts.
        values: Texts, numbers and names stored in objects.
        field_values: Numbers in fields of objects of the types for which they were
            asked; ``None`` if they were not.
        length: int64 (N + M,). Elements of a list or map, UTF-16 code units of a
            string; -1 for objects without a length.
        external: Memory outside the heap.
        identity_hash: int64 (N + M,). Identity hash code: the same in all dumps of
            one process; unique only if the runtime has ``unique_hashes``; 0 for none.
        generation: int8 (N + M,). 0, 1 or 2; 3 is the LOH, 4 the POH, -1 unknown.
        segment_index: int32 (N + M,). Row of ``segments``, or -1.
        segments: Segments of the heap, sorted by address; empty if not recorded.
        sampling: Factors for estimates; ``None`` if the dump is not a sample.
        null_reference_count: Null references, which are not in E.
        folded: Objects that were left out because they belong to the runtime.
        collections: Collections of the trace of the dump, in their order.
        history: Survivals of the collections before the dump.
        part: Which dump of the file it is; ``None`` if files of the format have only
            one.
        other_parts: The other dumps of the file, in their order.
        irregularities: Irregularities that the reader tolerated, by first occurrence.
        is_redacted: Whether values and names have been removed from it; see
            told_incomplete: Why it is incomplete, as stored tables say; ``None`` if the
                other attributes decide.
            follows from the other attributes.

    Raises:
        InvalidGraph: A dtype, shape or range is wrong. The message names the column,
            the first row at fault and its value.

    Source: compressed rows, as the columns of Davis, Direct Methods for
    Sparse Linear Systems (2006), section 2.1.
    """

    format_name: str
    object_count: int
    object_id: NDArray[np.uint64]
    type_index: NDArray[np.int32]
    shallow_bytes: NDArray[np.int64]
    ref_start: NDArray[np.int32 | np.int64]
    ref_target: NDArray[np.int32]
    root_object: NDArray[np.int32]
    root_kind: NDArray[np.uint8]
    root_flags: NDArray[np.uint8]
    root_type: NDArray[np.int32]
    type_names: tuple[str, ...]
    type_domain: NDArray[np.int32]
    domains: tuple[Domain, ...]
    runtime: str = ""
    ref_kind: NDArray[np.uint8] | None = None
    domain_index: NDArray[np.int32] | None = None
    ref_field: NDArray[np.int32] | None = None
    field_names: tuple[str, ...] = ()
    root_field: NDArray[np.int32] | None = None
    root_owner: NDArray[np.int32] | None = None
    owners: tuple[str, ...] = ()
    root_frame: NDArray[np.int32] | None = None
    stacks: ThreadStacks | None = None
    type_object: NDArray[np.int32] | None = None
    type_loader: NDArray[np.int32] | None = None
    space: NDArray[np.int8] | None = None
    spaces: tuple[str, ...] = ()
    values: ObjectValues | None = None
    field_values: FieldValues | None = None
    length: NDArray[np.int64] | None = None
    external: ExternalMemory | None = None
    identity_hash: NDArray[np.int64] | None = None
    generation: NDArray[np.int8] | None = None
    segment_index: NDArray[np.int32] | None = None
    segments: tuple[Segment, ...] = ()
    sampling: Sampling | None = None
    producer: str = ""
    notes: tuple[str, ...] = ()
    taken_ms: int | None = None
    collects: bool | None = None
    null_reference_count: int = 0
    folded: Folded = Folded()
    collections: tuple[GarbageCollection, ...] = ()
    history: History | None = None
    part: Part | None = None
    other_parts: tuple[Part, ...] = ()
    irregularities: tuple[Irregularity, ...] = ()
    is_redacted: bool = False
    told_incomplete: str | None = None

    def __post_init__(self) -> None:
        n, e, r = len(self.object_id), len(self.ref_target), len(self.root_object)
        t, d = len(self.type_names), len(self.domains)
        if self.runtime not in RUNTIME_NAMES:
            raise InvalidGraph(f"runtime is {self.runtime!r}")
        self._require("object_id", np.uint64, n)
        self._require("type_index", np.int32, n, above=NO_TYPE, below=t)
        self._require("shallow_bytes", np.int64, n, above=0)
        starts = self.ref_start.astype(starts_type(e), copy=False)
        object.__setattr__(self, "ref_start", starts)
        self._require("ref_start", starts_type(e), n + 1, above=0, below=e + 1)
        self._require("ref_target", np.int32, e, above=0, below=n)
        self._require("root_object", np.int32, r, above=0, below=n)
        self._require("root_kind", np.uint8, r, below=len(RootKind))
        self._require("root_flags", np.uint8, r, below=2 * max(RootFlag))
        self._require("root_type", np.int32, r, above=NO_TYPE, below=t)
        self._require("type_domain", np.int32, t, above=0, below=d)
        self._require("ref_kind", np.uint8, e, below=len(RefKind), optional=True)
        self._require("domain_index", np.int32, n, above=0, below=d, optional=True)
        if self.domain_index is None and d != 1:
            raise InvalidGraph(f"domain_index is missing with {d} domains")
        f, o = len(self.field_names), len(self.owners)
        self._require("ref_field", np.int32, e, below=f, optional=True)
        self._require("root_field", np.int32, r, below=f, optional=True)
        self._require("root_owner", np.int32, r, above=-1, below=o, optional=True)
        frames = 0 if self.stacks is None else len(self.stacks.frames)
        self._require("root_frame", np.int32, r, above=-1, below=frames, optional=True)
        for name in ("type_object", "type_loader"):
            self._require(name, np.int32, t, above=-1, below=n, optional=True)
        p = len(self.spaces)
        self._require("space", np.int8, n, above=-1, below=p, optional=True)
        self._require("length", np.int64, n, above=-1, optional=True)
        self._require("identity_hash", np.int64, n, above=0, optional=True)
        self._require(
            "generation", np.int8, n, above=-1, below=GENERATIONS, optional=True
        )
        s = len(self.segments)
        self._require("segment_index", np.int32, n, above=-1, below=s, optional=True)
        if self.sampling is not None and not (
            len(self.sampling.count) == len(self.sampling.size) == t
        ):
            raise InvalidGraph(f"sampling is not that of {t} types")
        if self.ref_start[0] != 0 or self.ref_start[-1] != e:
            raise InvalidGraph(f"ref_start must run from 0 to {e}")
        # Compared, not subtracted: each difference would take eight bytes.
        if (falls := np.flatnonzero(self.ref_start[1:] < self.ref_start[:-1])).size:
            raise InvalidGraph(f"ref_start falls after row {falls[0]}")
        if not 0 <= self.object_count <= n:
            raise InvalidGraph(f"object_count is {self.object_count}, rows {n}")
        untyped = self.type_index < 0
        if untyped[: self.object_count].any() or not untyped[self.object_count :].all():
            raise InvalidGraph("type_index must be -1 on placeholders and only there")
        if self.ref_start[self.object_count] != e:
            raise InvalidGraph("a placeholder refers to something")

    def _require(
        self,
        column: str,
        dtype: type[np.generic],
        rows: int,
        *,
        above: int | None = None,
        below: int | None = None,
        optional: bool = False,
    ) -> None:
        values: NDArray[Any] | None = getattr(self, column)
        if values is None and optional:
            return
        assert values is not None
        if values.dtype != dtype or values.shape != (rows,):
            raise InvalidGraph(
                f"{column} is {values.dtype}{values.shape}, "
                f"not {np.dtype(dtype)}({rows},)"
            )
        # No temporary array unless there is a fault to locate.
        if rows and above is not None and values.min() < above:
            at = int(np.argmax(values < above))
            raise InvalidGraph(f"{column}[{at}] is {values[at]}")
        if rows and below is not None and values.max() >= below:
            at = int(np.argmax(values >= below))
            raise InvalidGraph(f"{column}[{at}] is {values[at]}")
        values.flags.writeable = False

    @cached_property
    def captions(self) -> Captions:
        """Short names of the types."""
        return Captions.of_types(self.type_names)

    @cached_property
    def incomplete(self) -> str:
        """Why it is not the whole heap; empty if nothing speaks against it."""
        if self.told_incomplete is not None:
            return self.told_incomplete
        return why_incomplete(
            self.irregularities,
            is_sample=self.sampling is not None,
            object_count=self.object_count,
            missing_count=self.missing_count,
            reference_count=self.reference_count,
            root_count=len(self.root_object),
        )

    @property
    def missing_count(self) -> int:
        """M: placeholders for objects that are referenced but not in the dump."""
        return len(self.object_id) - self.object_count

    @property
    def reference_count(self) -> int:
        """E: references to objects, including duplicates, without nulls."""
        return len(self.ref_target)

    @property
    def external_bytes(self) -> int:
        """Memory outside the heap owned by its objects, bytes."""
        return 0 if self.external is None else int(self.external.size_bytes.sum())

    def sources(
        self, references: int | Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """int64: the objects that have these references."""
        # A key of another type would make searchsorted copy the column.
        wanted = np.asarray(references, self.ref_start.dtype)
        return np.searchsorted(self.ref_start, wanted, "right") - 1

    def between(self, source: int, target: int) -> NDArray[np.intp]:
        """The rows of the references of one object to another."""
        begin, end = self.ref_start[source : source + 2].tolist()
        return np.asarray(np.flatnonzero(self.ref_target[begin:end] == target) + begin)

    def targets(self, index: int) -> NDArray[np.int32]:
        """int32: what an object refers to, with repetitions, as the dump has it."""
        return self.ref_target[slice(*self.ref_start[index : index + 2].tolist())]

    def address(self, index: int) -> str:
        """Return the id of an object as a debugger prints it, such as ``0x1c15d2``."""
        return hex(int(self.object_id[index]))

    def type_name(self, index: int) -> str:
        """Return the type name of an object; ``<missing>`` for a placeholder."""
        row = int(self.type_index[index])
        return MISSING_TYPE_NAME if row < 0 else self.type_names[row]

    def root_name(self, root: int) -> str:
        """The kind of a root with its static field: ``static root in Game.events``.

        Or with the frame that has the local variable, or the name of the thread.
        """
        kind, container = int(self.root_kind[root]), int(self.root_type[root])
        name = f"{RootKind(kind).label.replace('_', ' ')} root"
        if container >= 0:
            name += f" in {self.captions.of(self.type_names[container])}"
        if self.root_frame is not None and (frame := int(self.root_frame[root])) >= 0:
            assert self.stacks is not None
            name += f" in {self.stacks.frames[frame]}"
        if kind == RootKind.THREAD and self.root_owner is not None:
            name += f" {self.owners[int(self.root_owner[root])]}"
        if self.root_field is None or (field := int(self.root_field[root])) < 0:
            return name
        return name + ("." if container >= 0 else " ") + self.field_names[field]

    def field_name(self, reference: int) -> str | None:
        """The field of a reference; ``[i]`` for element i, ``None`` if not recorded."""
        if self.ref_field is None or self.ref_field[reference] == NO_FIELD:
            return None
        field = int(self.ref_field[reference])
        return self.field_names[field] if field >= 0 else f"[{-1 - field}]"


MISSING_TYPE_NAME = "<missing>"

_MAX_SHORT = 2**31 - 1
"""The highest position that 32 bits hold."""


def starts_type(last: int) -> type[np.int32 | np.int64]:
    """The dtype for positions from 0 to ``last``: int32 if they fit."""
    return np.int32 if last <= _MAX_SHORT else np.int64


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Factors to estimate a heap from a dump that is a sample of it.

    The graph has the recorded objects with their own sizes. Their number and bytes,
    times these factors, estimate the number and bytes of the heap.

    Attributes:
        count: float64 (T,), >= 0. Factor for the number of objects of each type.
        size: float64 (T,), >= 0. Factor for the bytes of each type.
        average_count: Factor for the number of all objects.
        average_size: Factor for the bytes of all objects.
    """

    count: NDArray[np.float64]
    size: NDArray[np.float64]
    average_count: float
    average_size: float


@dataclass(frozen=True, slots=True, eq=False)
class ThreadStacks:
    """The stack of each owner of roots. Owners can share one.

    Attributes:
        frames: F frames as the runtime prints them, innermost first in each stack.
        start: O rows: the stack of owner i is ``frames[start[i]:end[i]]``.
        end: O rows.
    """

    frames: tuple[str, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]

    @classmethod
    def of(cls, stacks: Sequence[Sequence[str]]) -> ThreadStacks:
        """The stacks of owners, in order; a shared tuple is stored once."""
        frames = list[str]()
        places = dict[int, tuple[int, int]]()
        for stack in stacks:
            if id(stack) not in places:
                places[id(stack)] = len(frames), len(frames) + len(stack)
                frames += stack
        found = [places[id(stack)] for stack in stacks]
        start, end = zip(*found, strict=True) if found else ((), ())
        return cls(tuple(frames), start, end)

    def stack(self, owner: int) -> tuple[str, ...]:
        """The frames of an owner; empty if none are recorded."""
        return self.frames[self.start[owner] : self.end[owner]]
