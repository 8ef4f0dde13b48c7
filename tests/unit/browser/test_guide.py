"""The guide: a newcomer's tour, whatever the names in a dump."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, cast

import pytest

from ingest.browser.guide import guide
from ingest.queries.answer import Answer
from ingest.queries.library import find, library, own_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.browser.guide import Ask

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>" data-exec="server'
    " disconnect\"> </pre></slide> onx='=1' {{ 7 * 7 }}{% raw %} \x1b[31m\u202e"
    ' href="javascript:alert(1)" \'}) DETACH DELETE n //'
)
STYLE = "http://localhost:1234/heaproots.grass"
NUMBERS = {"INTEGER": 1234, "FLOAT": 0.5}


def answering(
    text: str = "Some.Type",
    rows: int = 1,
    *,
    empty: tuple[str, ...] = (),
    incomplete: str | None = None,
    smaller: bool = False,
    runtime: str | None = None,
) -> Ask:
    """Answer every query with rows that match its header."""

    def value(name: str, kind: str) -> object:
        if name.endswith("address"):
            return "0x1c15d2"
        if name == "runtime":
            return runtime
        if name == "incomplete":
            return incomplete
        if name in ("smaller_groups", "smaller_addresses"):
            return [f"{name} {text}"] if smaller else None
        if kind.startswith("LIST"):
            return [text]
        return NUMBERS.get(kind, text)

    def answer(name: str, given: Mapping[str, str]) -> Answer:
        query = find(name)
        query.bind(given, 7)
        row = tuple(value(column.name, column.type) for column in query.columns)
        count = 0 if name in empty else rows
        return Answer(
            tuple(c.name for c in query.columns), tuple(row for _ in range(count))
        )

    def ask(queries: Mapping[str, Mapping[str, str]]) -> dict[str, Answer]:
        return {name: answer(name, given) for name, given in queries.items()}

    return ask


class Read(HTMLParser):
    """The guide as Browser parses it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.queries: list[str] = []
        self.text = ""
        self._is_query = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "pre":
            self._is_query = True
            self.queries.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._is_query = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_query:
            self.queries[-1] += data


def cleaned(html: str) -> str:
    """Clean a guide with the expressions of Browser 5.24.0 (cleanHtml)."""
    html = re.sub(
        r"(\s+(on[^\s=]+)[^\s=]*\s*=\s*(\"[^\"]*\"|'[^']*'|[\w\-.:]+\s*))", "", html,
        flags=re.IGNORECASE,
    )  # fmt: skip
    html = re.sub(
        r"<script\b[^<]*(?:(?!</script>)<[^<]*)*(</script>)?", "", html,
        flags=re.IGNORECASE,
    )  # fmt: skip
    html = re.sub(r'href=".*javascript:[^"]*"', 'href=""', html)
    return re.sub(r"href='.*javascript:[^']*'", "href=''", html)


def test_it_has_the_slides_of_the_tour() -> None:
    html = guide(answering(), 7, STYLE)

    titles = re.findall("<h3>(.*)</h3>", html)
    assert titles == [
        "The dump: Some.Type",
        "Leak suspects",
        "Why are the 1,234 Type alive?",
        "What Type 0x1c15d2 retains",
        "Objects by retained size",
        "Types by retained size",
        "Static fields",
        "What to do next",
    ]
    assert html.count("<slide ") == html.count("</slide>") == len(titles)
    assert html.startswith('<article class="guide">')


def test_an_incomplete_dump_is_said_first_and_has_no_garbage() -> None:
    read = Read(guide(answering(incomplete="it has no roots"), 7, STYLE))

    first = read.text.index("This dump is incomplete: it has no roots.")
    assert first < read.text.index("1,234")
    assert "garbage" not in read.text


