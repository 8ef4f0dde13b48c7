"""Where a dump's bytes come from: compressed, cut, damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from typing import TYPE_CHECKING

import pytest
import zstandard

from ingest.errors import DumpError, MalformedDump
from ingest.readers import open_source
from tests.unit.readers.test_gclog import EXCERPT, odd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lzma.compress, bz2.compress, zstandard.ZstdCompressor().compress],
    ids=["gz", "xz", "bz2", "zst"],
)
def test_compression_is_known_by_content(
    reading: Callable[..., HeapGraph], pack: Callable[[bytes], bytes]
) -> None:
    assert reading(pack(EXCERPT.encode())).object_count == 6


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lzma.compress, bz2.compress, zstandard.ZstdCompressor().compress],
    ids=["gz", "xz", "bz2", "zst"],
)
def test_a_truncated_compressed_file(
    reading: Callable[..., HeapGraph], pack: Callable[[bytes], bytes]
) -> None:
    lines = "".join(f"o {i:x} 1 {i * 7919**5 % 65536:x}\n" for i in range(1, 120_001))
    content = pack(f"a 2 x\nt 1 T\n{lines}r 1 1 0\nc x\n".encode())

    half = reading(content[: len(content) // 2])
    assert 10_000 < half.object_count < 120_000
    assert odd(half)["truncated_compression"] == 1
    assert odd(half)["unclosed_domain"] == 1
    almost = reading(content[:-3])
    assert odd(almost)["truncated_compression"] == 1
    assert almost.object_count > 60_000
    with pytest.raises(DumpError):
        reading(content[:9])


def test_a_gzip_file_without_its_trailer_is_read_whole(
    reading: Callable[..., HeapGraph],
) -> None:
    graph = reading(gzip.compress(EXCERPT.encode())[:-4])

    assert (graph.object_count, len(graph.root_object)) == (6, 3)
    assert odd(graph)["truncated_compression"] == 1


def test_zstd_frames_one_behind_the_other(reading: Callable[..., HeapGraph]) -> None:
    pack = zstandard.ZstdCompressor().compress
    half = EXCERPT.index("t 1 ")

    graph = reading(pack(EXCERPT[:half].encode()) + pack(EXCERPT[half:].encode()))

    assert graph.object_count == 6
    assert "truncated_compression" not in odd(graph)


def test_damaged_compressed_data_is_an_error_with_its_offset(
    reading: Callable[..., HeapGraph],
) -> None:
    content = bytearray(lzma.compress(EXCERPT.encode() * 500))
    content[len(content) // 2] ^= 0xFF

    with pytest.raises(MalformedDump, match="byte"):
        reading(bytes(content))


def test_what_goes_wrong_in_the_callers_block_is_the_callers(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_text(EXCERPT, encoding="utf-8")

    with pytest.raises(PermissionError, match="mine"), open_source(str(path)):
        raise PermissionError("mine")


@pytest.mark.parametrize("kind", ["zst", "gz", "zip"])
def test_a_small_file_that_stands_for_a_huge_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Deflate reaches 1,032 times at most."""
    monkeypatch.setattr("ingest.readers.source.EXPANSION_FREE_BYTES", 1 << 20)
    monkeypatch.setattr("ingest.readers.source.MOST_EXPANSION", 500)
    blank = b"a 2 x\n" + b"\n" * (8 << 20)
    bomb = tmp_path / f"bomb.gclog.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.gclog", blank)
    else:
        pack = gzip.compress if kind == "gz" else zstandard.ZstdCompressor().compress
        bomb.write_bytes(pack(blank))

    def read_all() -> int:
        with open_source(str(bomb)) as source:
            return sum(map(len, source.chunks()))

    with pytest.raises(DumpError, match="500 times as large as the file"):
        read_all()
    monkeypatch.setattr("ingest.readers.source.EXPANSION_FREE_BYTES", len(blank))
    assert read_all() == len(blank)


def _blocks(content: bytes, size: int, level: int) -> bytes:
    """As the JVM compresses a dump: a member a block, of which the first tells."""
    members = [
        gzip.compress(content[at : at + size], level, mtime=0)
        for at in range(0, len(content), size)
    ]
    note = f"HPROF BLOCKSIZE={size}\0".encode()
    first = members[0]
    members[0] = first[:3] + b"\x10" + first[4:10] + note + first[10:]
    return b"".join(members)


def _content(path: Path, data: bytes) -> tuple[bytes, bool]:
    path.write_bytes(data)
    with open_source(str(path)) as source:
        return b"".join(source.chunks()), source.truncated


@pytest.mark.parametrize("level", [0, 1, 9])
def test_blocks_that_the_jvm_compresses(tmp_path: Path, level: int) -> None:
    """Stored blocks contain what looks like the header of the next one."""
    looks = b"\x1f\x8b\x08" + bytes(5)
    content = b"".join(looks + b"%d" % (i * 7919**3) for i in range(20_000))
    data = _blocks(content, 10_000, level)

    assert _content(tmp_path / "whole", data) == (content, False)
    for cut in (len(data) // 2, len(data) - 1):
        found, truncated = _content(tmp_path / "cut", data[:cut])
        assert truncated
        assert content.startswith(found)
        assert len(found) > cut * len(content) // len(data) - 20_000
    with pytest.raises(MalformedDump, match="cannot be read"):
        _content(tmp_path / "damaged", data[:90_000] + b"\xff" * 40 + data[90_040:])
