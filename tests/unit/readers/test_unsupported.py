"""Formats that are not supported are named."""

from __future__ import annotations

import gzip
import pickle
import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from ingest.errors import UnknownFormat
from ingest.readers import FORMATS, format_of, open_source
from ingest.readers.unsupported import recognised

if TYPE_CHECKING:
    from pathlib import Path


def snapshot() -> bytes:
    """A pickled snapshot of tracemalloc."""
    tracemalloc.start()
    try:
        return pickle.dumps(tracemalloc.take_snapshot())
    finally:
        tracemalloc.stop()


def heap_profile() -> bytes:
    """The beginning of what Go's runtime/pprof writes for a heap, compressed."""
    types = ((1, 2), (3, 4), (5, 2), (6, 4))
    units = b"".join(bytes([10, 4, 8, name, 16, unit]) for name, unit in types)
    period, sample = b"\x5a\4\x08\1\x10\2\x60\x80\x80\x20", b"\x12\3\x0a\1\1"
    return gzip.compress(period + units + sample + b"\x32\0\x32\5space")


HISTOGRAM = """\
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         68794        6208736  [B (java.base@17.0.15)
"""


def elf(kind: int, order: str) -> bytes:
    """The header of an ELF file of 64 bits."""
    ident = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]).ljust(12, b"\0")
    return ident + struct.pack(f"{order}HH", kind, 62)


HEADS = {
    "an IBM or OpenJ9 Java heap dump (PHD)": b"\0\x12portable heap dump\0\0\0\6",
    "a recording of memray (Python)": b"memray\0\x0b\0",
    "a snapshot of tracemalloc (Python)": snapshot(),
    "a Python heap dump (meliae)": b'{"address": 14, "type": "str", "size": 50',
    "a Windows minidump": b"MDMP\x93\xa7",
    "a core dump (ELF)": elf(4, "<"),
    "a core dump of a .NET program (ELF)": elf(4, "<") + b"/dotnet/libcoreclr.so\0",
    "a core dump of a Java program (ELF)": elf(4, "<") + b"/jdk/lib/libjvm.so\0",
    "a recording of the JDK Flight Recorder (.jfr)": b"FLR\0\0\2\0\1",
    "a memory snapshot of Unity (.snap)": struct.pack("<I", 0xAEABCDCD) + bytes(28),
    "a profile of pprof (Go and others)": heap_profile(),
    "a profile of massif (Valgrind)": b"desc: (none)\ncmd: ./a\ntime_unit: i\n#--",
    "a heap profile of jemalloc": b"heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n",
    "a heap profile of gperftools or Go as text": b"heap profile: 1: 2 [3: 4] @ heap/1",
    "a histogram of the classes of a Java heap (jmap -histo)": HISTOGRAM.encode(),
    "a program (ELF)": elf(2, ">"),
    "a core dump (Mach-O)": struct.pack("<IIII", 0xFEEDFACF, 7, 3, 4),
    "a Go heap dump (debug.WriteHeapDump)": b"go1.7 heap dump\n\6",
    "an Erlang crash dump": b"=erl_crash_dump:0.5\n",
    "a CPU profile of V8 (.cpuprofile)": b'{"nodes":[{"id":1,"callFrame":{"functionN',
    "a JavaScriptCore heap snapshot (Safari)": b'{"version":2,"type":"Inspector","n',
}


@pytest.mark.parametrize(("name", "head"), HEADS.items(), ids=HEADS)
def test_a_format_is_named_by_its_first_bytes(
    name: str, head: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(head)

    with (
        open_source(str(path)) as source,
        pytest.raises(UnknownFormat) as caught,
    ):
        format_of(source)

    supported = ", ".join(reader.name for reader in FORMATS)
    said = str(caught.value)
    assert said.startswith(f"{path}: {name}, a format that is not supported. ")
    assert said.endswith(f" Supported: {supported}")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("a recording of the JDK Flight Recorder (.jfr)", "ingest capture jvm PID"),
        ("a histogram of the classes of a Java heap (jmap -histo)", "GC.heap_dump"),
        ("a core dump of a .NET program (ELF)", "traverseheap"),
        ("a core dump of a Java program (ELF)", "jhsdb jmap --binaryheap"),
        ("a core dump (ELF)", "jhsdb jmap --binaryheap"),
        ("a Windows minidump", "dotnet-dump"),
        ("an IBM or OpenJ9 Java heap dump (PHD)", "export it as HPROF"),
        ("a profile of pprof (Go and others)", "go tool pprof"),
        ("a profile of massif (Valgrind)", "ms_print"),
        ("a heap profile of jemalloc", "jeprof"),
        ("a memory snapshot of Unity (.snap)", "Memory Profiler"),
        ("a recording of memray (Python)", "memray flamegraph"),
        ("a snapshot of tracemalloc (Python)", "Snapshot.load"),
    ],
)
def test_what_reads_it_and_how_to_get_a_dump_is_said(name: str, step: str) -> None:
    head = HEADS[name]
    found = recognised(gzip.decompress(head) if head[:2] == b"\x1f\x8b" else head)
    assert found is not None
    assert step in found.advice


@pytest.mark.parametrize(
    "head", [b"", b"hello", b"\x80\5.", b"\x7fELF", b'{"type": 1}', b"{" * 65536]
)
def test_other_files_are_not_named(head: bytes) -> None:
    assert recognised(head) is None
