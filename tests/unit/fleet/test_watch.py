"""Dumps that come are added once they are finished, and answered for in a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingest.cli import main
from ingest.errors import IngestError
from ingest.fleet.add import Workers
from ingest.fleet.watch import ANSWER_BYTES, Watch, in_a_line, in_json
from ingest.heap.read_options import DEFAULTS
from tests.dumps.fleet import dump


def write(folder: Path, name: str, seconds: int, *, steps: int = 60) -> Path:
    """A dump of the program mail; its file was written at that time."""
    path = folder / f"{name}.gclog"
    path.write_bytes(dump("mail", 0, steps, seed=seconds))
    os.utime(path, (seconds, seconds))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dumps"
    made.mkdir()
    return made


def watch(folder: Path, keep: int | None = None) -> Watch:
    return Watch([str(folder)], folder.parent / "fleet", DEFAULTS, Workers(), keep=keep)


@pytest.mark.slow
def test_a_dump_is_added_once_it_is_finished(folder: Path) -> None:
    watched = watch(folder)
    assert watched.look() == []  # an empty folder is no error
    first = write(folder, "first", 1)
    assert watched.look() == [], "it may still grow"
    with first.open("ab"):
        assert watched.look() == [], "somebody has it open to write it"
    with first.open("rb"):  # to read it
        (answer,) = watched.look()
    assert (answer["name"], answer["state"]) == ("first", "ready")
    (suspect,) = answer["suspects"]
    assert "Draft" in suspect["sentence"]
    assert suspect["is_new"]
    assert watched.look() == []

    write(folder, "second", 2)
    (folder / "third.gclog").write_bytes(b"no dump")
    watched.look()
    answers = {answer["name"]: answer for answer in watched.look()}
    assert not answers["second"]["suspects"][0]["is_new"]
    assert answers["third"]["state"] == "failed"
    assert in_a_line(answers["third"]).startswith("third: cannot be read: ")
    line = in_a_line(answers["second"])
    assert line.startswith("second: ")
    assert suspect["sentence"].split()[0] in line

    again = watch(folder)  # as after a restart
    assert [again.look(), again.look()] == [[], []]


@pytest.mark.slow
def test_a_dump_that_grows_between_two_looks_waits(folder: Path) -> None:
    watched, path = watch(folder), write(folder, "one", 1)
    content = path.read_bytes()
    path.write_bytes(content[:-200])
    watched.look()
    path.write_bytes(content)
    os.utime(path, (2, 2))
    assert watched.look() == []
    assert [answer["state"] for answer in watched.look()] == ["ready"]


@pytest.mark.deep
def test_the_oldest_files_go_if_their_dumps_were_added(folder: Path) -> None:
    for number in range(1, 4):
        write(folder, f"dump{number}", number)
    bad = folder / "bad.gclog"
    bad.write_bytes(b"no dump")
    os.utime(bad, (1, 1))
    watched = watch(folder, keep=1)
    watched.look()
    assert len(watched.look()) == 4
    assert sorted(path.name for path in folder.iterdir()) == [
        "bad.gclog",
        "dump3.gclog",
    ]
    assert [Path(path).name for path in watched.removed] == [
        "dump1.gclog",
        "dump2.gclog",
    ]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="no such file or folder"):
        watch(tmp_path / "none").look()


def answer(sentence: str, suspects: int) -> dict[str, Any]:
    one = {
        "sentence": sentence, "retained_bytes": 1 << 30, "share": 0.5,
        "fingerprint": "3-" + "a" * 32, "is_new": True,
    }  # fmt: skip
    return {
        "name": "heap", "source": "/dumps/heap.hprof", "state": "ready",
        "object_count": 7, "reachable_bytes": 1 << 31, "suspects": [one] * suspects,
    }  # fmt: skip


@pytest.mark.parametrize(
    "sentence", ["3 Order are held.", "x" * 5000, "\x1b\x00" * 999]
)
@pytest.mark.parametrize("suspects", [0, 1, 9])
def test_an_answer_fits_an_alert(sentence: str, suspects: int) -> None:
    text = in_json(answer(sentence, suspects) | {"source": f"/{sentence}"})
    assert len(text.encode()) <= ANSWER_BYTES
    found = json.loads(text)
    assert found["state"] == "ready"
    assert len(found.get("suspects", ())) + found.get("left_out", 0) == suspects


def test_the_command_adds_what_is_there_and_writes_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, "one", 1)
    answers = folder.parent / "answers"
    arguments = [str(folder), "--to", str(folder.parent / "fleet"), "--once"]
    with pytest.raises(SystemExit, match=r"^0$"):
        main(
            ["watch", *arguments, "--every", "0.1", "--json", "--answers", str(answers)]
        )
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["suspects"]
    assert (answers / "one.gclog.json").read_text(encoding="utf-8") == f"{line}\n"
