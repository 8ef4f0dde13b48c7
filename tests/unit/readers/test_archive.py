"""Dumps in zip archives: which one is read, and what is refused."""

from __future__ import annotations

import builtins
import gzip
import io
import tracemalloc
import zipfile
from typing import IO, TYPE_CHECKING

import pytest

from ingest.errors import DumpError, MalformedDump, UnknownFormat
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import format_of, open_source, probe, read, stem
from ingest.readers.digests import digest_of, is_rereadable
from tests.unit.readers.test_gclog import EXCERPT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DUMP = EXCERPT.encode()


def archive(
    path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED
) -> str:
    """Write a zip archive; return its path."""
    with zipfile.ZipFile(path, "w", method) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return str(path)


def refusal(dump: str) -> str:
    """Why a dump cannot be opened or is of no known format."""
    with pytest.raises(DumpError) as caught:
        probe(dump)
    return str(caught.value)


def test_a_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(DUMP)
    paths = [str(plain), archive(tmp_path / "all.zip", {"app.gclog": DUMP})]
    opened: list[str] = []

    def noting(really: Callable[..., IO[bytes]]) -> Callable[..., IO[bytes]]:
        def noted(path: object, *given: object, **named: object) -> IO[bytes]:
            opened.append(str(path))
            return really(path, *given, **named)

        return noted

    for module in (io, builtins):
        monkeypatch.setattr(module, "open", noting(module.open))
    for path in paths:
        with open_source(path) as source:
            assert read(source, DEFAULTS, silent).object_count

    assert [path for path in opened if path in paths] == paths


@pytest.mark.parametrize(
    "members",
    [
        {"app.gclog": DUMP},
        {"README.txt": b"read me", "sub/": b"", "sub/app.gclog": DUMP},
        {"app.gclog.gz": gzip.compress(DUMP)},
        {"__MACOSX/app.gclog": DUMP, ".app.gclog": DUMP, "app.gclog": DUMP},
        {"none": b"", "app.gclog": DUMP},
    ],
    ids=["alone", "among others", "compressed", "macOS", "with an empty file"],
)
def test_the_only_dump_of_an_archive_is_read(
    tmp_path: Path, members: dict[str, bytes]
) -> None:
    path = archive(tmp_path / "all.zip", members)
    plain = tmp_path / "plain"
    plain.write_bytes(DUMP)

    with open_source(path) as source:
        graph = read(source, DEFAULTS, silent)

    assert graph.object_count == 6
    assert digest_of(path) == digest_of(str(plain))


def test_several_dumps_are_named_and_one_can_be_chosen(tmp_path: Path) -> None:
    members = {"a.gclog": b"no dump", "b.gclog": DUMP, "in/c.gclog": DUMP + b"\n"}
    path = archive(tmp_path / "all.zip", members)

    assert refusal(path) == (
        f"{path}: a zip archive with 2 dumps; name one, such as {path}::b.gclog: "
        "b.gclog, in/c.gclog"
    )
    chosen = f"{path}::in/c.gclog"
    with open_source(chosen) as source:
        assert format_of(source).name == "gclog"
        source.drain()
        assert source.sha256 == digest_of(chosen) != digest_of(f"{path}::b.gclog")
    assert is_rereadable(chosen)
    assert stem(chosen) == "c"
    assert stem(path) == "all"
    assert stem(f"{path}x::d") == "all.zipx::d"
    assert "no file named d in the archive, which has: a.gclog" in refusal(f"{path}::d")


def test_a_file_whose_name_looks_like_a_member_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "all.zip::b"
    path.write_bytes(DUMP)

    probe(str(path))


def test_a_file_that_is_no_archive_has_no_members(tmp_path: Path) -> None:
    path = tmp_path / "a.gclog"
    path.write_bytes(DUMP)

    with pytest.raises(DumpError, match=r"a\.gclog: no zip archive; leave out ::b$"):
        probe(f"{path}::b")


def test_an_archive_without_a_dump(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.zip", {"heap.phd": b"\0\x12portable heap dump"})
    two = archive(tmp_path / "two.zip", {"a": b"a", "../b": b"b"})
    many = archive(tmp_path / "many.zip", {f"{i}": b"" for i in range(1001)})

    assert "OpenJ9 Java heap dump (PHD)" in refusal(one)
    assert "without a dump that can be read: a, ../b" in refusal(two)
    assert "a zip archive of 1,001 files; name one" in refusal(many)
    assert "without files" in refusal(archive(tmp_path / "none.zip", {}))
    nested = archive(
        tmp_path / "nested.zip", {"one.zip": (tmp_path / "one.zip").read_bytes()}
    )
    assert "a zip archive in an archive or from a pipe" in refusal(nested)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_methods_are_refused(tmp_path: Path, method: int) -> None:
    path = archive(tmp_path / "all.zip", {"app.gclog": DUMP}, method)

    with pytest.raises(UnknownFormat, match="is not compressed by deflate"):
        probe(path)


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    archive(path, {"app.gclog": DUMP})
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flags in the header of the member
    content[content.index(b"PK\1\2") + 8] |= 1  # and in the central directory
    path.write_bytes(content)

    assert "app.gclog is encrypted; unpack the archive first" in refusal(str(path))


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    archive(path, {"app.gclog": DUMP}, zipfile.ZIP_STORED)
    content = path.read_bytes()

    path.write_bytes(content[:-30])
    assert "a damaged or truncated zip archive" in refusal(str(path))
    path.write_bytes(content.replace(b"bubblecs", b"bubblecz", 1))
    with pytest.raises(MalformedDump, match="cannot be read"), open_source(str(path)):
        pass


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    path = archive(tmp_path / "all.zip", {"zeros": bytes(64 << 20)})

    tracemalloc.start()
    try:
        with open_source(path) as source:
            source.expect_values()
            source.drain()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 16 << 20
