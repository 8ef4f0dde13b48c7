"""Files that people take for heap dumps but no reader can read, and what to do.

They are recognised by their first bytes, never by the name of the file.

Sources: the signatures in the documentation of each format; V8, Mono, JFR, pprof
and histograms of jmap also from files written by these tools.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from ingest.words.command_line import command

_ELF_CORE = 4
_MACH_CORE = 4
_PICKLE_BYTES = 200
"""The class of a pickle's outermost object is named within so many bytes."""


class Unsupported(NamedTuple):
    """A file that is not read.

    Attributes:
        name: The kind of the file.
        advice: Sentences that say which tool reads it, and how to get a supported dump
            of the same program; empty without advice.
    """

    name: str
    advice: str = ""


_TAKE_JAVA = (
    f"Take a heap dump of the same program: {command('capture', 'jvm', 'PID')}, or "
    "jcmd PID GC.heap_dump FILE.hprof."
)
_TAKE_DOTNET = f"take one of the same program: {command('capture', 'dotnet', 'PID')}."
_TAKE_PYTHON = (
    f"Take a heap dump of the same program: {command('capture', 'python', 'PID')}."
)
_TAKE_V8 = (
    "Take a heap snapshot of the same program: v8.writeHeapSnapshot() in Node.js, or "
    "the Memory panel of the DevTools."
)
_NO_OBJECTS = (
    "It records where objects were allocated, not the objects and their references."
)
_OF_NET_CORE = (
    "dotnet-dump analyze and WinDbg read it; their SOS command traverseheap FILE "
    f"writes a heap dump that is read here. Or {_TAKE_DOTNET}"
)
_OF_JAVA_CORE = (
    "jhsdb jmap --binaryheap --dumpfile FILE.hprof --exe JAVA --core CORE, of the same "
    "JDK, makes a heap dump of it."
)

_STARTS = (
    (
        b"\0\x12portable heap dump",
        "an IBM or OpenJ9 Java heap dump (PHD)",
        "Eclipse Memory Analyzer with DTFJ reads it, and can export it as HPROF, which "
        "is read here.",
    ),
    (
        b"// Version: J2RE",
        "an IBM Java heap dump (classic text format)",
        "Let the JVM write a PHD dump instead; Eclipse Memory Analyzer with DTFJ reads "
        "that, and can export it as HPROF, which is read here.",
    ),
    (
        b"memray\0",
        "a recording of memray (Python)",
        f"memray flamegraph FILE reads it. {_NO_OBJECTS} {_TAKE_PYTHON}",
    ),
    (
        b"FLR\0",
        "a recording of the JDK Flight Recorder (.jfr)",
        f"JDK Mission Control and jfr print read it. {_TAKE_JAVA}",
    ),
    (
        b"\xcd\xcd\xab\xae",
        "a memory snapshot of Unity (.snap)",
        "The Memory Profiler of the Unity Editor reads it.",
    ),
    (
        b"heap_v2/",
        "a heap profile of jemalloc",
        f"jeprof reads it. {_NO_OBJECTS}",
    ),
    (
        b"heap profile: ",
        "a heap profile of gperftools or Go as text",
        f"pprof reads it. {_NO_OBJECTS}",
    ),
    (
        b"MDMP",
        "a Windows minidump",
        f"If a .NET program wrote it: {_OF_NET_CORE} If a Java program did: "
        f"{_TAKE_JAVA}",
    ),
    (b"PAGEDUMP", "a Windows kernel dump", "WinDbg reads it."),
    (b"PAGEDU64", "a Windows kernel dump", "WinDbg reads it."),
    (
        b"=erl_crash_dump",
        "an Erlang crash dump",
        "crashdump_viewer of Erlang reads it.",
    ),
    (
        b"bplist00",
        "a binary property list, such as a .memgraph of Xcode",
        "Xcode and the command leaks read a .memgraph.",
    ),
)
_PATTERNS = (
    (rb"go1\.\d+ heap dump\n", "a Go heap dump (debug.WriteHeapDump)", ""),
    (
        rb"desc: [^\n]*\ncmd: [^\n]*\ntime_unit: ",
        "a profile of massif (Valgrind)",
        f"ms_print FILE reads it. {_NO_OBJECTS}",
    ),
    (
        rb"(?:\d+:\r?\n)?\s*num\s+#instances\s+#bytes\s+class name",
        "a histogram of the classes of a Java heap (jmap -histo)",
        "It has no references, so it cannot say what keeps objects alive. "
        + _TAKE_JAVA,
    ),
    (
        rb'\s*\{\s*"nodes"\s*:\s*\[\s*\{\s*"id"\s*:\s*\d+\s*,\s*"callFrame"',
        "a CPU profile of V8 (.cpuprofile)",
        f"The Chrome DevTools read it. It has no objects. {_TAKE_V8}",
    ),
    (
        rb'\s*\{\s*"head"\s*:\s*\{\s*"callFrame"',
        "a sampling heap profile of V8 (.heapprofile)",
        f"The Chrome DevTools read it. {_NO_OBJECTS} {_TAKE_V8}",
    ),
    (
        rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:Inspector|GCDebugging)"',
        "a JavaScriptCore heap snapshot (Safari)",
        "The Web Inspector of Safari reads it.",
    ),
    (
        rb'\{"address": \d+, "type": "[^"]*", "size": \d+',
        "a Python heap dump (meliae)",
        _TAKE_PYTHON,
    ),
)
_COMPILED = tuple(
    (re.compile(pattern), Unsupported(*about)) for pattern, *about in _PATTERNS
)


