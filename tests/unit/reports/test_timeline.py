"""Data for the chart of the collections of a trace."""

from __future__ import annotations

import json

import pytest

from ingest.queries.answer import Answer
from ingest.queries.library import find
from ingest.reports.page import timeline

COLUMNS = tuple(column.name for column in find("gc-timeline").columns)


def collections(*rows: dict[str, object]) -> Answer:
    usual = {"number": 1, "started_us": 5, "reason": "", "mode": "", "is_dump": False}
    return Answer(
        COLUMNS, tuple(tuple((usual | row).get(c) for c in COLUMNS) for row in rows)
    )


@pytest.mark.parametrize(
    "rows",
    [[], [{"heap_bytes": 9}], [{}, {"heap_bytes": None}, {"number": 7}]],
    ids=["none", "one", "no sizes"],
)
def test_without_data_there_is_no_chart(
    rows: list[dict[str, object]],
) -> None:
    assert timeline(collections(*rows)) == ""


def test_the_script_gets_each_collection() -> None:
    found = json.loads(
        timeline(
            collections(
                {"number": 7, "generation": 0, "reason": "induced", "heap_bytes": 900},
                {"number": 8, "mode": "background", "is_dump": True, "duration_us": 3},
            )
        )
    )

    assert found == {
        "number": [7, 8],
        "generation": [0, None],
        "started_us": [5, 5],
        "duration_us": [None, 3],
        "heap_bytes": [900, None],
        "promoted_bytes": [None, None],
        "is_dump": [False, True],
        "reason": ["induced", ""],
        "mode": ["", "background"],
    }


def test_text_cannot_end_the_script_or_reverse() -> None:
    hostile = "</script><b>\u202e&lt;"

    text = timeline(
        collections({"reason": hostile, "heap_bytes": 1}, {"mode": hostile})
    )

    assert not set("<>&\u202e") & set(text)
    assert json.loads(text)["reason"][0] == "</script><b>\\u202e&lt;"
