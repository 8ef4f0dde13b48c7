"""Which dumps are of one process, and which columns identify their objects.

Dumps of one trace are of one process, and the moves of collections identify their
objects: by the address at which a collection first recorded each, or by the number that
the reader gave it when it was first seen. In other formats a column may identify an
object as long as its process lives, an id in V8, address and generation in Ruby, but
nothing in a file tells which process it is from: each process numbers its objects from
1, and V8 numbers all anew once an inspector has disconnected. There the evidence
decides, the same wherever it is asked for. Most ids that both dumps have must belong to
objects of one type, and nearly all that belong to texts in both must belong to equal
texts. Types alone prove nothing: two runs of one program with Node 20 agreed in 58 to
99 % of the types and in 79 to 85 % of the texts; two snapshots of one process in 100 %.
"""

from __future__ import annotations

from typing import NamedTuple

from ingest.runtimes import named

LEAST_OF_TYPES, _LEAST_OF_TEXTS = 0.9, 0.98
"""Shares of equal types and texts that dumps of one process exceed."""

_SAMPLED = 50_000
"""About how many objects of the later dump are compared."""

_BY_HISTORY = "known_at", "known_since_gc"


class SharedIds(NamedTuple):
    """What two dumps have in common.

    Attributes:
        ids: Ids, or numbers, that are in both, among those compared.
        types: How many of them belong to objects of one type.
        texts: How many of them belong to texts in both.
        equal_texts: How many of those are equal.
    """

    ids: int = 0
    types: int = 0
    texts: int = 0
    equal_texts: int = 0

    def __add__(self, other: tuple[int, ...]) -> SharedIds:  # type: ignore[override]
        """The evidence of two parts together."""
        return SharedIds(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def is_of_one_numbering(self) -> bool:
        """Whether equal ids name the same object."""
        return (
            self.types > LEAST_OF_TYPES * self.ids
            and self.equal_texts > _LEAST_OF_TEXTS * self.texts
        )


def sample_step(object_count: int) -> int:
    """The step at which objects of the later dump are compared."""
    return max(1, object_count // _SAMPLED)


class Shared(NamedTuple):
    """What identifies objects that two dumps have both.

    Attributes:
        by: Columns that are equal for the same object; the one with an index is first.
            If there is only one, an object that `passing_id` marks is in one dump only.
        is_proved: Whether the dumps are of one process; else `SharedIds` decides.
    """

    by: tuple[str, ...]
    is_proved: bool = True


class Moment(NamedTuple):
    """When a dump was taken in the life of its process; absent is ``None``.

    Attributes:
        runtime: Name of the runtime; empty if that is not known.
        sha256: Digest of the file.
        trace: The trace that it belongs to.
        collection_number: Number of that trace's collection during which it was taken.
        last_object_id: The highest id of its objects; those of later dumps exceed it.
        number: The dump's number, which decides between equals.
    """

    runtime: str
    sha256: str
    trace: str | None
    collection_number: int | None
    last_object_id: int | None
    number: int

    def shares_with(self, other: Moment) -> Shared | None:
        """What identifies objects that two dumps may have both; ``None`` if nothing."""
        is_one_trace = self.trace is not None and self.trace == other.trace
        collections = self.collection_number, other.collection_number
        if is_one_trace and None not in collections:
            return Shared(_BY_HISTORY) if len({*collections}) > 1 else None
        by = named(self.runtime).identified_by
        if (
            not by
            or None in (self.last_object_id, other.last_object_id)
            or self.runtime != other.runtime
        ):
            return None
        if is_one_trace:
            return Shared((by,))
        return Shared((by,), is_proved=False) if self.sha256 != other.sha256 else None

    def is_before(self, other: Moment) -> bool:
        """Whether this dump is earlier than another one of its process."""
        mine, others = (
            (one.collection_number or 0, one.last_object_id or 0, one.number)
            for one in (self, other)
        )
        return mine < others
