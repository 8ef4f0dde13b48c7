"""The outputs of the gate: SARIF as its schema says, and hostile text in all of them.

`SHAPES` has, from the published schema of SARIF 2.1.0, the members of each object that
we write: all that are required, and of the others those that are known to exist. The
whole schema is 130 kB.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree

import pytest

from ingest.gate.baseline import BaselineComparison, Entry
from ingest.gate.findings import Finding, Judged, Rule, SourcePlace
from ingest.reports.findings import (
    Verdict,
    as_annotations,
    as_json,
    as_junit,
    as_markdown,
    as_sarif,
    as_text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.compare.dumps import ComparedDump

SHAPES: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": (
        {"tool"},
        {"results", "automationDetails", "columnKind", "invocations"},
    ),
    "invocation": ({"executionSuccessful"}, {"toolExecutionNotifications"}),
    "notification": ({"message"}, {"level"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "rules"}),
    "rule": (
        {"id"},
        {"shortDescription", "fullDescription", "help", "defaultConfiguration"},
    ),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "locations", "partialFingerprints"}
        | {"suppressions"},
    ),
    "location": (set(), {"physicalLocation", "logicalLocations"}),
    "physicalLocation": (set(), {"artifactLocation", "region"}),
    "artifactLocation": (set(), {"uri"}),
    "region": (set(), {"startLine", "startColumn"}),
    "logicalLocation": (set(), {"fullyQualifiedName", "kind"}),
    "suppression": ({"kind"}, {"justification"}),
    "message": (set(), {"text"}),
}

HOSTILE = "\x1b[2J<b>&\"'|`\n::error::\x00\ud800%0A]]>"


def check(kind: str, value: dict[str, object]) -> None:
    required, allowed = SHAPES[kind]
    assert required <= value.keys() <= required | allowed, kind


def verdict(
    name: str = "Order", *, strict: bool = False, incomplete: bool = False
) -> Verdict:
    path = ("static", f"{name}[]", name)
    new = (
        Finding(Rule.GROWTH, "1-" + "a" * 32, path, f"{name} grew.", (1, 2, 3)),
        Finding(Rule.BUDGET, "1-" + "b" * 32, (name,), "Too many.", note=name),
    )
    known = (Finding(Rule.SUSPECT, "1-" + "c" * 32, path, "Held.", note=name),)
    unused = {"1-" + "d" * 32: Entry("growth", name)}
    lacking = (f"{name} is incomplete: it has no roots.",)
    judged = Judged((), list(new), [f"{name} is odd"], lacking if incomplete else ())
    return Verdict(judged, BaselineComparison(new, known, unused), "base.toml", strict)


@pytest.mark.parametrize("name", ["Order", HOSTILE])
def test_sarif_is_as_the_schema_says(name: str) -> None:
    log = json.loads(as_sarif(verdict(name, incomplete=True)))

    check("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    check("run", run)
    check("tool", run["tool"])
    (invocation,) = run["invocations"]
    check("invocation", invocation)
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    check("notification", notification)
    assert "is incomplete" in notification["message"]["text"]
    check("driver", run["tool"]["driver"])
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        check("rule", rule)
        for member in ("shortDescription", "fullDescription", "help"):
            check("message", rule[member])
    assert len(run["results"]) == 3
    for result in run["results"]:
        check("result", result)
        check("message", result["message"])
        assert result["level"] in ("none", "note", "warning", "error")
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
        for suppression in result.get("suppressions", ()):
            check("suppression", suppression)
            assert suppression["kind"] in ("inSource", "external")
        for place in result["locations"]:
            check("location", place)
            check("physicalLocation", place["physicalLocation"])
            for member in ("artifactLocation", "region"):
                check(member, place["physicalLocation"][member])
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert uri == "base.toml"
            for logical in place["logicalLocations"]:
                check("logicalLocation", logical)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("incomplete", [False, True])
def test_junit_counts_its_tests(*, strict: bool, incomplete: bool) -> None:
    found = verdict(HOSTILE, strict=strict, incomplete=incomplete)
    suite = ElementTree.fromstring(as_junit(found))[0]

    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    assert int(suite.get("failures", "")) == len(suite.findall(".//failure"))
    assert int(suite.get("failures", "")) == 2 + strict
    errors = len(suite.findall(".//error"))
    assert int(suite.get("errors", "")) == errors == incomplete
    assert int(suite.get("skipped", "")) == len(suite.findall(".//skipped")) == 1


def test_no_text_of_a_dump_is_a_command_or_markup() -> None:
    found = verdict(HOSTILE, incomplete=True)

    for text in (as_text(found), as_markdown(found), as_annotations(found)):
        assert "\x1b" not in text
        assert "\x00" not in text
    assert "<b>" not in as_markdown(found)
    commands = as_annotations(found).splitlines()
    assert [line.split(" ")[0].split("::")[1] for line in commands] == [
        "error",
        "error",
        "error",
        "warning",
        "warning",
        "warning",
        "notice",
    ]
    assert json.loads(as_json(found))["findings"][0]["path"][2] == HOSTILE


def test_a_headline_says_how_many() -> None:
    assert verdict().headline == "2 findings, 1 known from the baseline."
    assert verdict(strict=True).headline.endswith("1 unused in the baseline.")
    clean = Verdict(Judged(()), BaselineComparison((), (), {}))
    assert (clean.headline, clean.is_clean) == ("No findings.", True)


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("{here}/src/a b.js", "src/a%20b.js"),
        ("file://{here}/src/a%20b.js", "src/a%20b.js"),
        ("/elsewhere/a.py", "file:///elsewhere/a.py"),
        ("shop.rb", "shop.rb"),
        ("https://shop.example/a.js", "https://shop.example/a.js"),
    ],
)
def test_findings_point_to_their_source(
    file: str, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = SourcePlace(file.format(here=tmp_path), 12, 3)
    one = Finding(Rule.GROWTH, "1-" + "a" * 32, ("a",), "It grew.", source=source)
    script = replace(one, source=source._replace(line=0, column=0))
    nowhere = replace(one, source=None)
    found = BaselineComparison((one, script, nowhere), (), {})
    told = Verdict(Judged(()), found, "base.toml")

    (run,) = json.loads(as_sarif(told))["runs"]

    assert [
        result["locations"][0]["physicalLocation"] for result in run["results"]
    ] == [
        {"artifactLocation": {"uri": uri}, "region": place}
        for place in ({"startLine": 12, "startColumn": 3}, {"startLine": 1})
    ] + [{"artifactLocation": {"uri": "base.toml"}, "region": {"startLine": 1}}]
    name = uri.replace("%20", " ")
    assert f"source {name}:12:3" in as_text(told)
    assert f"source {name}\n" in as_text(told)
    assert as_annotations(told).count(",line=12,title=") == 1
    facts = json.loads(as_json(told))["findings"]
    assert facts[0]["source"]["line"] == 12
    assert facts[2]["source"] is None


@pytest.mark.parametrize("dumps", [0, 1, 2])
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("lacking", [(), ("half.",)])
def test_only_several_whole_dumps_show_that_a_leak_is_gone(
    dumps: int, lacking: tuple[str, ...], *, allowed: bool
) -> None:
    dump = cast("ComparedDump", object())
    judged = Judged([dump] * dumps, incomplete=lacking)
    unused = BaselineComparison((), (), {"1-" + "d" * 32: Entry("growth", "a")})

    told = Verdict(judged, unused, "base.toml", allow_incomplete=allowed).remarks

    is_told = any("--prune" in one for one in told)
    assert is_told is (dumps == 2 and not lacking)
