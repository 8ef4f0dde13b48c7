"""A comparison of dumps as text, Markdown and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ingest.compare.dimensions import Change, Dimension
from ingest.queries.answer import Answer
from ingest.reports.render import (
    cell,
    folded,
    markdown_table,
    markdown_text,
    table_text,
)
from ingest.text import Captions, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.compare.changes import Comparison, Difference

SCHEMA_VERSION = 1
"""Of the JSON: raised when a field changes its name or its meaning."""

TITLES = {
    Dimension.SUSPECT: "Leak suspects",
    Dimension.DOMINATOR_PATH: "Where objects accumulate: dominator paths",
    Dimension.ROOT_PATH: "Where objects accumulate: shortest root paths",
    Dimension.TYPE: "Types",
    Dimension.NAMESPACE: "Namespaces",
}
NOTHING = {
    Dimension.SUSPECT: "No dump has a suspect.",
    Dimension.DOMINATOR_PATH: "No path has more objects.",
    Dimension.ROOT_PATH: "No path has more objects.",
    Dimension.TYPE: "No type has more or fewer reachable objects.",
    Dimension.NAMESPACE: "No namespace has more or fewer reachable objects.",
}
MOST_BELOW = 4
"""Types below a path that are named."""

_BARS = "▁▂▃▄▅▆▇█"
_ROOTS = "roots"


def sparkline(values: Sequence[int]) -> str:
    """Return a character for each value, as high as the value is large."""
    most = max([*values, 1])
    return "".join(_BARS[min(7, 8 * value // (most + 1))] for value in values)


def more(count: int) -> str:
    """Format a difference with its sign."""
    return f"{count:+,}"


def more_bytes(count: int) -> str:
    """Format a difference of sizes in a suitable unit, with its sign."""
    return f"{'-' if count < 0 else '+'}{human_bytes(abs(count))}"


@dataclass(frozen=True, slots=True)
class Below:
    """Objects of one type that came with those of a path.

    Attributes:
        name: Short name of the type.
        objects: How many more.
        size: Their bytes, how many more.
    """

    name: str
    objects: int
    size: int


class Wording:
    """Names and sentences of one comparison.

    Attributes:
        comparison: The comparison.
        captions: Short names of its types.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        names: set[str] = set()
        for by in (Dimension.TYPE, Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
            for found in comparison.of(by):
                names.update((found.name, *found.steps))
        self.captions = Captions.of_types(sorted(names))
        self._below = {
            by: _children(comparison.of(by))
            for by in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH)
        }

    def short(self, name: str) -> str:
        """Return the short name of a type."""
        return printable(self.captions.of(name))

    def steps(self, by: Dimension, steps: Sequence[str]) -> list[str]:
        """Return the short names of a path."""
        shown = [self.short(step) for step in steps]
        if by is Dimension.ROOT_PATH and shown:
            shown[0] = f"{steps[0].replace('_', ' ')} {_ROOTS}"
        return shown

    def path(self, by: Dimension, steps: Sequence[str]) -> str:
        """Return a path in one line."""
        return " → ".join(self.steps(by, steps))

    def below(self, found: Difference) -> list[Below]:
        """Return what else is more on paths that continue this one, by type."""
        sums: dict[str, list[int]] = {}
        waiting = [found.key]
        children = self._below[found.by]
        for key in waiting:
            for child in children.get(key, ()):
                entry = sums.setdefault(child.name, [0, 0])
                entry[0] += child.more_objects
                entry[1] += child.more_shallow_bytes
                waiting.append(child.key)
        listed = [
            Below(self.short(name), objects, size)
            for name, (objects, size) in sums.items()
            if objects > 0 or size > 0
        ]
        return sorted(listed, key=lambda one: (-one.size, -one.objects, one.name))

    def added(self, found: Difference) -> str:
        """Return how many more objects of which type a path has."""
        name = self.short(found.name)
        if found.more_objects:
            return f"{more(found.more_objects)} {name}"
        return f"{more_bytes(found.more_shallow_bytes)} in {name}"


