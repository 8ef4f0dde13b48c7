"""``what-if`` through its own door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ingest.readers.gclog.example import example_gclog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

EVENT = "ScoreChangedEventHandler -> LevelScreen"


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "game.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    return str(path)


def test_the_best_cuts_of_a_file_and_of_its_tables(
    ingest: Callable[..., Ran], dump: str, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    assert ingest("export", dump, str(tables))[0] == 0

    found = json.loads(ingest("what-if", dump, "--free", "80", "--json")[1])
    again = json.loads(ingest("what-if", str(tables), "--cut", EVENT, "--json")[1])

    first, second = found["cuts"]
    assert first["references"] == [EVENT]
    assert second["so_far"]["share"] > 0.8 > first["so_far"]["share"] > 0.7
    assert again["cuts"][0]["alone"] == first["alone"]
    assert again["freed"] == first["so_far"]


def test_the_words_of_a_suspect_are_understood(
    ingest: Callable[..., Ran], dump: str
) -> None:
    suspects = json.loads(ingest("info", dump, "--json")[1])["suspects"]
    cuts = [suspect["cut"] for suspect in suspects]

    options = [f"--cut={cut}" for cut in cuts]
    code, out, _ = ingest("what-if", dump, *options, "--json")
    text = ingest("what-if", dump, *options)[1]

    assert code == 0
    found = json.loads(out)
    assert [cut["references"] for cut in found["cuts"]] == [[cut] for cut in cuts]
    assert found["freed"]["share"] > 0.9
    assert "Freed by all of them" in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--cut", "Nobody"], 10, "no type 'Nobody'"),
        (["--cut", "LevelScreen -> GameEvents"], 10, "no reference"),
        (["--free", "0"], 2, "--free"),
    ],
)
def test_a_wrong_cut(
    ingest: Callable[..., Ran], dump: str, arguments: list[str], code: int, said: str
) -> None:
    found, out, err = ingest("what-if", dump, *arguments)

    assert (found, out) == (code, "")
    assert said in err


@pytest.mark.usefixtures("home")
def test_no_server_is_started_for_an_unknown_name(ingest: Callable[..., Ran]) -> None:
    code, _, err = ingest("what-if", "monday")

    assert code == 9
    assert "no dump is loaded" in err
