"""What is irregular in a dump, whether it has the whole heap, and why not.

What an incomplete dump lacks may hold, own or be any object. So nothing may be
concluded from what is absent in it: not that an object is garbage, that there is no
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
        total: What the count is a part of, where it is of bytes.
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
"""How the names of irregularities begin that mean that the file ends too early."""

_LOST = {
    "lost_event": ("1 event", "events", "lost while the dump was written"),
    "truncated_references": (
        "1 reference",
        "references",
        "announced by the events and not recorded",
    ),
}
"""Irregularities that mean that the program's runtime did not record all."""

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
"""Irregularities of which each is something that could not be read."""

UNREAD_BYTES = "unread_bytes"
"""The irregularity of bytes that were skipped, with as many objects as may be in them.
"""

_SAMPLED = "sampled_one_in"

_LITTLE = 0.001
"""Share of the bytes, or objects, references and roots, that may be unreadable."""

_MOST_MISSING = 0.1
"""Share of objects that may be referred to and not recorded. Complete Java dumps lack
the objects of the archive of shared classes: 7 % of those of a small program."""


NOT_CONTAINED = "that it does not contain"
"""How the reason ends of a dump that lacks objects, and whose file is whole."""


def incomplete_note(name: str, why: str) -> str:
    """What comes first wherever an incomplete dump is spoken of.

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
        irregularities: Those that its reader tolerated.
        is_sample: Whether only some of the objects were recorded on purpose.
        object_count: Objects in the dump.
        missing_count: Objects that are referred to and not in the dump.
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
    """Where the file ends, if that is too early."""
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
