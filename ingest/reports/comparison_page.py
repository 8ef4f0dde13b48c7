"""A comparison of dumps as one self-contained HTML page; see `ingest.reports.page`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.compare.dimensions import Dimension
from ingest.reports.comparison import (
    growth_answer,
    lives_answer,
    lives_note,
    lives_parts,
    totals_answer,
)
from ingest.reports.comparison_words import (
    TITLES,
    Wording,
    listed,
    more,
    more_bytes,
    moved_paths,
    nothing,
    sparkline,
)
from ingest.reports.drawing import Box, Network, Picture, folded, picture
from ingest.reports.hierarchy import Tile
from ingest.reports.html import QuerySource, render, script_json
from ingest.reports.page import Chart
from ingest.words.text import human_bytes, namespace_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.compare.changes import Comparison, Difference
    from ingest.compare.paths import PathTree
    from ingest.reports.comparison_words import Wording


MOST_TILES = 3000
"""The most paths that a page draws, the largest first."""

Heads = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page.

    Attributes:
        id: Id of its section.
        title: Heading.
        heads: Headings of the columns, each with whether it has numbers.
        rows: Cells.
        nothing: Text if there are no rows.
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
        headlines=words.headlines(),
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
    ("trend", True),
    ("more objects", True),
    ("objects", True),
    ("more bytes", True),
    ("share", True),
)


def _name_first(row: Sequence[object]) -> tuple[str, ...]:
    """The row with its last cell first, which says what the row is about."""
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
    return PageTable(by.value, TITLES[by], _HEADS, rows, nothing(words.comparison, by))


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


MOST_PAIRS = 6
"""The most paths that are drawn; moved paths come first."""

_WIDTH = 430.0


@dataclass(frozen=True, slots=True)
class PathPair:
    """One path in the first dump and in the last one.

    Attributes:
        title: What changed.
        sides: For each dump its name and the drawing; ``None`` if the dump does not
            have the path.
    """

    title: str
    sides: tuple[tuple[str, Picture | None], tuple[str, Picture | None]]


def path_pairs(words: Wording, top: int) -> list[PathPair]:
    """The root paths that moved, and the paths on which objects accumulate."""
    by = Dimension.ROOT_PATH
    rows = [*moved_paths(words.comparison, by)[:top], *listed(words.comparison, by)]
    return [_pair(words, row) for row in rows[: min(top, MOST_PAIRS)]]


def _pair(words: Wording, found: Difference) -> PathPair:
    tree = words.comparison.trees[found.by]
    first, last = words.comparison.dumps[0], words.comparison.dumps[-1]
    before = tree.fingerprint.index(found.key)
    after = _row(tree, found.moved_to) if found.moved_to else before
    title = words.added(found)
    if found.moved_to:
        title = f"{words.short(found.name)} moved"
    return PathPair(
        title,
        (
            (printable(first.name), _drawn(words, tree, before, 0)),
            (printable(last.name), _drawn(words, tree, after, -1)),
        ),
    )


def _row(tree: PathTree, steps: Sequence[str]) -> int:
    """The row of the path with these steps."""
    return next(
        row
        for row, name in enumerate(tree.name)
        if name == steps[-1] and tree.steps(row) == tuple(steps)
    )


def _drawn(words: Wording, tree: PathTree, row: int, dump: int) -> Picture | None:
    """The drawing of a path, with the figures of a dump."""
    if not tree.total_bytes[row, dump]:
        return None
    rows = list(_up(tree, row))[::-1]
    titles = words.steps(Dimension.ROOT_PATH, tree.steps(row))
    boxes = []
    for at, (step, title) in enumerate(zip(rows, titles, strict=True)):
        kind = "root" if not at else "subject" if step == row else "object"
        count = int(tree.object_count[step, dump])
        size = human_bytes(int(tree.total_bytes[step, dump]))
        objects = f"{count:,} object{'s' * (count != 1)} · " if at else ""
        full = f"{printable(tree.name[step])}, {objects}{size} on this path"
        boxes.append(Box(title, f"{objects}{size}", kind, full, title))
    arrows = dict.fromkeys(pairwise(range(len(boxes))), "")
    return picture(folded(Network(boxes, arrows)), _WIDTH)


def _up(tree: PathTree, row: int) -> Iterator[int]:
    while row > 0:
        yield row
        row = int(tree.parent[row])
