"""Names in an HPROF file: of classes, of fields, and their spelling in Java."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.arrays.compiled import Ids, Longs

LONGEST_NAME_BYTES = 1 << 16

_ARRAYS_OF = {
    "Z": "boolean", "C": "char", "F": "float", "D": "double", "B": "byte",
    "S": "short", "I": "int", "J": "long",
}  # fmt: skip
_ARRAY = re.compile(r"(\[+)(?:L(.+);|([ZCFDBSIJ]))", re.DOTALL)
_HIDDEN = re.compile(r"[/+](?=(?:0x[0-9a-f]+|\d+)$)")
"""Separators of the name and number of a hidden class, such as a lambda's."""


def java_name(name: str) -> str:
    """The name of a class as Java spells it: ``java.lang.String[]``."""
    dimensions = 0
    if array := _ARRAY.fullmatch(name):
        dimensions = len(array[1])
        name = array[2] or _ARRAYS_OF[array[3]]
    head, slash, number = name, "", ""
    if hidden := _HIDDEN.search(name):
        head, slash, number = name[: hidden.start()], "/", name[hidden.end() :]
    return head.replace("/", ".") + slash + number + "[]" * dimensions


def modified_utf8(data: bytes) -> str:
    """Text in the UTF-8 of the JVM; malformed bytes are replaced."""
    if data.isascii():
        return data.decode("ascii")
    data = data.replace(b"\xc0\x80", b"\0")
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
    # Characters of more than 16 bits are written as two surrogates.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class NameTable:
    """Names by id."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._span: dict[int, int] = {}

    def add(self, data: bytes | bytearray, ids: Ids, spans: Longs) -> None:
        """Add names.

        Args:
            data: The window that has their texts.
            ids: uint64 (M,).
            spans: int64 (M, 2). Begin and end of each name in ``data``.
        """
        if not len(ids):
            return
        first, last = int(spans[0, 0]), int(spans[-1, 1])
        base = len(self._content) - first
        self._content += data[first:last]
        where = ((spans[:, 0] + base) << 24) | (spans[:, 1] - spans[:, 0]).clip(
            0, LONGEST_NAME_BYTES
        )
        self._span.update(zip(ids.tolist(), where.tolist(), strict=True))

    def get(self, name_id: int) -> str | None:
        """The name with an id; ``None`` if the file has none."""
        where = self._span.get(name_id)
        if where is None:
            return None
        begin, size = where >> 24, where & 0xFFFFFF
        return modified_utf8(bytes(self._content[begin : begin + size]))
