"""Text that came out of a dump, made fit to be shown.

A type name is whatever the dump says: terminal escapes, line breaks,
right-to-left marks. It is stored as it is and escaped where it is shown.
"""

from __future__ import annotations

import re
import unicodedata

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ASSEMBLY = re.compile(r",[^\[\]]*(?=\])")
_QUALIFIER = re.compile(r"(?:[^\s.:,+<>()\[\]`*&]+(?:\.|::?))+(?=[^\s.:,\[\]])")
CAPTION_LENGTH = 120
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def printable(text: str) -> str:
    r"""``text`` with every control or format character as a ``\x1b`` escape."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) not in _CONTROL
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def printable_lines(text: str) -> str:
    """The same, but line ends stay."""
    return "\n".join(map(printable, text.split("\n")))


def _head(name: str) -> str:
    """The part of a type name before its generic arguments or signature."""
    return re.split(r"[`<\[({]", name, maxsplit=1)[0]


def namespace_of(type_name: str) -> str:
    """The namespace (or library) of a type name; empty where it has none.

    ``System.Collections.Generic.List`1[[System.String]]`` lies in
    ``System.Collections.Generic``, ``dart:core::_Type`` in ``dart:core``.
    """
    head = _head(type_name)
    for mark in ("::", "."):
        before, found, _ = head.rpartition(mark)
        if found:
            return before
    return ""


def titled(caption: str, value: object) -> str:
    """A caption with what the object holds behind it, if anything."""
    return f'{caption} "{value}"' if value else caption


def caption_of(type_name: str) -> str:
    """A type name short enough to stand in a circle.

    Namespaces and assembly names go, of generic arguments too; at most
    `CAPTION_LENGTH` characters stay.
    """
    short = _QUALIFIER.sub("", _ASSEMBLY.sub("", type_name[:4096])) or type_name
    if len(short) <= CAPTION_LENGTH:
        return short
    return short[: CAPTION_LENGTH - 1] + "…"


def human_bytes(count: int) -> str:
    """``count`` bytes in the unit that a person reads: ``863 KiB``, ``1.2 GiB``."""
    if count < 1024:
        return f"{count} B"
    value, power = count / 1024, 0
    while value >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.{int(value < 99.95)}f} {_UNITS[power]}"
