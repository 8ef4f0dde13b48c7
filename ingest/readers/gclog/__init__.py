"""gclog, version 2: heap dumps of .NET Compact Framework and XNA.

Text, one record a line, elements separated by blanks, every number but the
version hexadecimal without a prefix::

    a 2 NAME [CLOCK]            an application domain opens
    t TYPE NAME                 a type; the name is the rest of the line
    o OBJECT TYPE SIZE OBJECT*  an object and its references
    r OBJECT KIND FLAGS [TYPE]  a root; TYPE contains the static field (kind 4)
    c NAME [CLOCK]              the domain closes

Types may follow their use or be missing, objects may be missing, ids are local to
their domain. Irregularities are counted by kind and tolerated.

Source: S. Pratschner, "Write your own GC Heap Viewer for the .Net Compact
Framework" (2007), and "Heap Dump File Information" of the XNA Game Studio
documentation. Line ends, encodings and scopes are not described there: the
choices here are the most lenient ones.
"""

from __future__ import annotations

import re

from ingest.readers.base import Format
from ingest.readers.shared.lines import to_utf8

NAME = "gclog"

_RECORD = re.compile(
    rb"[ \t]*(?:[aA][ \t]+[0-9A-Fa-f]{1,8}(?:[ \t]+\S.*)?"
    rb"|[cC][ \t]+\S.*"
    rb"|[tT][ \t]+[0-9A-Fa-f]{1,16}(?:[ \t](?![ \t]*[01][ \t]).*)?"
    rb"|[oO](?:[ \t]+[0-9A-Fa-f]+){3,}[ \t]*"
    rb"|[rR][ \t]+[0-9A-Fa-f]+[ \t]+[0-9A-Fa-f][ \t]+[0-9A-Fa-f]{1,2}"
    rb"(?:[ \t]+[0-9A-Fa-f]+)?[ \t]*)"
)


def sniff(head: bytes) -> bool:
    """Whether ``head`` is from a gclog: its first and most lines are records."""
    text = b"".join(to_utf8([head]))
    lines = [line for line in re.split(rb"[\r\n]+", text[:16384]) if line.strip(b" \t")]
    if not lines:
        return False
    if len(lines) > 1:
        lines.pop()  # may be cut off
    good = sum(_RECORD.fullmatch(line) is not None for line in lines)
    first = _RECORD.fullmatch(lines[0]) is not None
    if len(lines) == 1 and not first and len(lines[0]) >= 16384:
        # An object with a long list of references, cut in the middle.
        return _RECORD.match(lines[0]) is not None
    return first and 2 * good > len(lines)


FORMAT = Format(
    NAME,
    ".NET Compact Framework / XNA heap dump",
    suffixes=(".gclog", ".txt"),
    memory_per_byte=3.0,
    sniff=sniff,
    package=__name__,
)
