"""The files of the gate: rules and the baseline, right and wrong."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from ingest.analysis.fingerprints import RULE_VERSION
from ingest.errors import IngestError
from ingest.gate.baseline import (
    Entry,
    compared,
    read_baseline,
    updated,
    write_baseline,
)
from ingest.gate.findings import Finding, Rule
from ingest.gate.rules import Budget, Rules, find_rules

if TYPE_CHECKING:
    from pathlib import Path

TODAY = datetime.date(2026, 6, 1)
KEY, OTHER, THIRD = (f"{RULE_VERSION}-{i:032x}" for i in (7, 3, 9))
EARLIER = f"{RULE_VERSION - 1}-{7:032x}"


def finding(key: str = KEY) -> Finding:
    return Finding(Rule.GROWTH, key, ("static", 'List "x"\x1b[2J', "é"), "It grew.")


def test_a_project_without_rules_has_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n", encoding="utf-8")

    assert find_rules(tmp_path) == Rules()


@pytest.mark.parametrize(
    ("name", "head"), [("heaproots.toml", ""), ("pyproject.toml", "tool.heaproots.")]
)
def test_rules(tmp_path: Path, name: str, head: str) -> None:
    (tmp_path / name).write_text(
        f"""
        {f"[{head[:-1]}]" if head else ""}
        growth = 3
        own = ["MyApp.*"]
        [{head}expect]
        "MyApp.Activity" = 1
        [[{head}budget]]
        type = "MyApp.Cache*"
        max_bytes = 20_000_000
        """,
        encoding="utf-8",
    )

    assert find_rules(tmp_path) == Rules(
        growth=3,
        own=("MyApp.*",),
        expect={"MyApp.Activity": 1},
        budgets=(Budget(type="MyApp.Cache*", max_bytes=20_000_000),),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("growht = 3", "unknown rule 'growht'; known are growth"),
        ("growth = true", "growth must be a whole number"),
        ("growth = -1", "growth must not be negative"),
        ("own = [1]", "own must be a list of texts"),
        ("expect = {A = 'x'}", "expect 'A' must be a number of objects"),
        ("[[budget]]\ntype = 'A'", "needs max_instances or max_bytes"),
        ("[[budget]]\nmax_bytes = 1", "needs either a type or a path"),
        ("[[budget]]\ntyp = 'A'", "unknown key 'typ' of a budget"),
        ("[[budget]]\ntype = 1", "type of a budget must be a text"),
        ("budget = [1]", "a budget must be a table"),
        ("growth", "is not a TOML file"),
    ],
)
def test_wrong_rules(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "heaproots.toml").write_text(text, encoding="utf-8")

    with pytest.raises(IngestError, match=said):
        find_rules(tmp_path)


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "base.toml"
    entries = {
        KEY: Entry("growth", "static -> A", "known", "https://e/1", TODAY),
        OTHER: Entry("suspect", 'a "quoted" \\ path'),
    }

    write_baseline(path, entries)

    assert read_baseline(path) == entries
    lines = path.read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("[")]
    assert heads == sorted(heads)


def test_what_a_baseline_accepts() -> None:
    found = [finding(), finding(OTHER)]
    baseline = {KEY: Entry("growth", "p", "a cache"), THIRD: Entry("growth", "q")}

    result = compared(found, baseline, TODAY)

    assert [one.fingerprint for one in result.new] == [OTHER]
    assert [one.note for one in result.known] == ["a cache"]
    assert list(result.unused) == [THIRD]


@pytest.mark.parametrize(("days", "is_new"), [(-1, True), (0, False)])
def test_an_entry_expires_after_its_day(days: int, *, is_new: bool) -> None:
    expires = TODAY + datetime.timedelta(days)

    result = compared([finding()], {KEY: Entry("", "", expires=expires)}, TODAY)

    assert bool(result.new) is is_new
    assert not is_new or "until 2026-05-31" in result.new[0].note


def test_updating_keeps_reasons_and_pruning_removes(tmp_path: Path) -> None:
    baseline = {KEY: Entry("growth", "p", "why"), THIRD: Entry("growth", "q")}
    result = compared([finding(), finding(OTHER)], baseline, TODAY)

    added = updated(baseline, result, add=True, prune=False)
    pruned = updated(baseline, result, add=False, prune=True)

    assert list(pruned) == [KEY]
    assert set(added) == {KEY, OTHER, THIRD}
    assert added[KEY].reason == "why"
    write_baseline(tmp_path / "b.toml", added)
    text = (tmp_path / "b.toml").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert read_baseline(tmp_path / "b.toml")[OTHER].path.endswith("é")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a baseline: it has no version"),
        ("version = 2", "version 2, of a later heaproots"),
        (
            f"version = 1\n[{EARLIER}]\nreason = 'a cache'\n",
            "rule 1, .* has rule 2: run once with --update-baseline --prune",
        ),
        (f"version = 1\n[9{KEY}]\n", "rule 92, of a later heaproots"),
        ("version = 1\n[abc]\n", "'abc' is not a fingerprint"),
        (f"version = 1\n[{KEY}]\nsize = 3\n", "unknown key 'size'"),
        (f"version = 1\n[{KEY}]\nreason = 3\n", "reason of .* must be a text"),
        (f"version = 1\n[{KEY}]\nexpires = 'soon'\n", "must be a date"),
        (f"version = 1\n[{KEY}]\n[{KEY}]\n", "is not a TOML file"),
        ("version = 1\n<<<<<<< ours\n=======\n>>>>>>> theirs\n", "merge conflict"),
    ],
)
def test_a_broken_baseline(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "base.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(IngestError, match=said):
        read_baseline(path)


def test_pruning_replaces_fingerprints_of_an_earlier_rule(tmp_path: Path) -> None:
    path = tmp_path / "base.toml"
    write_baseline(path, {EARLIER: Entry("growth", "static -> A", "known")})

    before = read_baseline(path, prune=True)
    found = compared([finding()], before, TODAY)

    assert list(updated(before, found, add=True, prune=True)) == [KEY]
