"""Names of formats that are not supported, recognised by the first bytes of a file.

Sources: the signatures in the documentation of each format; V8, Ruby and Mono also
from dumps written by these runtimes.
"""

from __future__ import annotations

import re
import struct

_ELF_CORE = 4
_MACH_CORE = 4
_PICKLE_BYTES = 200
"""A pickle names the class of its outermost object within so many bytes."""

_STARTS = (
    (b"\0\x12portable heap dump", "an IBM or OpenJ9 Java heap dump (PHD)"),
    (b"// Version: J2RE", "an IBM Java heap dump (classic text format)"),
    (b"\x01\x5a\x50\x4d", "a log of the Mono profiler (.mlpd)"),
    (b"memray\0", "a recording of memray (Python)"),
    (b"MDMP", "a Windows minidump"),
    (b"PAGEDUMP", "a Windows kernel dump"),
    (b"PAGEDU64", "a Windows kernel dump"),
    (b"=erl_crash_dump", "an Erlang crash dump"),
    (b"bplist00", "a binary property list, such as a .memgraph of Xcode"),
)
_PATTERNS = (
    (rb"go1\.\d+ heap dump\n", "a Go heap dump (debug.WriteHeapDump)"),
    (
        rb'\s*\{\s*"nodes"\s*:\s*\[\s*\{\s*"id"\s*:\s*\d+\s*,\s*"callFrame"',
        "a CPU profile of V8 (.cpuprofile)",
    ),
    (
        rb'\s*\{\s*"head"\s*:\s*\{\s*"callFrame"',
        "a sampling heap profile of V8 (.heapprofile)",
    ),
    (
        rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:Inspector|GCDebugging)"',
        "a JavaScriptCore heap snapshot (Safari)",
    ),
    (
        rb'\{"type":"(?:ROOT|SHAPE)"|\{"address":"0x[0-9a-f]+", ?"type":"[A-Z_]+"',
        "a Ruby heap dump (ObjectSpace.dump_all)",
    ),
    (
        rb'\{"address": \d+, "type": "[^"]*", "size": \d+',
        "a Python heap dump (meliae)",
    ),
)
_COMPILED = tuple((re.compile(pattern), title) for pattern, title in _PATTERNS)


def name_of(head: bytes) -> str | None:
    """What a file is that no reader claims; ``None`` if that is not known.

    Args:
        head: Its first bytes, decompressed.
    """
    for start, title in _STARTS:
        if head.startswith(start):
            return title
    for pattern, title in _COMPILED:
        if pattern.match(head):
            return title
    if head.startswith(b"\x80") and b"tracemalloc" in head[:_PICKLE_BYTES]:
        return "a snapshot of tracemalloc (Python)"
    return _memory_image(head)


def _memory_image(head: bytes) -> str | None:
    """Name an ELF or Mach-O file: the core dump of a process, or a program."""
    if head.startswith(b"\x7fELF") and len(head) >= 18:
        order = ">" if head[5] == 2 else "<"
        (kind,) = struct.unpack_from(f"{order}H", head, 16)
        return "a core dump (ELF)" if kind == _ELF_CORE else "a program (ELF)"
    if head[:4] in (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe") and len(head) >= 16:
        (kind,) = struct.unpack_from("<I", head, 12)
        return "a core dump (Mach-O)" if kind == _MACH_CORE else "a program (Mach-O)"
    return None
