"""Options of reading: each command that opens dumps follows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.dumps import hprof

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

LAYOUTS = ("12/4/16", "16/8/24")


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "a.hprof"
    path.write_bytes(hprof.program().bytes())
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["info", "JAVA", "--json"],
        ["compare", "JAVA", "JAVA", "--json"],
        ["what-if", "JAVA", "--cut", "java.lang.String", "--json"],
        ["objsize", "JAVA", "java.lang.String", "--json"],
    ],
    ids=lambda words: words[0],
)
def test_a_layout_is_followed(
    command: list[str], ingest: Callable[..., Ran], java: Path
) -> None:
    words = [str(java) if word == "JAVA" else word for word in command]
    told = []
    for layout in LAYOUTS:
        code, out, err = ingest(*words, "--layout", layout)
        assert (code, err) == (0, "")
        told.append(json.loads(out))

    assert told[0] != told[1]


def test_a_layout_is_kept_in_an_export(
    ingest: Callable[..., Ran], java: Path, tmp_path: Path
) -> None:
    for layout in LAYOUTS:
        folder = str(tmp_path / layout.replace("/", "-"))
        assert ingest("export", str(java), folder, "--layout", layout)[0] == 0
        asked = ["objsize", "DUMP", "java.lang.String", "--json"]
        of_file = ingest(asked[0], str(java), *asked[2:], "--layout", layout)
        assert ingest(asked[0], folder, *asked[2:]) == of_file


@pytest.mark.slow
def test_a_layout_is_kept_in_a_fleet(
    ingest: Callable[..., Ran], java: Path, tmp_path: Path
) -> None:
    folders = [str(tmp_path / layout.replace("/", "-")) for layout in LAYOUTS]
    for folder, layout in zip(folders, LAYOUTS, strict=True):
        added = ["fleet", "add", str(java), "--to", folder, "--layout", layout]
        assert ingest(*added)[0] == 0

    code, out, _ = ingest("compare", *(f"{one}::a.hprof" for one in folders), "--json")

    assert code == 0
    narrow, wide = (one["reachable_bytes"] for one in json.loads(out)["dumps"])
    assert narrow != wide


def test_a_layout_is_followed_by_the_gate(
    ingest: Callable[..., Ran], java: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[budget]]\ntype = 'java.lang.String'\nmax_bytes = 1\n", "utf-8")
    told = [
        ingest("check", str(java), "--config", str(rules), "--layout", layout)[1]
        for layout in LAYOUTS
    ]

    assert told[0] != told[1]
