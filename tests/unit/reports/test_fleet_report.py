"""The report over a fleet: what it says, and that names stay text."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ingest.fleet.questions import REPORT, FleetQuestion, question
from ingest.queries.answer import Answer
from ingest.reports.fleet import (
    MORE,
    FleetReport,
    fleet_facts,
    fleet_markdown,
    fleet_text,
)
from ingest.reports.fleet_page import fleet_page

HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202e'; rm -rf ~ #"
TOTALS = {
    "dumps": 3,
    "programs": 1,
    "versions": 0,
    "hosts": 2,
    "incomplete": 1,
    "failed": 1,
}


def leaks(name: str = "Cart in Sessions", dump: str = "/d/a b.hprof") -> Answer:
    columns = ("program", "leak", "dumps", "share", "hosts", "versions", "p50_bytes",
               "p95_bytes", "example", "dump", "fingerprint")  # fmt: skip
    first = (
        "shop",
        name,
        3,
        0.75,
        2,
        ["1.0", name],
        2048,
        4096,
        f"{name} leak",
        dump,
        "ab",
    )
    versions: list[str] = []
    last = ("shop", "small", 1, 0.25, 1, versions, None, 512, None, "s3://b/x", "cd")
    return Answer(columns, (first, last))


def report(answer: Answer, *loadable: str) -> FleetReport:
    nothing = FleetQuestion("failures", "Unreadable files", "", "SELECT 1")
    other = FleetQuestion("outliers", "Outliers", "Far off.", "SELECT 2", True)
    answers = [(question("leaks"), answer), (other, Answer(("dump",), ())),
               (nothing, Answer(("error",), ()))]  # fmt: skip
    return FleetReport("my fleet", answers, frozenset(loadable))


def test_the_report_says_what_leaks_and_what_opens_it() -> None:
    text = fleet_text(report(leaks(), "/d/a b.hprof"))
    assert "shop: Cart in" in text
    assert "75.0%" in text
    assert "2.0 KiB" in text
    assert "1. Cart in Sessions leak" in text
    assert "ingest fleet load 'my fleet' '/d/a b.hprof'" in text
    assert "ingest fleet load 'my fleet' s3://b/x --read\n" in text
    assert "Outliers\n--------\nFar off.\n\n  none" in text
    assert "Unreadable files" not in text
    assert "## Leaks by share of dumps" in fleet_markdown(report(leaks()))
    facts = fleet_facts(report(leaks()))
    assert json.loads(json.dumps(facts))["leaks"][0]["share"] == 0.75


def test_the_report_opens_with_what_leaks_and_how_it_grows() -> None:
    columns = ("program", "leak", "bytes_per_hour", "dump", "fingerprint")
    rate = Answer(columns, (("shop", "Cart in Sessions", 3 << 20, "/d/a.hprof", "ab"),))
    whole = report(leaks())
    grown = replace(whole, answers=[*whole.answers, (question("growing"), rate)])
    first = (
        "shop: Cart in Sessions leak The leak is in 75% of its dumps (3). "
        "It grows by 3.0 MiB an hour."
    )
    assert grown.headlines() == [
        first,
        "shop: small. The leak is in 25% of its dumps (1).",
    ]
    assert fleet_markdown(grown).splitlines()[2] == f"- {first}"
    assert fleet_page(grown, TOTALS).index(first) < fleet_page(grown, TOTALS).index(
        "<dl"
    )
    none = replace(whole, answers=[(question("leaks"), Answer(leaks().columns, ()))])
    assert none.headlines() == ["No complete dump has a leak suspect."]


def test_a_table_that_is_cut_says_so() -> None:
    whole = report(leaks())
    cut = replace(whole, cut=frozenset({"leaks"}))
    for write in (fleet_text, fleet_markdown, lambda r: fleet_page(r, TOTALS)):
        assert MORE not in write(whole)
        assert write(cut).count(MORE) == 1


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "script":
            self.scripts.append(values.get("src", ""))
        self.links += [values[name] for name in ("href", "src") if name in values]
        assert not any(name.startswith("on") for name in values)


def test_names_of_a_dump_stay_text() -> None:
    hostile = report(leaks(HOSTILE, f"/d/{HOSTILE}"))
    for text in (fleet_text(hostile), fleet_markdown(hostile)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        (command,) = re.findall(r"ingest load .*/d/.*", text)
        assert len(shlex.split(command)) == 3
    page = fleet_page(hostile, TOTALS)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    found = Tags()
    found.feed(page)
    assert found.scripts == [""]  # ours, whose digest the policy has
    assert all(link.startswith("#") for link in found.links)


def test_the_page_has_a_part_for_each_question() -> None:
    page = fleet_page(report(leaks(), "/d/a b.hprof"), TOTALS)
    assert re.findall(r'<section id="([a-z-]+)"', page) == ["leaks", "outliers"]
    assert "ingest fleet load &#39;my fleet&#39; &#39;/d/a b.hprof&#39;" in page
    assert 'data-value="0.75"' in page
    assert "width:75.00%" in page
    assert re.search(r"<dt>not readable</dt><dd>1</dd>", page)
    assert "quantile_disc" in page


@pytest.mark.parametrize("name", REPORT)
def test_each_question_of_the_report_is_explained(name: str) -> None:
    asked = question(name)
    assert asked.title
    assert not asked.title.endswith(".")
    assert asked.note.endswith(".")
