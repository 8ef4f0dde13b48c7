"""Recognizes CLR Profiler logs by their first bytes."""

from __future__ import annotations

import re

from ingest.readers.shared.lines import to_utf8

NAME = "clrprofiler"

_HEX = rb"0[xX][0-9A-Fa-f]{1,16}"
_ANY = rb"(?:0[xX][0-9A-Fa-f]{1,16}|-?[0-9]{1,20})"
_MARK = re.compile(
    rb"[ \t]*(?:[fF][ \t]+0[ \t]+NATIVE FUNCTION .*"
    rb"|[oO][ \t]+" + _HEX + rb"(?:[ \t]+" + _ANY + rb"){2,}[ \t]*"
    rb"|[eE][ \t]+" + _HEX + rb"(?:[ \t]+" + _ANY + rb"){2,3}[ \t]*"
    rb"|[rR](?:[ \t]+" + _HEX + rb")+[ \t]*"
    rb"|[uU](?:[ \t]+" + _HEX + rb"){2}[ \t]+[0-9]+[ \t]*"
    rb"|[aAvV][ \t]+" + _HEX + rb"[ \t]+[0-9]+[ \t]*"
    rb"|![ \t]+[0-9]+[ \t]+" + _HEX + rb"[ \t]+[0-9]+[ \t]*"
    rb"|[bB](?:[ \t]+-?[0-9]+){3}(?:[ \t]+" + _HEX + rb"(?:[ \t]+[0-9]+){3})*[ \t]*"
    rb"|[tT][ \t]+[0-9]{1,10}[ \t]+[01][ \t]+\S.*"
    rb"|[sSL][ \t]+" + _HEX + rb"[ \t]+\S.*"
    rb"|[mM][ \t]+\S.*[ \t]" + _HEX + rb"[ \t]+[0-9]+[ \t]*"
    rb"|[yYdD][ \t]+[0-9]+[ \t]+" + _HEX + rb"[ \t].*"
    rb"|[hH][ \t]+[0-9]+(?:[ \t]+" + _HEX + rb"){2}[ \t]+[0-9]+[ \t]*"
    rb"|[jJ][ \t]+[0-9]+[ \t]+" + _HEX + rb"[ \t]+[0-9]+[ \t]*"
    rb"|[fF][ \t]+[0-9]+[ \t]+\S.*\).*)",
    re.S,
)
"""Records of this format only."""

_RECORD = re.compile(
    rb"[ \t]*(?:[iI][ \t]+[0-9]+|[gG](?:[ \t]+-?[0-9]+){1,3}|[cC](?:[ \t]+[0-9]+){2}"
    rb"|[nNsS](?:[ \t]+-?[0-9]+)+|[zZ][ \t].*|[rR]|[lL][ \t]+[0-9][ \t]+" + _HEX + rb"|"
    rb"M[ \t]+\S.*)[ \t]*",
    re.S,
)
_LIST = re.compile(
    rb"[ \t]*(?:[rR]|[oO][ \t]+" + _HEX + rb"(?:[ \t]+[0-9]+){2})[ \t]+" + _HEX
)
_SNIFFED_BYTES = 16384


def sniff(head: bytes) -> bool:
    """Whether ``head`` is such a log's: its first and most of its lines are records."""
    text = b"".join(to_utf8([head]))[:_SNIFFED_BYTES]
    lines = [line for line in re.split(rb"[\r\n]+", text) if line.strip(b" \t")]
    if not lines:
        return False
    if len(lines) == 1 and len(text) >= _SNIFFED_BYTES:
        # A list that is cut in the middle.
        return _LIST.match(lines[0]) is not None
    if len(lines) > 1 and not text.endswith((b"\r", b"\n")):
        lines.pop()  # perhaps cut
    marks = [_MARK.fullmatch(line) is not None for line in lines]
    good = sum(
        mark or _RECORD.fullmatch(line) is not None
        for mark, line in zip(marks, lines, strict=True)
    )
    first = marks[0] or _RECORD.fullmatch(lines[0]) is not None
    return first and any(marks) and 2 * good > len(lines)
