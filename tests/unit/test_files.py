"""Files that appear complete or not at all, and who may read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.errors import IngestError
from ingest.files import output_file


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
