"""Recognizes gclogs by their first bytes."""

from __future__ import annotations

import re

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
    """Whether ``head`` is a gclog's: its first line, and most lines, are records."""
    text = b"".join(to_utf8([head]))
    lines = [line for line in re.split(rb"[\r\n]+", text[:16384]) if line.strip(b" \t")]
    if not lines:
        return False
    if len(lines) > 1:
        lines.pop()  # perhaps cut
    good = sum(_RECORD.fullmatch(line) is not None for line in lines)
    first = _RECORD.fullmatch(lines[0]) is not None
    if len(lines) == 1 and not first and len(lines[0]) >= 16384:
        # An object with a long list of references, cut in the middle.
        return _RECORD.match(lines[0]) is not None
    return first and 2 * good > len(lines)