def _children(rows: Iterable[Difference]) -> dict[str, list[Difference]]:
    found: dict[str, list[Difference]] = {}
    for row in rows:
        if row.parent is not None:
            found.setdefault(row.parent, []).append(row)
    return found


def listed(comparison: Comparison, by: Dimension) -> list[Difference]:
    """What a report lists in one dimension, the largest growth first."""
    rows = comparison.of(by)
    if by in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
        return [row for row in rows if row.is_topmost]
    if by is Dimension.SUSPECT:
        order = list(Change)
        return sorted(rows, key=lambda row: order.index(row.change))
    # What shrank most is as telling as what grew.
    return sorted(rows, key=lambda row: (-abs(row.more_bytes), row.key))


def moved_paths(comparison: Comparison, by: Dimension) -> list[Difference]:
    """Paths that went while one with as many objects came."""
    return [row for row in comparison.of(by) if row.moved_to]


def gone_paths(comparison: Comparison, by: Dimension) -> list[Difference]:
    """Paths that went, without those that continue one of them."""
    gone = {row.key: row for row in comparison.of(by) if row.change is Change.GONE}
    return sorted(
        (row for row in gone.values() if row.parent not in gone),
        key=lambda row: (row.more_bytes, row.key),
    )


# ------------------------------------------------------------ text


def as_text(comparison: Comparison, by: Sequence[Dimension], top: int) -> str:
    """Return the comparison as text for a terminal.

    Args:
        comparison: The comparison.
        by: Its dimensions to show.
        top: The most entries of each.
    """
    words = Wording(comparison)
    text = "".join(folded(printable(note), "") + "\n" for note in comparison.notes)
    text += _grid(totals_answer(comparison))
    if len(comparison.dumps) > 2:
        text += _heading("Grew in every dump") + _growth_text(words, by, top)
    for one in by:
        text += _heading(TITLES[one])
        rows = listed(comparison, one)
        if not rows:
            text += folded(NOTHING[one])
        elif one is Dimension.SUSPECT:
            text += "".join(_suspect_text(row) for row in rows[:top])
        elif one in (Dimension.TYPE, Dimension.NAMESPACE):
            text += _grid(_rows_answer(words, rows[:top]))
        else:
            text += "".join(_path_text(words, row) for row in rows[:top])
        text += _left_out(len(rows) - top)
        if one in (Dimension.DOMINATOR_PATH, Dimension.ROOT_PATH):
            text += _moved_text(words, one, top)
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
    """Return the largest of what is below a path."""
    texts = [
        f"{more(one.objects)} {one.name} ({more_bytes(one.size)})"
        for one in below[:MOST_BELOW]
    ]
    if len(below) > MOST_BELOW:
        texts.append(f"{len(below) - MOST_BELOW:,} types more")
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
    """Return what grew: objects, or bytes where there are as many."""
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
    """Return a row for each of what grew in every dump."""
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
        "objects",
        "shallow",
        "retained",
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
    text += markdown_table(totals_answer(comparison))
    if len(names) > 2:
        rows = [one for one in comparison.growing() if one.by in by]
        text += "\n## Grew in every dump\n\n"
        table = markdown_table(growth_answer(words, rows[:top]))
        text += table if rows else "Nothing did.\n"
    for one in by:
        text += f"\n## {TITLES[one]}\n\n"
        found = listed(comparison, one)
        if not found:
            text += f"{NOTHING[one]}\n"
        elif one in (Dimension.TYPE, Dimension.NAMESPACE):
            text += markdown_table(_rows_answer(words, found[:top]))
        else:
            text += "".join(_markdown_items(words, found[:top]))
        if len(found) > top:
            text += f"\n{len(found) - top:,} more.\n"
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
    """Return everything that changed, one mapping each."""
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
            }
            for dump in comparison.dumps
        ],
        "notes": list(comparison.notes),
        "differences": as_rows(comparison, by),
    }
