"""Escaping and shortening of text from dumps.

A type name can contain anything: terminal escapes, line breaks, right-to-left marks.
It is stored unchanged and escaped wherever it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ASSEMBLY = re.compile(r",[^\[\]]*(?=\])")
_QUALIFIER = re.compile(r"(?:[^\s.:,+<>()\[\]`*&]+(?:\.|::?))+(?=[^\s.:,\[\]])")
CAPTION_LENGTH = 120
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def printable(text: str) -> str:
    r"""Escape every control or format character of ``text``, as in ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) not in _CONTROL
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def printable_lines(text: str) -> str:
    """Escape like `printable`, except line ends."""
    return "\n".join(map(printable, text.split("\n")))


def _head(name: str) -> str:
    """Return the part of a type name before its generic arguments or signature."""
    return re.split(r"[`<\[({]", name, maxsplit=1)[0]


def namespace_of(type_name: str) -> str:
    """Return the namespace or library of a type name; empty if it has none.

    That of ``System.Collections.Generic.List`1[[System.String]]`` is
    ``System.Collections.Generic``, that of ``dart:core::_Type`` is ``dart:core``.
    """
    head = _head(type_name)
    for mark in ("::", "."):
        before, found, _ = head.rpartition(mark)
        if found:
            return before
    return ""


def titled(caption: str, value: object) -> str:
    """Append the value of an object to its caption, if it has one."""
    return f'{caption} "{value}"' if value else caption


def caption_of(type_name: str) -> str:
    """Return a short type name, for the caption of a node.

    Without namespaces and assembly names, also in generic arguments, and with at most
    `CAPTION_LENGTH` characters.
    """
    short = _QUALIFIER.sub("", _ASSEMBLY.sub("", type_name[:4096])) or type_name
    if len(short) <= CAPTION_LENGTH:
        return short
    return short[: CAPTION_LENGTH - 1] + "…"


def human_bytes(count: int) -> str:
    """Format a size in a suitable unit: ``863 KiB``, ``1.2 GiB``."""
    if count < 1024:
        return f"{count} B"
    value, power = count / 1024, 0
    while value >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.{int(value < 99.95)}f} {_UNITS[power]}"


def human_seconds(seconds: float, *, whole: bool = False) -> str:
    """Format a duration: ``0.8 s``, ``12 s``, ``3 min 20 s``.

    Args:
        seconds: The duration.
        whole: Whether to leave out tenths of a second.
    """
    if seconds < 9.95 and not whole:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def local_time(moment: str) -> str:
    """Format an ISO 8601 date in local time: ``2026-03-01 14:05 CET``."""
    plain = moment.partition("[")[0]  # the name of a time zone may follow
    return datetime.fromisoformat(plain).astimezone().strftime("%Y-%m-%d %H:%M %Z")
