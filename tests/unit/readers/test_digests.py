"""Digests that are computed before a file is read as a dump."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from typing import TYPE_CHECKING

from ingest.readers.digests import Digests, digest_of, is_rereadable

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"a 2 x\n" * 100_000


def test_digests_are_of_decompressed_bytes(tmp_path: Path) -> None:
    plain, packed, missing = (tmp_path / name for name in ("a", "a.gz", "b"))
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    expected = hashlib.sha256(TEXT).hexdigest()

    with Digests([str(plain), str(packed), "-"]) as digests:
        assert digests.of(str(plain)) == digests.of(str(packed)) == expected
    assert digest_of(str(missing)) is None


def test_the_thread_ends_with_the_context(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(TEXT)

    with Digests([str(path)] * 2):
        pass

    assert "digests" not in {thread.name for thread in threading.enumerate()}
    over = threading.Event()
    over.set()
    assert digest_of(str(path), over) is None


def test_pipes_are_read_once(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.write_bytes(b"x")

    assert [is_rereadable(str(p)) for p in (pipe, file, "-")] == [False, True, False]