def recognised(head: bytes) -> Unsupported | None:
    """The kind of a file that no reader claims; ``None`` if unknown.

    Args:
        head: The file's first bytes, decompressed.
    """
    for start, *about in _STARTS:
        if head.startswith(start):
            return Unsupported(*about)
    for pattern, found in _COMPILED:
        if pattern.match(head):
            return found
    if head.startswith(b"\x80") and b"tracemalloc" in head[:_PICKLE_BYTES]:
        return Unsupported(
            "a snapshot of tracemalloc (Python)",
            f"tracemalloc.Snapshot.load(FILE) reads it. {_NO_OBJECTS} {_TAKE_PYTHON}",
        )
    if _is_pprof(head):
        return Unsupported(
            "a profile of pprof (Go and others)",
            f"go tool pprof FILE reads it. {_NO_OBJECTS}",
        )
    return _memory_image(head)


_VARINT, _BYTES = 0, 2
_PPROF = dict.fromkeys((1, 2, 3, 4, 5, 6, 11), _BYTES)
_PPROF |= dict.fromkeys((7, 8, 9, 10, 12, 14), _VARINT)
"""The wire type of each field of a profile. Source: profile.proto of pprof."""

_SAMPLE_TYPE, _SAMPLE = 1, 2


def _is_pprof(head: bytes) -> bool:
    """Whether all fields are those of a profile, with samples and their types."""
    at = 0
    found: set[int] = set()
    try:
        while at < len(head) and not {_SAMPLE_TYPE, _SAMPLE} <= found:
            key, at = _varint(head, at)
            if _PPROF.get(key >> 3) != key & 7:
                return False
            found.add(key >> 3)
            value, at = _varint(head, at)
            at += value if key & 7 == _BYTES else 0
    except IndexError:
        return False
    return {_SAMPLE_TYPE, _SAMPLE} <= found and at <= len(head)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value, shift = 0, 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


_RUNTIMES = (
    (b"libcoreclr.so", "a core dump of a .NET program (ELF)", _OF_NET_CORE),
    (b"libjvm.so", "a core dump of a Java program (ELF)", _OF_JAVA_CORE),
)
"""Libraries among the files that a core dump lists near its beginning."""


def _memory_image(head: bytes) -> Unsupported | None:
    """Name an ELF or Mach-O file: the core dump of a process, or a program."""
    if head.startswith(b"\x7fELF") and len(head) >= 18:
        order = ">" if head[5] == 2 else "<"
        (kind,) = struct.unpack_from(f"{order}H", head, 16)
        if kind != _ELF_CORE:
            return Unsupported("a program (ELF)")
        for library, name, advice in _RUNTIMES:
            if library in head:
                return Unsupported(name, advice)
        return Unsupported(
            "a core dump (ELF)",
            f"Of a Java program: {_OF_JAVA_CORE} Of a .NET program: {_OF_NET_CORE}",
        )
    if head[:4] in (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe") and len(head) >= 16:
        (kind,) = struct.unpack_from("<I", head, 12)
        is_core = kind == _MACH_CORE
        return Unsupported("a core dump (Mach-O)" if is_core else "a program (Mach-O)")
    return None
