"""A comparison of dumps as text, Markdown and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ingest.compare.dimensions import Change, Dimension
from ingest.queries.answer import Answer
from ingest.reports.comparison_words import (
    MOST_BELOW,
    TITLES,
    Wording,
    gone_paths,
    listed,
    more,
    more_bytes,
    moved_paths,
    nothing,
    sparkline,
)
from ingest.reports.render import (
    cell,
    folded,
    markdown_table,
    markdown_text,
    table_text,
)
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.compare.changes import Comparison, Difference
    from ingest.compare.lives import Lived, Lives
    from ingest.reports.comparison_words import Below

SCHEMA_VERSION = 1
"""Version of the JSON: raised when a field changes its name or its meaning."""


# ------------------------------------------------------------ text


def as_text(comparison: Comparison, by: Sequence[Dimension], top: int) -> str:
    """Return the comparison as text for a terminal.

    Args:
        comparison: The comparison.
        by: Its dimensions to show.
        top: The most entries of each dimension.
    """
    words = Wording(comparison)
    text = "".join(folded(printable(note), "") + "\n" for note in comparison.notes)
    text += f"Grew most from {printable(comparison.dumps[0].name)} to "
    text += f"{printable(comparison.dumps[-1].name)}\n\n"
    text += "".join(folded(f"- {line}", hanging="  ") for line in words.headlines())
    text += "\n" + _grid(totals_answer(comparison))
    if len(comparison.dumps) > 2:
        text += _heading("Grew in every dump") + _growth_text(words, by, top)
    for one in by:
        text += _heading(TITLES[one])
        rows = listed(comparison, one)
        if not rows:
            text += folded(nothing(comparison, one))
        elif one is Dimension.SUSPECT:
            text += "".join(_suspect_text(row) for row in rows[:top])
        elif one in (Dimension.TYPE, Dimension.NAMESPACE):
            text += _grid(_rows_answer(words, rows[:top]))
        else:
            text += "".join(_path_text(words, row) for row in rows[:top])
        text += _left_out(len(rows) - top)
        if one in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
            text += _moved_text(words, one, top)
    for one, title, born in lives_parts(comparison, by):
        assert comparison.lives is not None
        text += _heading(title) + folded(lives_note(comparison.lives))
        text += _grid(lives_answer(words, one, born[:top]))
        text += _left_out(len(born) - top)
    return text


def _heading(title: str) -> str:
    return f"\n{title}\n{'-' * len(title)}\n"


def _grid(answer: Answer) -> str:
    return table_text(answer.columns, answer.rows, "  ")


def _left_out(count: int) -> str:
    return f"  … {count:,} more; --top lists more of them\n" if count > 0 else ""


def totals_answer(comparison: Comparison) -> Answer:
    """Return a row for each dump, and one for the change from the first to the last."""
    dumps = comparison.dumps
    rows: list[tuple[object, ...]] = [
        (
            dump.name,
            dump.format_name,
            cell(dump.reachable_count),
            human_bytes(dump.reachable_bytes),
        )
        for dump in dumps
    ]
    first, last = dumps[0], dumps[-1]
    rows.append(
        (
            "change",
            None,
            _change_text(first.reachable_count, last.reachable_count, more),
            _change_text(first.reachable_bytes, last.reachable_bytes, more_bytes),
        )
    )
    columns = ("dump", "format", "reachable objects", "reachable bytes")
    return Answer(columns, tuple(rows)).without_empty_columns()


def _change_text(first: int, last: int, form: object) -> str:
    text = form(last - first)  # type: ignore[operator]
    return f"{text} ({(last - first) / first:+.1%})" if first else str(text)


def _suspect_text(found: Difference) -> str:
    text = "\n" + folded(f"{found.change.value}: {printable(found.name)}", hanging="  ")
    text += f"    objects   {_series(map(cell, found.object_count))}\n"
    text += f"    retained  {_series(map(human_bytes, found.retained_bytes))}\n"
    return text + f"    fingerprint {found.key}\n"


def _series(values: Iterable[str]) -> str:
    return " → ".join(values)


def _path_text(words: Wording, found: Difference) -> str:
    head = f"{more_bytes(found.more_bytes)} retained"
    if found.by is Dimension.ROOT_PATH:
        head = f"{more_bytes(found.more_bytes)} on these paths"
    mark = " (new path)" if found.change is Change.NEW else ""
    text = "\n" + folded(f"{words.added(found)}, {head}{mark}", hanging="  ")
    text += folded(words.path(found.by, found.steps), "    ", "  ")
    text += f"    objects  {_series(map(cell, found.object_count))}\n"
    if below := words.below(found):
        text += folded(f"with {_below_text(below)}", "    ", "  ")
    return text


def _below_text(below: Sequence[Below]) -> str:
    """Return the largest groups of objects below a path."""
    texts = [
        f"{more(one.objects)} {one.name} ({more_bytes(one.size)})"
        for one in below[:MOST_BELOW]
    ]
    if len(below) > MOST_BELOW:
        texts.append(counted(len(below) - MOST_BELOW, "more types"))
    return "; ".join(texts)


def _moved_text(words: Wording, by: Dimension, top: int) -> str:
    text = ""
    for row in moved_paths(words.comparison, by)[:top]:
        text += "\n" + folded(f"moved: {words.path(by, row.steps)}", hanging="  ")
        text += folded(f"to {words.path(by, row.moved_to)}", "    ", "  ")
    for row in gone_paths(words.comparison, by)[:top]:
        size = more_bytes(row.more_bytes)
        text += "\n" + folded(
            f"gone: {size}, {words.path(by, row.steps)}", hanging="  "
        )
    return text


def _growth_text(words: Wording, by: Sequence[Dimension], top: int) -> str:
    rows = [one for one in words.comparison.growing() if one.by in by]
    if not rows:
        return folded("Nothing did.")
    text = ""
    for one in by:
        some = [row for row in rows if row.by is one]
        for row in some[:top]:
            text += "\n" + folded(_growth_sentence(words, row), hanging="  ")
        text += _left_out(len(some) - top)
    return text


def _growth_sentence(words: Wording, row: Difference) -> str:
    """Return what grew, how fast and how evenly."""
    growth = row.growth
    assert growth is not None
    slopes = [f"{more_bytes(round(growth.bytes_per_dump))} a dump"]
    if growth.objects_per_dump:
        slopes.insert(0, f"{growth.objects_per_dump:+,.1f} objects")
    since = words.comparison.dumps[growth.since].name
    return (
        f"{sparkline(_measure(row))} {', '.join(slopes)} (fit {growth.fit:.2f}, since "
        f"{printable(since)}): {row.by.value.replace('-', ' ')} {_what(words, row)}"
    )


def _measure(row: Difference) -> Sequence[int]:
    """Return what grew: objects, or bytes if there are as many objects."""
    if row.growth is not None and row.growth.objects_per_dump:
        return row.object_count
    return row.retained_bytes or row.shallow_bytes


def _what(words: Wording, row: Difference) -> str:
    """Return the name of a type, a path in one line, or the cut of a suspect."""
    if row.by is Dimension.SUSPECT:
        return printable(row.cut or row.name)
    if row.steps:
        return words.path(row.by, row.steps)
    return words.short(row.name) if row.by is Dimension.TYPE else _space(row.name)


def growth_answer(words: Wording, rows: Iterable[Difference]) -> Answer:
    """Return a row for each thing that grew in every dump."""
    found: list[tuple[object, ...]] = []
    for row in rows:
        growth = row.growth
        assert growth is not None
        found.append(
            (
                sparkline(_measure(row)),
                f"{growth.objects_per_dump:+,.1f}",
                more_bytes(round(growth.bytes_per_dump)),
                f"{growth.fit:.2f}",
                words.comparison.dumps[growth.since].name,
                row.by.value,
                _what(words, row),
            )
        )
    columns = ("", "objects a dump", "bytes a dump", "fit", "since", "by", "what")
    return Answer(columns, tuple(found))


def lives_answer(words: Wording, by: Dimension, rows: Sequence[Lived]) -> Answer:
    """Return a row for each type or path with objects that were born or died."""
    tree = words.comparison.trees[Dimension.DOMINATOR_PATH]
    found: list[tuple[object, ...]] = []
    for row in rows:
        name = words.short(row.key)
        if by is not Dimension.TYPE:
            steps = tree.steps(tree.fingerprint.index(row.key))
            name = words.path(Dimension.DOMINATOR_PATH, steps)
        found.append(
            (
                *(cell(count) for count, _ in (row.born, row.died, row.survived)),
                *(human_bytes(size) for _, size in (row.born, row.died)),
                name,
            )
        )
    columns = ("born", "died", "survived", "bytes born", "bytes died", "name")
    return Answer(columns, tuple(found))


def lives_note(lives: Lives) -> str:
    """Return a sentence on how much of the heap is known by identity."""
    shares = [
        f"{known:,} of {all_of:,} objects of {printable(name)}"
        for name, known, all_of in zip(
            (lives.first, lives.last), lives.known, lives.reachable, strict=True
        )
    ]
    return f"Known by identity: {' and '.join(shares)}."


def lives_parts(
    comparison: Comparison, by: Iterable[Dimension]
) -> list[tuple[Dimension, str, list[Lived]]]:
    """Return the tables of objects that were born and died: titles and rows."""
    lives = comparison.lives
    if lives is None:
        return []
    parts = (
        (Dimension.DOMINATOR_PATH, "Born and died, by dominator path", lives.paths),
        (Dimension.TYPE, "Born and died, by type", lives.types),
    )
    return [
        (one, title, [row for row in rows if row.born[0] or row.died[0]])
        for one, title, rows in parts
        if one in by
    ]


def _rows_answer(words: Wording, rows: Iterable[Difference]) -> Answer:
    """Return a row for each type or namespace."""
    found: list[tuple[object, ...]] = [
        (
            row.change.value,
            more(row.more_objects),
            row.object_count[-1],
            more_bytes(row.more_shallow_bytes),
            more_bytes(row.more_bytes) if row.retained_bytes else None,
            f"{row.share:.1%}",
            words.short(row.name) if row.by is Dimension.TYPE else _space(row.name),
        )
        for row in rows
    ]
    columns = (
        "change",
        "more objects",
        "objects now",
        "more shallow",
        "more retained",
        "share",
        "name",
    )
    return Answer(columns, tuple(found)).without_empty_columns()


def _space(name: str) -> str:
    return printable(name) or "(none)"


# ------------------------------------------------------------ Markdown


def as_markdown(comparison: Comparison, by: Sequence[Dimension], top: int) -> str:
    """Return the comparison as Markdown, such as for a pull request."""
    words = Wording(comparison)
    names = [dump.name for dump in comparison.dumps]
    text = f"# {markdown_text(' → '.join(names))}\n\n"
    text += "".join(f"{markdown_text(note)}\n\n" for note in comparison.notes)
    text += "".join(f"- {markdown_text(line)}\n" for line in words.headlines())
    text += "\n" + markdown_table(totals_answer(comparison))
    if len(names) > 2:
        rows = [one for one in comparison.growing() if one.by in by]
        text += "\n## Grew in every dump\n\n"
        table = markdown_table(growth_answer(words, rows[:top]))
        text += table if rows else "Nothing did.\n"
    for one in by:
        text += f"\n## {TITLES[one]}\n\n"
        found = listed(comparison, one)
        if not found:
            text += f"{nothing(comparison, one)}\n"
        elif one in (Dimension.TYPE, Dimension.NAMESPACE):
            text += markdown_table(_rows_answer(words, found[:top]))
        else:
            text += "".join(_markdown_items(words, found[:top]))
        if len(found) > top:
            text += f"\n{len(found) - top:,} more.\n"
    for one, title, born in lives_parts(comparison, by):
        assert comparison.lives is not None
        text += f"\n## {title}\n\n{markdown_text(lives_note(comparison.lives))}\n\n"
        text += markdown_table(lives_answer(words, one, born[:top]))
    return text


def _markdown_items(words: Wording, rows: Iterable[Difference]) -> Iterator[str]:
    for row in rows:
        counts = _series(map(cell, row.object_count))
        if row.by is Dimension.SUSPECT:
            text = f"**{row.change.value}**: {markdown_text(row.name)}"
            sizes = _series(map(human_bytes, row.retained_bytes))
            yield f"- {text} Objects {counts}; retained {sizes}. `{row.key}`\n"
            continue
        path = markdown_text(words.path(row.by, row.steps))
        text = f"{markdown_text(words.added(row))}, {more_bytes(row.more_bytes)}"
        yield f"- **{text}** ({row.change.value}; objects {counts}): {path}"
        below = words.below(row)
        yield f", with {markdown_text(_below_text(below))}\n" if below else "\n"


# ------------------------------------------------------------ JSON


def as_rows(comparison: Comparison, by: Sequence[Dimension]) -> list[dict[str, object]]:
    """Return a mapping for each change."""
    return [_row(found) for one in by for found in comparison.of(one)]


def _row(found: Difference) -> dict[str, object]:
    return {
        "by": found.by.value,
        "key": found.key,
        "name": found.name,
        "change": found.change.value,
        "object_count": list(found.object_count),
        "shallow_bytes": list(found.shallow_bytes) or None,
        "retained_bytes": list(found.retained_bytes) or None,
        "more_objects": found.more_objects,
        "more_shallow_bytes": found.more_shallow_bytes if found.shallow_bytes else None,
        "more_retained_bytes": found.more_bytes if found.retained_bytes else None,
        "share": round(found.share, 6),
        "path": list(found.steps) or None,
        "parent": found.parent,
        "topmost": found.is_topmost,
        "moved_to": list(found.moved_to) or None,
        "growth": None if found.growth is None else asdict(found.growth),
        "cut": found.cut,
    }


def as_json(comparison: Comparison, by: Sequence[Dimension]) -> dict[str, object]:
    """Return the whole comparison as values for JSON."""
    return {
        "version": SCHEMA_VERSION,
        "dumps": [
            {
                "name": dump.name,
                "format": dump.format_name,
                "reachable_objects": dump.reachable_count,
                "reachable_bytes": dump.reachable_bytes,
                "incomplete": dump.incomplete or None,
            }
            for dump in comparison.dumps
        ],
        "notes": list(comparison.notes),
        "headlines": Wording(comparison).headlines(),
        "differences": as_rows(comparison, by),
        "lives": None if comparison.lives is None else asdict(comparison.lives),
    }
