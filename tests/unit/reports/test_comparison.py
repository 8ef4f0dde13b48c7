"""A comparison as text, Markdown, JSON and a page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ingest.compare.changes import Comparison
from ingest.compare.dimensions import Dimension
from ingest.reports.comparison import as_json, as_markdown, as_text
from ingest.reports.comparison_page import comparison_page, path_pairs
from ingest.reports.comparison_words import Wording, more_bytes, sparkline
from tests.unit.compare.test_changes import OTHER, changed, held

HOSTILE = "<script>alert(1)</script>|\x1b[31m"
ALL = list(Dimension)


def found(count: int = 3) -> Comparison:
    graphs = [held(10 * (at + 1)) for at in range(count)]
    names = ("App.Holder", "App.Array[]", HOSTILE, "App.Part")
    return changed(*(replace(graph, type_names=names) for graph in graphs))


@pytest.mark.parametrize("count", [2, 3])
def test_no_form_lets_text_of_a_dump_out(count: int) -> None:
    comparison = found(count)

    text, markdown, page = (
        as_text(comparison, ALL, 10),
        as_markdown(comparison, ALL, 10),
        comparison_page(comparison, ALL, 10),
    )

    assert "\x1b" not in text + markdown + page
    assert "<script>alert" not in markdown + page
    assert ("Grew in every dump" in text) is (count > 2)
    assert ("Grew in every dump" in markdown) is (count > 2)
    added = 10 * (count - 1)
    assert f"+{added}" in text
    assert '"growth"' in page
    assert "Root paths, before and after" in page


def test_json_has_all_figures_of_each_dump() -> None:
    facts = json.loads(json.dumps(as_json(found(), ALL)))

    (row,) = [
        row
        for row in facts["differences"]
        if row["by"] == "dominator-path" and row["topmost"]
    ]
    assert facts["version"] == 1
    assert row["object_count"] == [10, 20, 30]
    assert row["retained_bytes"] == [640, 1280, 1920]
    assert row["more_retained_bytes"] == 1280
    assert row["path"] == ["App.Holder", "App.Array[]", HOSTILE]
    assert row["growth"]["objects_per_dump"] == pytest.approx(10)
    assert row["growth"]["bytes_per_dump"] == pytest.approx(640)


def test_only_the_chosen_parts_are_written() -> None:
    facts = as_json(found(), [Dimension.TYPE])

    assert {row["by"] for row in facts["differences"]} == {"type"}  # type: ignore[attr-defined]


def test_signs_and_sparklines() -> None:
    assert (more_bytes(2048), more_bytes(-10), more_bytes(0)) == (
        "+2.0 KiB",
        "-10 B",
        "+0 B",
    )
    assert sparkline([0, 4, 8]) == "▁▄█"
    assert sparkline([0, 0]) == "▁▁"


def test_a_path_that_moved_is_drawn_before_and_after() -> None:
    words = Wording(changed(held(10), held(10, holder=OTHER)))

    moved = path_pairs(words, 10)[0]

    assert moved.title == "T2 moved"
    before, after = (side.shapes for _, side in moved.sides if side)
    assert [shape.title for shape in before] == ["local roots", "T0", "T1", "T2"]
    assert [shape.title for shape in after] == ["local roots", "T4", "T1", "T2"]
    assert before[-1].detail == after[-1].detail == "10 objects · 640 B"


def test_a_new_path_has_no_drawing_before() -> None:
    words = Wording(changed(held(2), held(2, others=4)))

    (pair,) = path_pairs(words, 10)

    assert [side is None for _, side in pair.sides] == [True, False]
