"""A comparison of dumps as one self-contained HTML page; see `ingest.reports.page`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.compare.dimensions import Dimension
from ingest.reports.comparison import (
    growth_answer,
    lives_answer,
    lives_note,
    lives_parts,
    totals_answer,
)
from ingest.reports.comparison_paths import path_pairs
from ingest.reports.comparison_words import (
    NOTHING,
    TITLES,
    Wording,
    listed,
    more,
    more_bytes,
    sparkline,
)
from ingest.reports.hierarchy import Tile
from ingest.reports.html import QuerySource, render
from ingest.reports.page import Chart
from ingest.reports.script import script_json
from ingest.text import namespace_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.compare.changes import Comparison, Difference

MOST_TILES = 3000
"""Paths that a page draws, the largest ones."""

Heads = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page.

    Attributes:
        id: Id of its section.
        title: Heading.
        heads: Headings of the columns, each with whether it has numbers.
        rows: Cells.
        nothing: What is said without rows.
        note: A sentence above the table.
    """

    id: str
    title: str
    heads: Heads
    rows: Sequence[tuple[str, ...]]
    nothing: str = ""
    note: str = ""


def comparison_page(comparison: Comparison, by: Sequence[Dimension], top: int) -> str:
    """Render the page.

    Args:
        comparison: The comparison.
        by: Its dimensions to show.
        top: The most rows of each table.
    """
    words = Wording(comparison)
    tables = []
    if len(comparison.dumps) > 2:
        rows = [row for one in by for row in comparison.growing(one)[:top]]
        answer = growth_answer(words, rows)
        heads = tuple(
            (name, not name or name.endswith(("dump", "fit")))
            for name in _name_first(answer.columns)
        )
        cells = [_name_first(row) for row in answer.rows]
        title = "Grew in every dump"
        tables.append(PageTable("growth", title, heads, cells, "Nothing did."))
    tables += [_table(words, one, top) for one in by]
    tables += _lives_tables(words, by, top)
    chart, data = _chart(words)
    totals = totals_answer(comparison)
    return render(
        "compare.html",
        title="Comparison of " + ", ".join(printable(d.name) for d in comparison.dumps),
        dump_name="",
        names=[dump.name for dump in comparison.dumps],
        notes=comparison.notes,
        totals_heads=[(name, name.startswith("reach")) for name in totals.columns],
        totals=[tuple(value or "" for value in row) for row in totals.rows],
        tables=tables,
        pairs=path_pairs(words, top) if Dimension.ROOT_PATH in by else [],
        chart=chart,
        chart_data=data,
    )


_HEADS: Heads = (
    ("what", False),
    ("change", False),
    ("", True),
    ("more objects", True),
    ("objects", True),
    ("more bytes", True),
    ("share", True),
)


def _name_first(row: Sequence[object]) -> tuple[str, ...]:
    """The cells of a table, whose last column says what the row is about."""
    *figures, name = map(str, row)
    return (name, *figures)


def _table(words: Wording, by: Dimension, top: int) -> PageTable:
    rows = [
        (
            _name(words, row),
            row.change.value,
            sparkline(row.object_count),
            more(row.more_objects),
            f"{row.object_count[-1]:,}",
            more_bytes(row.more_bytes),
            f"{row.share:.1%}",
        )
        for row in listed(words.comparison, by)[:top]
    ]
    return PageTable(by.value, TITLES[by], _HEADS, rows, NOTHING[by])


def _lives_tables(
    words: Wording, by: Sequence[Dimension], top: int
) -> Iterator[PageTable]:
    """Objects that were born and died."""
    for one, title, rows in lives_parts(words.comparison, by):
        answer = lives_answer(words, one, rows[:top])
        assert words.comparison.lives is not None
        yield PageTable(
            f"lives-{one.value}",
            title,
            tuple((name, name != "name") for name in _name_first(answer.columns)),
            [_name_first(row) for row in answer.rows],
            "No object was born or died.",
            lives_note(words.comparison.lives),
        )


def _name(words: Wording, row: Difference) -> str:
    if row.by is Dimension.SUSPECT:
        return row.name
    if row.steps:
        return words.path(row.by, row.steps)
    return words.short(row.name) if row.by is Dimension.TYPE else row.name or "(none)"


def _chart(words: Wording) -> tuple[Chart | None, str]:
    """The dominator paths of the last dump as a treemap, coloured by growth."""
    tree = words.comparison.trees[Dimension.DOMINATOR_PATH]
    before, after = tree.total_bytes[:, 0], tree.total_bytes[:, -1]
    place: dict[int, int] = {}
    tiles: list[Tile] = []
    growth: list[str] = []
    order = sorted(range(len(after)), key=lambda row: (-after[row], row))
    chosen = sorted(row for row in order[:MOST_TILES] if after[row] > 0)
    for row in chosen:
        above = int(tree.parent[row])
        if row and above not in place:
            continue
        place[row] = len(tiles)
        name = tree.name[row]
        first, last = int(before[row]), int(after[row])
        change = "grown" if last > first else "shrunk" if last < first else "as before"
        growth.append("new" if not first else change)
        tiles.append(
            Tile(
                place[above] if row else -1,
                words.short(name) if row else "reachable heap",
                name,
                namespace_of(name),
                last,
                int(tree.shallow_bytes[row, -1]),
                None,
                int(tree.object_count[row, -1]),
            )
        )
    if len(tiles) < 2:
        return None, ""
    chart = Chart(
        "treemap",
        "Where the memory is, and what grew",
        "Dominator paths of the last dump, merged by type. Area is retained size; "
        "colour is the change of it since the first dump.",
        "treemap",
        tiles,
        QuerySource("", "", None),
        words.captions,
    )
    return chart, script_json(json.loads(chart.data()) | {"growth": growth})
