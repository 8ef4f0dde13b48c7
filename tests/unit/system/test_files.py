"""Files that appear complete or not at all, and who may read them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import Timeout

from ingest.errors import IngestError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer
from ingest.system.files import file_lock, output_file
from ingest.system.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran


def put_half(path: Path, *, private: bool) -> None:
    with output_file(path, force=False, private=private) as file:
        file.write(b"half")
        assert not path.exists()
        raise ValueError("no more")


def put_late(path: Path, *, private: bool) -> None:
    with output_file(path, force=False, private=private):
        path.write_bytes(b"faster")


def put(path: Path, *, private: bool, force: bool = True) -> None:
    with output_file(path, force=force, private=private) as file:
        file.write(b"new")


@pytest.mark.parametrize("private", [True, False])
def test_a_file_is_not_there_before_its_end(tmp_path: Path, private: bool) -> None:
    with pytest.raises(ValueError, match="no more"):
        put_half(tmp_path / "a", private=private)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("private", [True, False])
def test_what_comes_meanwhile_stays(tmp_path: Path, private: bool) -> None:
    path = tmp_path / "a"

    with pytest.raises(IngestError, match="already exists; --force"):
        put_late(path, private=private)

    assert path.read_bytes() == b"faster"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o604)])
def test_who_could_read_a_page_still_can(
    tmp_path: Path, private: bool, mode: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o604)

    put(path, private=private)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == mode


def test_a_private_file_does_not_go_where_a_link_leads(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"old")
    link.symlink_to(file)

    put(link, private=True)

    assert not link.is_symlink()
    assert (file.read_bytes(), link.read_bytes()) == (b"old", b"new")


@pytest.mark.parametrize("private", [True, False])
def test_a_pipe_stays_one(tmp_path: Path, private: bool) -> None:
    path = tmp_path / "a"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        put(path, private=private)
        assert os.read(end, 99) == b"new"
    finally:
        os.close(end)

    assert path.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_told_once() -> None:
    with pytest.raises(IngestError, match="No space left"):
        put(Path("/dev/full"), private=False)


@pytest.mark.skipif(os.name != "posix", reason="flock")
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_is_one_line(
    ingest: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    number: int,
) -> None:
    def flock(_handle: int, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    dump, fleet = tmp_path / "a.gclog", tmp_path / "fleet"
    dump.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    monkeypatch.setattr("fcntl.flock", flock)
    monkeypatch.setenv("INGEST_HOME", str(tmp_path / "home"))

    code, _, err = ingest("fleet", "add", str(dump), "--to", str(fleet))
    assert (code, err.count("\n")) == (1, 1), err
    assert "locks no files" in err
    server = EmbeddedServer(settings())
    with pytest.raises(IngestError, match="use a folder on a local disk"):
        server._lock(silent).__enter__()


def test_a_lock_that_another_one_has(tmp_path: Path) -> None:
    with file_lock(tmp_path / "lock"):
        other = file_lock(tmp_path / "lock")
        with pytest.raises(Timeout):
            other.acquire(timeout=0)
    with other:
        assert other.is_locked
