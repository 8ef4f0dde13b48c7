"""The page as text: what it contains of a dump, and how it is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from ingest.queries.answer import Answer
from ingest.queries.library import find
from ingest.reports import html
from ingest.reports.about import About
from ingest.reports.html import SCRIPTS, QuerySource, script_json
from ingest.reports.page import Links, report_page
from ingest.reports.panels import OWNERS
from ingest.reports.report_panels import PANELS, report_queries
from ingest.reports.why_page import object_page

if TYPE_CHECKING:
    from collections.abc import Mapping

QUERIES = report_queries(page=True)
HOSTILE = "N.</script><script>x</script><img src=x onerror=y>\u202e\"'&lt;{{7*7}}"


def row_for(query: str, **known: object) -> Answer:
    """One row of a query: known values, and others of the type of their column."""
    usual: dict[str, object] = {
        "STRING": HOSTILE,
        "INTEGER": 7,
        "FLOAT": 0.5,
        "BOOLEAN": False,
        "LIST<STRING>": [HOSTILE],
        "LIST<INTEGER>": [7],
    }
    columns = find(query).columns
    row = tuple(known.get(column.name, usual[column.type]) for column in columns)
    return Answer(tuple(column.name for column in columns), (row,))


ABOUT = About("<b>", 1, loaded_count=3, is_newest=False)


def page(known: Mapping[str, Answer] = MappingProxyType({})) -> str:
    """A page with one row per query, except for the known answers."""
    answers = {name: row_for(name) for name in QUERIES}
    answers["dump"] = row_for("dump", reachable_bytes=1000)
    answers["dominator-treemap"] = row_for(
        "dominator-treemap", object=0, dominator=None, retained_bytes=900
    )
    answers |= known
    sources = {
        name: QuerySource(name, f"{HOSTILE} {name}", "http://x/") for name in QUERIES
    }
    return report_page(
        answers,
        [row_for("k-shortest-root-paths")],
        sources,
        [QuerySource("k-shortest-root-paths", "MATCH", None)],
        loaded_at="2026-01-02T03:04:05.123456789Z",
        about=ABOUT,
        contents={HOSTILE: row_for("dominated-types", domain=None, path=[HOSTILE])},
    )


class Tags(HTMLParser):
    """Tags and attributes that a parser finds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def made() -> str:
    return page()


def test_names_of_a_dump_are_only_text(made: str) -> None:
    tags = Tags(made).found

    assert "img" not in {tag for tag, _ in tags}
    # The page's own, and the data of three charts.
    assert sum(tag == "script" for tag, _ in tags) == 4
    assert not [name for _, names in tags for name in names if name.startswith("on")]
    assert "\u202e" not in made
    assert "\\u202e" in made
    assert "{{7*7}}" in made
    assert "N.&lt;/script&gt;" in made


