"""The archive of classes: made once, taken over whole, never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.server.launch import archive_flags, is_archived
from ingest.system.places import places

JAVA = """#!/bin/sh
for argument; do
  case $argument in -XX:SharedArchiveFile=*) echo classes > "${argument#*=}";; esac
done
exit %d
"""


def java(tmp_path: Path, code: int = 0) -> Path:
    path = tmp_path / "java"
    path.write_text(JAVA % code)
    path.chmod(0o755)
    return path


def file_flag(flags: list[str]) -> list[str]:
    (flag,) = [flag for flag in flags if flag.startswith("-XX:SharedArchiveFile=")]
    return flag.partition("=")[2].split(os.pathsep)


def test_who_may_not_write_uses_what_there_is(tmp_path: Path) -> None:
    assert archive_flags(java(tmp_path), [Path("a.jar")]) == []
    assert not (places().cache / "classes" / "java.jsa").exists()


def test_a_server_writes_what_the_next_one_uses(tmp_path: Path) -> None:
    jars, pending = [Path("a.jar")], tmp_path / "classes.jsa"

    first = archive_flags(java(tmp_path), jars, pending)
    assert not is_archived(java(tmp_path), jars), "the server has to end by itself"
    assert f"-XX:ArchiveClassesAtExit={pending}" in first
    assert [Path(name).read_text() for name in file_flag(first)] == ["classes\n"]

    pending.write_text("of Neo4j")  # as the server does when it stops
    second = archive_flags(java(tmp_path), jars, pending)
    assert [Path(name).read_text() for name in file_flag(second)] == [
        "classes\n",
        "of Neo4j",
    ]
    assert is_archived(java(tmp_path), jars)
    assert not pending.exists()
    assert not any("AtExit" in flag for flag in second)
    assert archive_flags(java(tmp_path), jars) == second
    other = archive_flags(java(tmp_path), [Path("b.jar")])
    assert len(file_flag(other)) == 1, "an archive of other jars"


def test_a_java_that_cannot_make_one_starts_without(tmp_path: Path) -> None:
    assert archive_flags(java(tmp_path, code=1), [], tmp_path / "classes.jsa") == []


def test_a_cache_that_is_no_folder_only_costs_time(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "cache").write_text("in the way")
    monkeypatch.setenv("INGEST_HOME", str(home))
    assert archive_flags(java(tmp_path), [], tmp_path / "classes.jsa") == []