def test_it_has_the_dump_s_own_numbers_and_names_its_queries() -> None:
    read = Read(guide(answering(), 7, STYLE))

    assert "1,234" in read.text
    for name in ("dump", "leak-suspects", "shortest-root-path", "dominated-by",
                 "retained-objects", "retained-types", "static-roots",
                 "unreachable-types"):  # fmt: skip
        assert f"({name})" in read.text
        assert name in library()
    assert "ingest why 0x1c15d2" in read.text
    (pile,) = answering()({"leak-suspects": {}})["leak-suspects"].column("contents")
    assert pile
    assert all(read.text.count(line) >= 2 for line in cast("list[str]", pile))


def test_queries_are_one_statement_with_values_in_place() -> None:
    read = Read(guide(answering(), 7, STYLE))

    expected = find("dominated-by")
    values = expected.bind({"address": "0x1c15d2"}, 7)
    assert expected.with_literals(values) in read.queries
    assert len(read.queries) == 11
    for text in read.queries:
        assert "$" not in text
        assert ":param" not in text
        assert ";" not in re.sub("'[^']*'", "", text)
        assert "RETURN" in text
        assert re.search(r"(dump|number)(: | = )7\b", text)
        own_query(text, "guide", {})


def test_the_style_is_a_click_away_where_it_is_served() -> None:
    assert f'exec-topic="style {STYLE}"' in guide(answering(), 7, STYLE)
    assert "style http" not in guide(answering(), 7)
    assert "exec-topic" not in guide(answering(), 7)


@pytest.mark.parametrize("rows", [1, 5, 12])
def test_a_hostile_dump_opens_no_tag(rows: int) -> None:
    harmless = Read(guide(answering("x", rows), 7, STYLE))
    html = guide(answering(HOSTILE, rows), 7, STYLE)
    read = Read(html)

    assert read.tags == harmless.tags
    assert read.attributes == harmless.attributes
    assert len(read.queries) == len(harmless.queries)
    assert "<script>alert(1)</script>" in read.text
    assert "{{ 7 * 7 }}{% raw %}" in read.text
    assert "\\x1b[31m\\u202e" in read.text
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_browser_s_cleaning_takes_nothing_away() -> None:
    for text in (HOSTILE, "x", "one = 1 only = 'x' once=2"):
        html = guide(answering(text), 7, STYLE)
        assert cleaned(html) == html


def test_an_empty_dump_has_a_guide_too() -> None:
    nothing = tuple(name for name in library() if name != "dump")
    html = guide(answering(empty=nothing), 7, STYLE)

    assert re.findall("<h3>(.*)</h3>", html) == [
        "The dump: Some.Type",
        "Leak suspects",
        "What to do next",
    ]
    assert "No leak suspects" in html


def test_without_suspects_it_follows_what_retains_most() -> None:
    html = guide(answering(empty=("leak-suspects",)), 7)

    assert "Why is Type 0x1c15d2 alive?" in html
    assert "first suspect" not in html


def test_no_collection_of_the_runtime_is_followed() -> None:
    name = "System.Collections.Generic.Dictionary`2[[System.String],[Some.Type]]"
    html = guide(answering(name, empty=("leak-suspects",), runtime="dotnet"), 7)

    assert "alive?" not in html
    assert "Objects by retained size" in html


def test_smaller_groups_are_listed_and_followed_where_there_is_no_suspect() -> None:
    html = guide(answering(empty=("leak-suspects",), smaller=True), 7)

    assert "Smaller groups of the program&#39;s own objects" in html
    assert html.count("smaller_groups Some.Type") == 2
    assert html.count("<slide ") == html.count("</slide>")
    assert "Smaller groups" not in guide(answering(), 7)


def test_the_path_has_the_fields() -> None:
    query = "shortest-root-path"
    html = guide(answering(), 7)

    table = html[: html.index(f"({query})")].rpartition("<table")[2]
    assert [*re.findall(r"<th[^>]*>([a-z ]+)</th>", table)] == [
        "what", "field", "type", "address",
    ]  # fmt: skip


def test_a_long_path_says_that_it_is_cut() -> None:
    assert "first steps" in guide(answering(rows=12), 7)
    assert "first steps" not in guide(answering(rows=11), 7)
