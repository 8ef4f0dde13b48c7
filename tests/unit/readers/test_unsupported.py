"""Formats that are not supported are named."""

from __future__ import annotations

import pickle
import struct
import tracemalloc
from pathlib import Path

import pytest

from ingest.errors import UnknownFormat
from ingest.readers import FORMATS, format_of, open_source
from ingest.readers.unsupported import name_of

SAMPLES = Path(__file__).parents[4] / "shared/samples"


def snapshot() -> bytes:
    """A pickled snapshot of tracemalloc."""
    tracemalloc.start()
    try:
        return pickle.dumps(tracemalloc.take_snapshot())
    finally:
        tracemalloc.stop()


def elf(kind: int, order: str) -> bytes:
    """The header of an ELF file of 64 bits."""
    ident = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]).ljust(12, b"\0")
    return ident + struct.pack(f"{order}HH", kind, 62)


HEADS = {
    "an IBM or OpenJ9 Java heap dump (PHD)": b"\0\x12portable heap dump\0\0\0\6",
    "a log of the Mono profiler (.mlpd)": struct.pack("<IB", 0x4D505A01, 3),
    "a recording of memray (Python)": b"memray\0\x0b\0",
    "a snapshot of tracemalloc (Python)": snapshot(),
    "a Python heap dump (meliae)": b'{"address": 14, "type": "str", "size": 50',
    "a Windows minidump": b"MDMP\x93\xa7",
    "a core dump (ELF)": elf(4, "<"),
    "a program (ELF)": elf(2, ">"),
    "a core dump (Mach-O)": struct.pack("<IIII", 0xFEEDFACF, 7, 3, 4),
    "a Go heap dump (debug.WriteHeapDump)": b"go1.7 heap dump\n\6",
    "an Erlang crash dump": b"=erl_crash_dump:0.5\n",
    "a CPU profile of V8 (.cpuprofile)": b'{"nodes":[{"id":1,"callFrame":{"functionN',
    "a JavaScriptCore heap snapshot (Safari)": b'{"version":2,"type":"Inspector","n',
    "a Ruby heap dump (ObjectSpace.dump_all)": b'{"type":"ROOT", "root":"vm", "ref',
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
    assert str(caught.value) == (
        f"{path}: {name}, a format that is not supported; supported: {supported}"
    )


@pytest.mark.parametrize(
    "head", [b"", b"hello", b"\x80\5.", b"\x7fELF", b'{"type": 1}', b"{" * 65536]
)
def test_other_files_are_not_named(head: bytes) -> None:
    assert name_of(head) is None


REAL = {
    "mlpd/farm-heapshot-mono68.mlpd": "a log of the Mono profiler",
    "ruby/farm-ruby31.jsonl.gz": "a Ruby heap dump",
}


@pytest.mark.parametrize(("sample", "name"), REAL.items())
def test_real_dumps_are_named(sample: str, name: str) -> None:
    if not (SAMPLES / sample).exists():
        pytest.skip(f"NOT RUN: the sample {sample} is not at hand")
    with (
        open_source(str(SAMPLES / sample)) as source,
        pytest.raises(UnknownFormat, match=f": {name}"),
    ):
        format_of(source)
