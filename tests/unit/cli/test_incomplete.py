"""Incomplete dumps: said first everywhere, and nothing is concluded from a gap."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.dumps.programs import dumps_of, static_list

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

WHY = "the file ends too early"
SAID = f"is incomplete: {WHY}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two whole dumps of a program, and the first half of a third."""
    monkeypatch.chdir(tmp_path)
    texts = dumps_of((static_list,), 4000, 1)
    for at in range(2):
        (tmp_path / f"good{at}.gclog").write_text(texts[at], encoding="utf-8")
    half = texts[2][: len(texts[2]) // 2]
    (tmp_path / "half.gclog").write_text(half, encoding="utf-8")
    (tmp_path / "bad.gclog").write_text(
        "a 2 p\nt 1 App.A\no zz\nc p\n", encoding="utf-8"
    )
    return tmp_path


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.usefixtures("project")
def test_info_concludes_nothing(ingest: Callable[..., Ran]) -> None:
    code, out, _ = ingest("info", "half.gclog")

    assert code == 0
    assert out.split("\n\n")[1].startswith("  This dump is incomplete: the file ends")
    assert "garbage" not in out
    assert "No leak suspects in the part of the heap that the dump has." in flat(out)
    facts = json.loads(ingest("info", "half.gclog", "--json")[1])
    assert facts["incomplete"].startswith(WHY)
    assert json.loads(ingest("info", "good0.gclog", "--json")[1])["incomplete"] is None


@pytest.mark.usefixtures("project")
def test_a_dump_of_nothing_is_incomplete(ingest: Callable[..., Ran]) -> None:
    out = ingest("info", "bad.gclog")[1]

    assert "incomplete: 1 of 1 records could not be read." in flat(out)
    assert ingest("check", "bad.gclog")[0] == 21


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_the_gate_does_not_open(ingest: Callable[..., Ran]) -> None:
    names = ("good0.gclog", "good1.gclog", "half.gclog")
    code, out, _ = ingest("check", *names)

    assert code == 21
    assert out.startswith(f"half.gclog {SAID}")
    assert "No verdict, because a dump is incomplete: no findings." in flat(out)
    for form in ("markdown", "json", "sarif", "junit", "github"):
        code, out, _ = ingest("check", *names, "-f", form)
        assert code == 21, form
        assert SAID in flat(out), form
    facts = json.loads(ingest("check", *names, "-f", "json")[1])
    assert not facts["clean"]
    assert not facts["conclusive"]
    assert [bool(dump["incomplete"]) for dump in facts["dumps"]] == [0, 0, 1]

    code, out, _ = ingest("check", *names, "--allow-incomplete")
    assert code == 0
    assert out.startswith(f"half.gclog {SAID}")
    against = ("check", "good0.gclog", "--against", "half.gclog")
    assert ingest(*against)[0] == 21


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("order", [("good1", "half"), ("half", "good1")])
def test_nothing_is_gone_or_new(
    order: tuple[str, str], ingest: Callable[..., Ran]
) -> None:
    code, out, _ = ingest("compare", *(f"{name}.gclog" for name in order))

    assert code == 0
    assert flat(out).startswith(f"half {SAID}")
    assert "gone" not in out
    found = json.loads(
        ingest("compare", *(f"{name}.gclog" for name in order), "--json")[1]
    )
    changes = {one["change"] for one in found["differences"]}
    assert "unknown" in changes
    never = {"gone", "shrunk"} if order[1] == "half" else {"new", "grown"}
    assert not never & changes
    assert "moved" not in changes
    lacking = [dump["incomplete"] is not None for dump in found["dumps"]]
    assert lacking == [name == "half" for name in order]


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_an_export_knows_it(ingest: Callable[..., Ran]) -> None:
    assert ingest("export", "half.gclog", "half", "--for", "parquet")[0] == 0

    assert SAID in flat(ingest("compare", "good1.gclog", "half")[1])
    assert ingest("check", "half")[0] == 21


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_fleet_leaves_it_out(ingest: Callable[..., Ran]) -> None:
    names = ("good0.gclog", "good1.gclog", "half.gclog")
    code, out, _ = ingest("fleet", "add", *names, "--to", "fleet")
    assert code == 0, out
    assert "1 of those added is incomplete and counts in no share:" in flat(out)
    assert WHY in flat(out)

    rows = json.loads(ingest("fleet", "query", "fleet", "programs", "--json")[1])
    assert [row["dumps"] for row in rows] == [2]
    assert WHY in flat(ingest("fleet", "report", "fleet")[1])
    again = ingest("fleet", "add", *names, "--to", "fleet")[1]
    assert "0 dumps added" in again, "it is known"
    assert SAID in flat(ingest("compare", "good0.gclog", "fleet::half")[1])


def test_what_only_lost_its_other_holder_did_not_grow(
    ingest: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = [f"o {at:x} 3 1000" for at in range(0x20, 0x24)]
    other = ["o 11 2 40 20 21 22 23", "r 11 4 0 2", "r 10 4 0 1"]
    head = ["a 1 p g.exe 0", "t 1 App.Holder", "t 2 App.Other", "t 3 App.Item"]
    whole = [*head, *items, *other, "o 10 1 40 20 21 22 23", "c g.exe"]
    more = [*head, "o 24 3 1000", *items, f"{other[0]} 24", *other[1:]]
    for name, lines in ("whole", whole), ("cut", [*head, *items, *other]), ("m", more):
        (tmp_path / f"{name}.gclog").write_text("\n".join([*lines, ""]), "utf-8")

    out = ingest("compare", "whole.gclog", "cut.gclog", "--json")[1]
    found = json.loads(out)["differences"]
    assert not [one for one in found if one["change"] in ("new", "grown")]
    for command in (["info"], ["check", "--allow-incomplete"]):
        told = ingest(*command, "whole.gclog", "cut.gclog")[1]
        assert "grew" not in told, command
    # What has more instances grew, whatever is missing.
    out = ingest("compare", "whole.gclog", "m.gclog", "--json")[1]
    found = json.loads(out)["differences"]
    assert {"new", "grown"} & {one["change"] for one in found if one["by"] == "type"}
