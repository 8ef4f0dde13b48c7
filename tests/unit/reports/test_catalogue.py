"""The query library as text: by group, found by words, and one query in full."""

from __future__ import annotations

import re
import sys

import pytest

from ingest.queries.library import GROUPS, library, search
from ingest.reports.catalogue import by_group, by_rank, describe
from ingest.words import colours

ALL = list(library().values())


def names(text: str) -> list[str]:
    """The queries listed in a text."""
    return re.findall(r"^  ([a-z][a-z0-9-]+)  ", text, re.MULTILINE)


def test_every_query_is_listed_once_under_its_group() -> None:
    text = by_group(ALL)

    assert sorted(names(text)) == sorted(library())
    assert [line for line in text.splitlines() if line and line[0] != " "] == list(
        GROUPS
    )
    assert max(map(len, text.splitlines())) <= 80
    assert "(address)" in text


def test_a_group_without_queries_has_no_heading() -> None:
    text = by_group([library()["closures"]])

    assert text.splitlines()[0] == "Dart"
    assert names(text) == ["closures"]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["leak", "handlers"], "event-handlers"),
        (["HANDLER"], "event-handlers"),
        (["shortest", "path"], "k-shortest-root-paths"),
        (["root path"], "instances-by-root-path"),
        (["ConditionalWeakTable"], "dependent-handles"),
        (["leak", "nosuchword"], "leak-suspects"),
        (["min_drop_bytes"], "big-drops"),
    ],
)
def test_queries_are_found_by_words(words: list[str], first: str) -> None:
    named, mentioning = search(ALL, words)
    assert (named + mentioning)[0].name == first


def test_queries_are_ranked_and_others_left_out() -> None:
    found, mentioning = search(ALL, ["dart", "closure"])

    names_found = [query.name for query in found]
    assert names_found == ["closures", "function-closures", "isolates"]
    assert not mentioning
    assert search(ALL, ["nosuchword"]) == ([], [])
    assert "[Dart]" in by_rank(found)
    rare = search(ALL, ["ConditionalWeakTable", "nosuchword"])
    assert rare == ([], [])


def test_what_only_mentions_a_word_is_kept_apart() -> None:
    named, mentioning = search(ALL, ["path"])

    texts = [f"{one.name} {one.title} {one.group}".lower() for one in named]
    assert all("path" in text for text in texts)
    assert len(named) < len(mentioning)


def test_a_description_has_parameters_columns_and_cypher() -> None:
    text = describe(library()["by-field"])

    assert text.startswith("by-field: References through a field, by type\n")
    assert (
        "  field (STRING, required)\n      name of the field; `[i]` for element i\n"
        in text
    )
    assert "  reference_count (INTEGER)\n" in text
    assert "\nCypher\n  MATCH (t:Type)\n" in text


@pytest.mark.parametrize(
    ("variables", "is_wanted"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "", "NO_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_as_the_user_wants_them(
    variables: dict[str, str], is_wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    plain = by_group(ALL)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert colours.are_wanted(sys.stdout) is is_wanted
    assert ("\x1b[1mLeaks\x1b[0m" in by_group(ALL)) is is_wanted
    assert re.sub(r"\x1b\[\d*m", "", by_group(ALL)) == plain
