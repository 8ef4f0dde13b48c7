r"""Lines of CLR Profiler logs with names: types, functions, named roots.

Names are in the code page of the program. Characters outside it are escaped: ``\uXXXX``
for all but ASCII, ``\\``, and a backslash before the character that would end the name,
which is a blank for functions.

Source: microsoftarchive/clrprofiler, profilerOBJ/ProfilerCallback.cpp; for roots by
name microsoft/perfview, src/PerfView/memory/ClrProfilerParser.cs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ingest.readers.shared.lines import decode

LONGEST_FUNCTION_NAME = 255
NATIVE = "NATIVE FUNCTION"

_MOST_BYTES = 4096
"""The most bytes of a function's line that are parsed; the writer writes fewer."""

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\\ ]))")
_NUMBER = rb"(0[xX][0-9A-Fa-f]{1,16}|[0-9]{1,19})(?=[ \t]|\Z)"
_IDENT = re.compile(rb"[ \t]*" + _NUMBER + rb"[ \t]*(.*)", re.S)
_FINALIZABLE = re.compile(rb"[01](?:[ \t]+|\Z)")
_PLAIN_NAME = re.compile(rb"((?:\\.|[^\\ \t<])+)[ \t]+", re.S)
_SIGNATURE = re.compile(r"[^)]*\)?")
_TOKEN = re.compile(r"-1|0[xX][0-9A-Fa-f]{1,16}|[0-9]{1,19}")


class NamedRoot(NamedTuple):
    """A root that has a name.

    Attributes:
        address: Address of the object that it holds.
        name: Name of the field, or of the function and its variable.
        type_name: The type that declares the field; empty for a variable.
        thread: Number of its thread; 0 for none.
        line: 1-based.
    """

    address: int
    name: str
    type_name: str
    thread: int
    line: int


def plain(name: bytes) -> str:
    """A name as text, its escapes resolved."""
    return _unescaped(decode(name).strip(" \t"))


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)
    # Two escapes may be the halves of one character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _number(token: str | bytes) -> int:
    return int(token, 16 if token[1:2] in ("x", "X", b"x", b"X") else 10)


def ident_of(rest: bytes) -> tuple[int, bytes] | None:
    """The number that a line begins with, and the rest; ``None`` if it has none."""
    match = _IDENT.fullmatch(rest)
    return (_number(match[1]), match[2]) if match else None


class Functions:
    """Functions by id; names are parsed when they are asked for."""

    def __init__(self) -> None:
        self._rest: dict[int, bytes] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def add(self, ident: int, rest: bytes) -> None:
        """Add an ``f`` line; the first one of an id counts."""
        self._rest.setdefault(ident, rest[:_MOST_BYTES])

    def name(self, ident: int) -> str:
        """The name of a function, without its signature."""
        return self._parts(ident)[0]

    def full_name(self, ident: int) -> str:
        """The name of a function, and its signature."""
        return " ".join(part for part in self._parts(ident) if part)

    def _parts(self, ident: int) -> tuple[str, str]:
        known = self._names.get(ident)
        if known is None:
            rest = self._rest.get(ident)
            known = (f"<function {ident}>", "")
            if ident == 0:
                known = (NATIVE, "")
            elif rest is not None:
                known = _name_and_signature(rest, ident)
            self._names[ident] = known
        return known


def _name_and_signature(rest: bytes, ident: int) -> tuple[str, str]:
    match = _PLAIN_NAME.match(rest)
    end = match.end(1) if match else _end_of_name(rest)
    signature = _SIGNATURE.match(plain(rest[end:]))
    shown = " ".join(signature[0].split()) if signature else ""
    return plain(rest[:end]) or f"<function {ident}>", shown


def _end_of_name(rest: bytes) -> int:
    """Where a name ends: at the first blank outside angle brackets, or at the end."""
    depth = at = 0
    while at < len(rest):
        c = rest[at]
        if c in b" \t" and (not depth or at >= LONGEST_FUNCTION_NAME):
            break
        if c == 0x5C:
            at += 1
        elif c == 0x3C:
            depth += 1
        elif c == 0x3E and depth:
            depth -= 1
        at += 1
    return at


def static_of(rest: bytes, line: int) -> NamedRoot | None:
    """The root in an ``s`` line; ``None`` if it has none."""
    found = _named(rest, 1)
    if found is None:
        return None
    address, (field,), declared, thread = found
    return NamedRoot(address, field, declared, thread, line)


def local_of(rest: bytes, line: int) -> NamedRoot | None:
    """The root in an ``L`` line; ``None`` if it has none."""
    found = _named(rest, 2)
    if found is None:
        return None
    address, (variable, method), declared, thread = found
    if not method.startswith(declared):
        method = f"{declared}.{method}"
    return NamedRoot(address, f"{method} {variable}", "", thread, line)


def _named(rest: bytes, names: int) -> tuple[int, list[str], str, int] | None:
    """Address, ``names`` names, a type that may have blanks, and thread."""
    tokens = decode(rest).split()
    first = names + 2
    if len(tokens) <= first or not _TOKEN.fullmatch(tokens[0]):
        return None
    for at in range(first, len(tokens)):
        if _TOKEN.fullmatch(tokens[at]):
            return (
                _number(tokens[0]),
                [_unescaped(token) for token in tokens[1 : names + 1]],
                _unescaped(" ".join(tokens[names + 1 : at])),
                max(_number(tokens[at]), 0),
            )
    return None


def type_name(ident: int, rest: bytes) -> str:
    """The name of a type, from the rest of its line after the id."""
    # An old form of the record lacks the flag.
    if flag := _FINALIZABLE.match(rest):
        rest = rest[flag.end() :]
    return plain(rest) or f"<unnamed {ident}>"
