"""CLR Profiler logs, and the heap dumps that SOS writes for the CLR Profiler.

Text, one record a line, known by its first character; numbers with ``0x`` are
hexadecimal, all others decimal::

    t TYPE FINALIZABLE NAME           a type
    f FUNCTION NAME SIGNATURE ...     a function
    n STACK FLAGS ... FUNCTION*       a stack, of an allocation or not; s in old logs
    ! THREAD OBJECT STACK             an allocation; a in old logs, without a thread
    i MILLISECONDS                    the clock
    b BEFORE INDUCED GENERATION (START USED RESERVED GENERATION)*
                                      a collection begins or ends
    u OLD NEW BYTES, v START BYTES    a range that survived it
    g COUNT COUNT COUNT               it has ended; the only record of it in old logs
    e OBJECT KIND FLAGS ID            a root; ID is a function's or an address
    r OBJECT*                         roots without kinds
    o OBJECT TYPE SIZE OBJECT*        an object and its references
    s OBJECT FIELD TYPE THREAD DOMAIN           a static field, of SOS only
    L OBJECT VARIABLE METHOD TYPE THREAD DOMAIN  a variable, of SOS only

A log may have many heap dumps, each with its roots first and its objects after them. By
default the last complete one is read. If roots are recorded with kinds, those without
kinds repeat them. Calls, handles, modules, assemblies and comments are skipped.

SOS (``!traverseheap``) writes the address of most roots instead of that of their
object, and an invented allocation for each object: both are skipped.

Source: microsoftarchive/clrprofiler, profilerOBJ/ProfilerCallback.cpp (the writer) and
CLRProfiler/ReadNewLog.cs; microsoft/perfview, src/PerfView/memory/ClrProfilerParser.cs;
dotnet/diagnostics, TraverseHeapCommand.cs, and before it gcroot.cpp, HeapTraverser.
"""

from __future__ import annotations

import re

from ingest.readers.base import Format
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
"""Records that only this format has."""

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
    """Whether ``head`` is from such a log: its first and most lines are records."""
    text = b"".join(to_utf8([head]))[:_SNIFFED_BYTES]
    lines = [line for line in re.split(rb"[\r\n]+", text) if line.strip(b" \t")]
    if not lines:
        return False
    if len(lines) == 1 and len(text) >= _SNIFFED_BYTES:
        # A list that is cut off.
        return _LIST.match(lines[0]) is not None
    if len(lines) > 1 and not text.endswith((b"\r", b"\n")):
        lines.pop()  # may be cut off
    marks = [_MARK.fullmatch(line) is not None for line in lines]
    good = sum(
        mark or _RECORD.fullmatch(line) is not None
        for mark, line in zip(marks, lines, strict=True)
    )
    first = marks[0] or _RECORD.fullmatch(lines[0]) is not None
    return first and any(marks) and 2 * good > len(lines)


FORMAT = Format(
    NAME,
    "CLR Profiler log, or SOS !traverseheap",
    suffixes=(".log",),
    memory_per_byte=2.5,
    sniff=sniff,
    package=__name__,
)