def test_the_policy_names_each_script_and_nothing_else(made: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', made)
    policy = policy.replace("&#39;", "'")
    allowed = re.findall(r"'(sha256-[^']*)'", policy)
    (script,) = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    digest = hashlib.sha256(script.encode()).digest()
    assert allowed == [f"sha256-{base64.b64encode(digest).decode()}"]
    assert policy.startswith("default-src 'none';")
    for word in ("unsafe-eval", "http", "*", "script-src 'unsafe-inline'"):
        assert word not in policy


def test_the_page_requests_nothing(made: str) -> None:
    for tag, names in Tags(made).found:
        assert not {"src", "srcset", "action"} & set(names), tag
        if "href" in names:
            assert tag == "a"
            assert (names["href"] or "").startswith(("#", "http://x/"))
    assert "url(" not in made
    assert "@import" not in made


def test_every_part_has_its_query(made: str) -> None:
    for name in QUERIES:
        assert (f"<code>{name}</code>" in made) is (name != "domains")
    one = row_for("domains")
    two = page({"domains": Answer(one.columns, one.rows * 2)})
    assert "<code>domains</code>" in two, "one domain says nothing"
    ids = [names["id"] for _, names in Tags(made).found if "id" in names]
    assert len(ids) == len(set(ids))
    copied = [names.get("data-copy") for _, names in Tags(made).found]
    assert {name for name in copied if name} <= set(ids)
    links = [(names.get("href") or "") for _, names in Tags(made).found]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_several_collections_are_a_chart(made: str) -> None:
    assert 'class="timeline"' not in made
    one = row_for("gc-timeline")

    drawn = page({"gc-timeline": Answer(one.columns, one.rows * 2)})

    tags = Tags(drawn).found
    assert sum(tag == "script" for tag, _ in tags) == 5
    assert "img" not in {tag for tag, _ in tags}
    assert drawn.count('<section class="timeline" id="gc-timeline"') == 1


def test_a_part_without_rows_is_left_out() -> None:
    queries = ("event-handlers", "timers", "async-state-machines", "free-space")
    bare = page({name: Answer(row_for(name).columns, ()) for name in queries})

    for name in (*queries, "gc-timeline"):
        assert (f'id="{name}"' in bare) is (name == "gc-timeline")


def test_a_page_is_the_same_each_time(made: str) -> None:
    assert page() == made


def test_json_for_scripts_cannot_end_them() -> None:
    value = {"a": "</script><!--&amp;\u2028\u2029"}

    text = script_json(value)

    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_own_files_hold_no_end_of_their_tags() -> None:
    for name, tag in (*((name, "script") for name in SCRIPTS), ("page.css", "style")):
        assert f"</{tag}" not in html._asset(name).lower()
        assert "<!--" not in html._asset(name)
        assert "\r" not in html._asset(name)


def test_a_chain_of_one_type_is_one_row_of_the_table() -> None:
    known = {
        name: [
            row_for(
                name,
                object=at,
                dominator=at - 1 if at else None,
                type="N.Node",
                address=f"0x{at:x}",
                retained_bytes=900 - at,
            )
            for at in range(9)
        ]
        for name in ("retained-objects", "dominator-treemap")
    }

    made = page(
        {
            name: Answer(rows[0].columns, tuple(one.rows[0] for one in rows))
            for name, rows in known.items()
        }
    )

    assert made.count('data-row="object ') == 1
    assert ">Node … 8 more links</a>" in made


def test_links_lead_to_rows_and_hold_only_text() -> None:
    links = Links()
    assert links.link("object", "0x1", "0x1") == "0x1"
    links.add_rows("object", "objects", ["0x1", "0x2"])

    assert str(links.linked("<b> 0x2, 0x3")) == (
        '&lt;b&gt; <a class="ref" href="#object-2" data-object="0x2">0x2</a>, '
        '<a class="ref" href="#objects" data-object="0x3">0x3</a>'
    )


OBJECT_QUERIES = ("object", "k-shortest-root-paths", "dominator-chain", "referrers-of")


def why_page_of(**known: object) -> str:
    answers = {name: row_for(name, domain=None) for name in OBJECT_QUERIES}
    answers["object"] = row_for("object", domain=None, **known)
    sources = {name: QuerySource(name, HOSTILE, "http://x/") for name in answers}
    return object_page("0x7", answers, sources, ABOUT)


def test_the_page_of_an_object_is_only_text_too() -> None:
    made = why_page_of()

    tags = Tags(made).found
    assert "img" not in {tag for tag, _ in tags}
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert sum(tag == "svg" for tag, _ in tags) == 1
    assert "\u202e" not in made


def test_garbage_and_missing_objects_say_so() -> None:
    def without_paths(**known: object) -> str:
        answers = {
            name: Answer(row_for(name).columns, ()) for name in OBJECT_QUERIES
        } | {"object": row_for("object", domain=None, **known)}
        sources = {name: QuerySource(name, "", None) for name in answers}
        return object_page("0x7", answers, sources, ABOUT)

    assert "it is garbage" in without_paths(root_distance=None)
    assert "not in the dump" in without_paths(root_distance=None, missing=True)


def test_a_number_in_the_name_of_a_lambda_is_no_address() -> None:
    links = Links()
    links.add_rows("object", "objects", ["0x7f00"])
    text = str(links.linked("run: Leak$$Lambda/0x7f00 0x7f00"))
    assert text.startswith("run: Leak$$Lambda/0x7f00 <a ")
    assert text.count("<a ") == 1


@pytest.mark.parametrize(
    ("runtime", "title"),
    [("jvm", "Threads"), ("dart", "Isolates"), ("a newer one", OWNERS)],
)
def test_sections_have_the_words_of_the_runtime(runtime: str, title: str) -> None:
    (panel,) = (panel for panel in PANELS if panel.query == "isolates")
    assert panel.of_runtime(runtime).title == title
