"""Irregularities of a dump, and whether it is the whole heap.

An incomplete dump may lack objects, and whatever holds or owns others. So nothing may
be concluded from what is absent in it: not that an object is garbage, that there is no
leak, or that something is gone since another dump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.words.text import counted, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Irregularity:
    """One kind of irregularity that a reader tolerated.

    Attributes:
        kind: Short name, snake_case.
        count: Number of occurrences.
        line: 1-based line of the first one in text formats, else ``None``.
        offset: Byte offset of the first one, if known.
        total: All bytes, if ``count`` is a number of bytes.
    """

    kind: str
    count: int
    line: int | None
    offset: int | None = None
    total: int | None = None

    @property
    def place(self) -> str:
        """Position of the first one, as ``, first in line 7``; empty if unknown."""
        if self.line:
            return f", first in line {self.line:,}"
        return "" if self.offset is None else f", first at byte {self.offset:,}"


CUT = ("truncated_", "unclosed_")
"""Prefixes of irregularities that mean that the file ends too early."""

_LOST = {
    "lost_event": ("1 event", "events", "lost while the dump was written"),
    "lost_packet": ("1 packet", "packets", "lost while the dump was written"),
    "truncated_references": (
        "1 reference",
        "references",
        "announced by the events and not recorded",
    ),
}
"""Irregularities that mean that the program's runtime did not record everything."""

_UNREAD = frozenset(
    {
        "early_end_of_segment",
        "malformed_element",
        "malformed_record",
        "malformed_reference",
        "member_outside_object",
        "missing_class",
        "negative_size",
        "record_beyond_segment",
        "short_instance",
        "size_out_of_range",
        "unknown_element",
        "unknown_record",
    }
)
"""Irregularities that each stand for something that could not be read."""

UNREAD_BYTES = "unread_bytes"
"""Skipped bytes, which may contain objects; the count is in bytes.
"""

_SAMPLED = "sampled_one_in"

_LITTLE = 0.001
"""A dump is complete if at most this share of bytes or records is unreadable."""

_MOST_MISSING = 0.1
"""Share of objects that may be missing although others refer to them. Complete Java
dumps lack objects of the archive of shared classes, 7 % in a small program."""


NOT_CONTAINED = "that it does not contain"
"""End of the reason for a dump whose file is whole but lacks objects."""


def incomplete_note(name: str, why: str) -> str:
    """The first sentence wherever an incomplete dump is described.

    Args:
        name: The dump, as the subject of a sentence.
        why: As `why_incomplete` returns it.
    """
    return f"{name} is incomplete: {why}. Nothing is concluded from what is missing."


def why_incomplete(
    irregularities: Iterable[Irregularity],
    *,
    is_sample: bool,
    object_count: int,
    missing_count: int,
    reference_count: int,
    root_count: int,
) -> str:
    """Why a dump does not have the whole heap, as the end of a sentence.

    Args:
        irregularities: Irregularities that its reader tolerated.
        is_sample: Whether only some of the objects were recorded on purpose.
        object_count: Objects in the dump.
        missing_count: Objects that others refer to but that are not in the dump.
        reference_count: References in the dump.
        root_count: Roots in the dump.

    Returns:
        Such as ``the file ends too early (truncated record, byte 3,000,000)``; empty if
        nothing speaks against it.
    """
    found = {entry.kind: entry for entry in irregularities}
    if cut := _cut(found.values()):
        return cut
    for kind, (one, several, what) in _LOST.items():
        if kind in found:
            count = found[kind].count
            if count == 1:
                return f"{one} was {what}"
            return f"{count:,} {several} were {what}"
    if is_sample or _SAMPLED in found:
        return "it is a sample of the heap"
    skipped = found.get(UNREAD_BYTES)
    if skipped is not None and skipped.count > _LITTLE * (skipped.total or 0):
        of_all = "" if skipped.total is None else f" of {human_bytes(skipped.total)}"
        return f"{human_bytes(skipped.count)}{of_all} could not be read{skipped.place}"
    unread = sum(entry.count for entry in found.values() if entry.kind in _UNREAD)
    records = unread + object_count + reference_count + root_count
    if unread > _LITTLE * records:
        return f"{unread:,} of {records:,} records could not be read"
    if not object_count:
        return "it has no objects"
    if not root_count:
        return "it has no roots, so it does not tell what is alive"
    if missing_count > _MOST_MISSING * (missing_count + object_count):
        return f"it refers to {counted(missing_count, 'objects')} {NOT_CONTAINED}"
    return ""


def _cut(found: Iterable[Irregularity]) -> str:
    """Where the file ends, if it ends too early."""
    for entry in found:
        if entry.kind.startswith(CUT) and entry.kind not in _LOST:
            what = entry.kind.replace("_", " ")
            place = ""
            if entry.line:
                place = f", line {entry.line:,}"
            elif entry.offset is not None:
                place = f", byte {entry.offset:,}"
            return f"the file ends too early ({what}{place})"
    return ""
