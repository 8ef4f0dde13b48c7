"""What nobody meant to commit: links out of the tree, paths of a machine, and so on."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_LINK, _PROGRAM = "120000", "100755"
_LARGEST_BYTES = 1 << 20
_OF_A_MACHINE = re.compile(
    rb"(?<![\w.}~/-])/(?:tmp[/]w/|work[/]|home[/][a-z]|root\b)[^\s\"'`,;)]*"
)
_CONFLICT = re.compile(rb"^(?:<{7} |={7}$|>{7} |\|{7} )", re.MULTILINE)
_IMAGES = {".png"}


def _tracked() -> dict[Path, str]:
    """Files of the index by name, with their mode."""
    if not (ROOT / ".git").exists():
        return {}
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--stage", "-z"],
            cwd=ROOT, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return {}
    entries = (entry.partition("\t") for entry in listed.split("\0") if entry)
    return {ROOT / name: about.split()[0] for about, _, name in entries}


TRACKED = _tracked()
pytestmark = pytest.mark.skipif(
    not TRACKED,
    reason="files of the project: no git that tells which they are",
)


def _texts() -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path, mode in TRACKED.items()
        if mode != _LINK and path.suffix not in _IMAGES and path.exists()
    }


def test_links_stay_in_the_tree() -> None:
    for path, mode in TRACKED.items():
        if mode == _LINK and path.is_symlink():
            target = path.readlink()
            assert not target.is_absolute(), (path, target)
            inside = Path(os.path.normpath(path.parent / target))
            assert inside.is_relative_to(ROOT), (path, target)
            assert inside.exists(), (path, target)


def test_no_path_of_a_machine_is_written_down() -> None:
    found = [
        (str(path.relative_to(ROOT)), match[0].decode())
        for path, text in _texts().items()
        for match in _OF_A_MACHINE.finditer(text)
    ]
    assert not found


@pytest.mark.parametrize("folders", ["tmp/w/x", "work/x", "home/somebody", "root/x"])
def test_paths_of_a_machine_are_found(folders: str) -> None:
    path = f"/{folders}"
    for text in (path, f'"{path}"', f"cd {path}", f"({path})", f"PATH={path}:"):
        assert _OF_A_MACHINE.search(text.encode()), text
    assert not _OF_A_MACHINE.search(f"https://host{path} ~{path} a{path}".encode())


def test_no_file_is_large() -> None:
    for path in TRACKED:
        if path.exists():
            assert path.lstat().st_size <= _LARGEST_BYTES, path


def test_what_can_be_started_says_what_runs_it() -> None:
    for path, mode in TRACKED.items():
        if path.exists():
            starts = mode == _PROGRAM and not path.is_symlink()
            assert not starts or path.read_bytes().startswith(b"#!"), path


def test_no_merge_was_left_half_done() -> None:
    for path, text in _texts().items():
        assert not _CONFLICT.search(text), path
