"""Escaping and shortening of text from dumps.

A type name can contain anything: terminal escapes, line breaks, right-to-left marks.
It is stored unchanged and escaped wherever it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_HAS_ASSEMBLY = re.compile(r"[\[,]\s*\[")
_MARK = re.compile(r"[\[\],]")
_WORD = r"[^\s.:,+<>()\[\]`*&]"
_QUALIFIER = re.compile(rf"(?<!{_WORD})(?:{_WORD}+(?:\.|::?))+(?=[^\s.:,\[\]])")
"""Matches from the start of a word; trying each letter of a long one takes 0.1 s."""
_URL_OR_QUALIFIER = re.compile(
    rf"((?:[\w-]+:)*[\w+.-]+://[^\s,<>()\[\]]*)|{_QUALIFIER.pattern}"
)
_SCRIPT = re.compile(
    r"(module |scope in )"
    r"(?:.*/node_modules/(?P<library>.+)|(?:.*/)?(?P<file>[^/]+/[^/]+)|(?P<alone>[^/]+))$"
)
_LONGEST_NAME = 4096
CAPTION_LENGTH = 120
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
"""Text that spreadsheets evaluate when they open a file, and text that they do not."""
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


def for_spreadsheet(text: str) -> str:
    """Put ``'`` before text that a spreadsheet would take for a formula.

    Source: OWASP, "CSV Injection".
    """
    return (
        f"'{text}" if re.match(FORMULA, text) and not re.match(NUMBER, text) else text
    )


def printable_lines(text: str) -> str:
    """Escape like `printable`, except line ends."""
    return "\n".join(map(printable, text.split("\n")))


def _head(name: str) -> str:
    """Return the part of a type name before its generic arguments or signature."""
    return re.split(r"[`<\[({]", name, maxsplit=1)[0]


def namespace_of(type_name: str) -> str:
    """Return the namespace or library of a type name; empty if it has none.

    The namespace of ``System.Collections.Generic.List`1[[System.String]]`` is
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


def without_assemblies(name: str) -> str:
    """Remove assembly names: in ``[[A, asm]]``, what follows the first comma.

    An assembly appears only inside the inner bracket of its own argument. The commas of
    ``[A,B]`` separate arguments, those of ``[,]`` dimensions.
    """
    if not _HAS_ASSEMBLY.search(name):
        return name
    kept, start, before, before_end = "", 0, "", 0
    is_inner: list[bool] = []
    cut_depth = 0
    for mark in _MARK.finditer(name):
        at, character = mark.start(), mark[0]
        if character == "[":
            follows = before in ("[", ",") and not name[before_end:at].strip()
            is_inner.append(follows)
        elif character == ",":
            if not cut_depth and is_inner and is_inner[-1]:
                kept, cut_depth = kept + name[start:at], len(is_inner)
        else:
            if cut_depth and cut_depth == len(is_inner):
                start, cut_depth = at, 0
            if is_inner:
                is_inner.pop()
        before, before_end = character, mark.end()
    return kept if cut_depth else kept + name[start:]


def _without_namespaces(name: str) -> str:
    if name.startswith("{"):  # the fields of a JavaScript object, whose names have dots
        return name
    if found := _SCRIPT.match(name):  # the variables of a JavaScript script
        return found[1] + (found["library"] or found["file"] or found["alone"])
    if "://" in name:  # the location of a JavaScript function
        return _URL_OR_QUALIFIER.sub(lambda found: found[1] or "", name)
    return _QUALIFIER.sub("", name)


def _at_most(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


@lru_cache(maxsize=4096)
def caption_of(type_name: str) -> str:
    """Return a short type name, for the caption of a node.

    It has no namespaces or assembly names, not even in generic arguments, and at most
    `CAPTION_LENGTH` characters. Two types can have the same caption: see `Captions`.
    """
    name = without_assemblies(type_name[:_LONGEST_NAME])
    return _at_most(_without_namespaces(name) or type_name, CAPTION_LENGTH)


def _repeated(captions: list[str]) -> list[int]:
    """Return the positions of captions that occur more than once."""
    count = Counter(captions)
    return [at for at, caption in enumerate(captions) if count[caption] > 1]


@dataclass(frozen=True, slots=True)
class Captions:
    """Short type names; no two types of a dump have the same.

    Attributes:
        qualified: Captions, by full name, of types that `caption_of` does not tell
            apart.
    """

    qualified: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_types(cls, type_names: Iterable[str]) -> Captions:
        """Choose the captions of all types of a dump.

        Types with the same short name keep their namespaces, and, if that is not
        enough, their assemblies. Those that are still equal are numbered. Types with
        the same full name have the same caption.
        """
        names = list(dict.fromkeys(type_names))
        short = list(map(caption_of, names))
        if len(set(short)) == len(names):
            return cls()
        captions = list(short)
        for longer in (without_assemblies, str):
            for at in _repeated(captions):
                captions[at] = _at_most(longer(names[at]), CAPTION_LENGTH)
        taken, numbers = set(captions), Counter[str]()
        for at in _repeated(captions):
            cut = captions[at]
            numbers[cut] += 1
            while numbers[cut] > 1 and captions[at] in taken:
                end = f" #{numbers[cut]}"
                captions[at] = _at_most(cut, CAPTION_LENGTH - len(end)) + end
                numbers[cut] += captions[at] in taken
            taken.add(captions[at])
        return cls(
            {
                name: caption
                for name, caption, plain in zip(names, captions, short, strict=True)
                if caption != plain
            }
        )

    def of(self, type_name: str) -> str:
        """Return the caption of a type."""
        return self.qualified.get(type_name) or caption_of(type_name)


def whole_number(text: str, most_digits: int) -> int | None:
    """The number that a text of a dump is; ``None`` if it is none, or has more digits.

    Python refuses to read thousands of digits.
    """
    is_one = text.isdecimal() and len(text) <= most_digits
    return int(text) if is_one else None


def counted(count: int, what: str) -> str:
    """Format a number of things, given in the plural: ``1 dump``, ``2,000 dumps``."""
    if count == 1:
        what = re.sub(r"(?<=ss)es$|s$", "", re.sub(r"ies$", "y", what))
    return f"{count:,} {what}"


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
