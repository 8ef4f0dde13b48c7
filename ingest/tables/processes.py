"""Which dumps are of one process, and by what their objects are the same.

The dumps of one trace are, and their objects have what the moves of collections tell.
Elsewhere ids may last as long as the process, as those of V8 do, but nothing tells of
which process a file is: each numbers its objects from 1, and V8 numbers all anew once
an inspector has disconnected. There the evidence decides, the same wherever it is asked
for: of the ids that both dumps have, most must belong to objects of one type, and
nearly all that are texts in both to the same text. Types alone do not tell: with Node
20 two runs of one program had 58 to 99 % of them alike, and 79 to 85 % of their texts;
two snapshots of one process had 100 % of both.
"""

from __future__ import annotations

from typing import NamedTuple

LEAST_OF_TYPES, _LEAST_OF_TEXTS = 0.9, 0.98
"""Shares that dumps of one process exceed."""

_SAMPLED = 50_000
"""Objects of the later dump that are looked at, about."""

BY_HISTORY, BY_ID = ("known_at", "known_since_gc"), ("address",)
"""What is equal for the same object in dumps of one trace, and where ids last: columns
of objects, the one with an index first."""


class SharedIds(NamedTuple):
    """What two dumps have in common.

    Attributes:
        ids: Lasting ids that are in both, of those looked at.
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
    """Of how many objects of the later dump, in its order, the first is looked at."""
    return max(1, object_count // _SAMPLED)


class Moment(NamedTuple):
    """When a dump was taken in the life of its process; absent is ``None``.

    Attributes:
        runtime: Name of the runtime; empty if that is not known.
        sha256: Of the file.
        trace: The trace that it is of.
        collection_number: When it was taken in that.
        last_object_id: The highest id of its objects, which later ones exceed.
        number: The dump's number, which decides between equals.
    """

    runtime: str
    sha256: str
    trace: str | None
    collection_number: int | None
    last_object_id: int | None
    number: int

    def is_in_trace_with(self, other: Moment) -> bool:
        """Whether two dumps are of one trace, and not of one moment in it."""
        return (
            self.trace is not None
            and self.trace == other.trace
            and None not in (self.collection_number, other.collection_number)
            and self.collection_number != other.collection_number
        )

    def may_share_ids_with(self, other: Moment) -> bool:
        """Whether ids of two dumps may be of one numbering."""
        return (
            None not in (self.last_object_id, other.last_object_id)
            and self.runtime == other.runtime
            and self.sha256 != other.sha256
        )

    def is_before(self, other: Moment) -> bool:
        """Whether a dump is the earlier one of two that are of one process."""
        mine, others = (
            (one.collection_number or 0, one.last_object_id or 0, one.number)
            for one in (self, other)
        )
        return mine < others
