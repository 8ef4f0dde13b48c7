"""Dumps of Android from which KOOM has cut the elements of primitive arrays.

KOOM cuts them while the runtime writes: the headers of the arrays stay, also in the
lengths of segments. Objects of the zygote and image heaps are cut as a whole, and not
counted in these lengths. KOOM's tool koom-fill-crop.jar puts zeros in place of the
elements.

Source: KwaiAppTeam/KOOM, koom-java-leak, hprof_strip.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.hprof.records import FIRST_PRIMITIVE, HEAP_INFO, WIDTHS
from ingest.readers.hprof.scan import class_end

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOTE = (
    "KOOM removed the contents of primitive arrays from this dump, and the objects of "
    "Android's own heaps; no text is shown, or compared with others"
)

_CLASS, _INSTANCE, _OBJECTS, _NUMBERS = 0x20, 0x21, 0x22, 0x23
_RECORDS = (0x0C, 0x1C, 0x2C)
_FURTHER_BYTES = {
    1: None, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8, 0x8E: 8, 0x90: 0, 0xFF: 0,
    **dict.fromkeys(range(0x89, 0x8E), 0), HEAP_INFO: 4,
}  # fmt: skip
"""Bytes of roots after their id; ``None`` for another id."""


def lacks_elements(
    data: bytes | bytearray, begin: int, size: int, id_size: int
) -> bool | None:
    """Whether primitive arrays of a segment have no elements.

    Args:
        data: The window, with the segment.
        begin: Where its first sub-record begins.
        size: Its length as recorded.
        id_size: 4 or 8 bytes.

    Returns:
        ``None`` if the segment has no primitive arrays, or is not whole.
    """
    at, cut = begin, 0

    def word(place: int) -> int:
        return int.from_bytes(data[place : place + 4], "big")

    while at < len(data) and data[at] not in _RECORDS and at - begin < size:
        tag, after = data[at], at + 1 + id_size
        if tag == _CLASS:
            after = int(class_end(np.frombuffer(data, np.uint8), at, id_size))
            if after < 0:
                return None if not cut else False
        elif tag == _INSTANCE:
            after += 8 + id_size + word(after + 4 + id_size)
        elif tag == _OBJECTS:
            after += 8 + id_size * (1 + word(after + 4))
        elif tag == _NUMBERS and after + 8 < len(data):
            kind = data[after + 8] - FIRST_PRIMITIVE
            if not 0 <= kind < len(WIDTHS):
                return False
            cut += word(after + 4) * WIDTHS[kind]
            after += 9
        elif tag in _FURTHER_BYTES:
            further = _FURTHER_BYTES[tag]
            after += id_size if further is None else further
        else:
            return False
        at = after
    if not cut or at >= len(data):
        return None if not cut else False
    return at - begin + cut == size


def note(removed: str, spaces: Iterable[str], *, is_cut: bool) -> str:
    """What was removed from a dump, and by whom if that is KOOM.

    Args:
        removed: How its texts were overwritten; empty if they were not.
        spaces: Names of the parts of its heap.
        is_cut: Whether primitive arrays have no elements.
    """
    return _NOTE if is_cut or (removed and set(spaces) == {"app"}) else removed
