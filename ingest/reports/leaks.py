"""The leak report as text or Markdown.

Each part names its query, so that it can be run again, changed, and followed in
Neo4j Browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.queries.answer import Answer
from ingest.reports.contents import opened
from ingest.reports.growth import (
    growth_lines,
    growth_step,
    growth_text,
    growth_title,
)
from ingest.reports.hierarchy import (
    dominator_tiles,
    listed_tiles,
    tree_text,
    whole_heap,
)
from ingest.reports.paths import path_text
from ingest.reports.render import (
    cell,
    folded,
    markdown_table,
    markdown_text,
    table_text,
)
from ingest.reports.report_panels import PANELS, retention
from ingest.reports.suspects import (
    NextStep,
    next_step,
    no_suspects,
    notes,
    reasons,
    smaller_text,
    suspects_text,
)
from ingest.reports.why import source
from ingest.words.command_line import why_command
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.reports.panels import Brief
    from ingest.words.text import Captions

_BRIEFS = tuple((panel, panel.brief) for panel in PANELS if panel.brief is not None)

TREE = "Top of the dominator tree, as shares of the reachable heap"

_NUMBERS = (
    ("objects", "object_count", "shallow_bytes"),
    ("reachable", "reachable_count", "reachable_bytes"),
)
_COUNTS = (
    ("types", "type_count"),
    ("references", "reference_count"),
    ("roots", "root_count"),
    ("weak roots", "weak_root_count"),
    ("missing objects", "missing_count"),
    ("warnings", "warning_count"),
)


_IF_ANY = (
    ("softly reachable", "soft_only_count"),
    ("weakly reachable", "weak_only_count"),
    ("folded objects", "folded_count"),
    ("external bytes", "external_bytes"),
    ("estimated objects", "estimated_count"),
    ("estimated bytes", "estimated_bytes"),
)
"""Figures of some formats only: objects that only soft or weak references hold, objects
of the runtime itself, bytes outside the heap, estimates for a sample."""


def origin(dump: dict[str, object]) -> list[str]:
    """Return the file, the format, and the producer, if recorded."""
    values = (dump[name] for name in ("source", "format", "producer"))
    return [str(value) for value in values if value]


def notes_of(dump: dict[str, object]) -> list[str]:
    """Return the sentences about the whole heap."""
    names = "object_count shallow_bytes reachable_count reachable_bytes metadata_bytes"
    figures = (cast("int", dump[name] or 0) for name in names.split())
    return notes(*figures, incomplete=cast("str | None", dump["incomplete"]))


def next_of(
    dump: Mapping[str, object],
    growth: Mapping[str, object] | None = None,
    file: str = "",
) -> NextStep:
    """What to do next.

    Args:
        dump: A row of the query ``dump``.
        growth: What grew since an earlier dump; ``None`` if there is none.
        file: The file that was opened, if the dump is not loaded; else empty.
    """
    if growth is not None and not dump["incomplete"]:
        return growth_step(cast("list[str]", growth["dumps"]))
    return next_step(dump, file or str(dump["name"]))


def _counts(dump: dict[str, object]) -> list[tuple[str, object]]:
    """Return the names and figures of the dump."""
    rows = [(name, dump[column]) for name, column in _COUNTS]
    return rows + [(name, dump[column]) for name, column in _IF_ANY if dump[column]]


def _shown(brief: Brief, answer: Answer) -> Answer:
    """Return the columns of the text report, types by their short names."""
    rows = tuple(
        tuple(_short(answer.captions, column, row[column]) for column in brief.columns)
        for row in answer.dicts()
    )
    return Answer(brief.columns, rows).without_empty_columns()


def _short(captions: Captions, column: str, value: object) -> object:
    if value is not None and (column == "type" or column.endswith("_type")):
        return captions.of(str(value))
    return value


def as_text(
    answers: Mapping[str, Answer],
    suspects: Sequence[Mapping[str, object]],
    growth: Mapping[str, object] | None,
    contents: Mapping[str, Answer],
    file: str = "",
) -> str:
    """Return the report as text for a terminal.

    Args:
        answers: Answers of `report_queries`, by query.
        suspects: The suspects, in the order in which to list them.
        growth: What grew since an earlier dump; ``None`` if there is none.
        contents: Answers of `ingest.reports.contents.CONTENTS`, by address.
        file: The file that was opened, if the dump is not loaded; else empty.
    """
    (dump,) = answers["dump"].dicts()
    title = f"Leak report of {printable(str(dump['name']))}"
    text = f"{title}\n{'=' * len(title)}\n\n"
    text += f"  {printable(', '.join(origin(dump)))}\n"
    for note in notes_of(dump):
        text += "\n" + folded(note)
    if growth is not None:
        text += growth_text(growth)
    text += "\n" + _heading("Leak suspects") + source("leak-suspects")
    text += suspects_text(suspects, cast("str | None", dump["incomplete"]))
    groups = cast("list[str] | None", dump["smaller_groups"]) or []
    text += smaller_text([{"sentence": one} for one in groups])
    text += f"\n{next_of(dump, growth, file)}"
    for suspect in suspects[:1]:
        why = why_command(str(suspect["address"]), str(dump["name"]), file)
        text += f"\n  More paths: {why}\n"  # on one line, to be pasted
    text += "\n" + _heading("Totals") + source("dump")
    for name, count, size in _NUMBERS:
        text += f"  {name:<18}{cell(dump[count]):>14}{cell(dump[size]):>18} bytes\n"
    for name, figure in _counts(dump):
        text += f"  {name:<18}{cell(figure):>14}\n"
    text += "\n" + folded(retention(dump["strength_policy"], dump["runtime"]))
    if tree := tree_of(answers, contents):
        text += "\n" + _heading(TREE) + source("dominator-treemap") + tree
    for part, brief in _BRIEFS:
        shown = _shown(brief, answers[part.query])
        if part.is_shown(len(shown.rows)):
            title = part.of_runtime(str(dump["runtime"] or "")).title
            text += "\n" + _heading(title) + source(part.query)
            table = table_text(shown.columns, shown.rows)
            text += table if shown.rows else f"  {part.empty}\n"
    return text


def tree_of(answers: Mapping[str, Answer], contents: Mapping[str, Answer]) -> str:
    """The top of the dominator tree, as indented text."""
    (dump,) = answers["dump"].dicts()
    answer = answers["dominator-treemap"]
    top = whole_heap(cast("int", dump["reachable_bytes"]))
    tiles = listed_tiles(answer, len(answer.rows))
    tiles = opened(tiles, contents, answer.captions, top.total_bytes)
    return tree_text(dominator_tiles(tiles, top))


def _heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}\n"


def as_markdown(
    answers: Mapping[str, Answer],
    suspects: Sequence[Mapping[str, object]],
    growth: Mapping[str, object] | None,
    contents: Mapping[str, Answer],
    file: str = "",
) -> str:
    """Return the report as Markdown; for its arguments see `as_text`."""
    (dump,) = answers["dump"].dicts()
    text = f"# Leak report of {markdown_text(str(dump['name']))}\n\n"
    text += f"{markdown_text(', '.join(origin(dump)))}. Query: `dump`.\n\n"
    for note in notes_of(dump):
        text += f"{markdown_text(note)}\n\n"
    if growth is not None:
        text += f"## {markdown_text(growth_title(growth))}\n\n"
        lines = growth_lines(growth)
        text += "".join(f"- {markdown_text(line)}\n" for line in lines) + "\n"
    text += "## Leak suspects\n\nQuery: `leak-suspects`.\n"
    if not suspects:
        text += f"\n{no_suspects(cast('str | None', dump['incomplete']))}\n"
    for number, suspect in enumerate(suspects, start=1):
        text += f"\n{number}. {markdown_text(str(suspect['sentence']))}\n"
        for label, reason in reasons(suspect):
            text += f"   {label}: {markdown_text(reason)}\n"
        listed = "; ".join(cast("list[str]", suspect["contents"]))
        text += f"   Contents by shallow size: {markdown_text(listed)}.\n\n"
        path = path_text(
            cast("list[str]", suspect["path"]), cast("int | None", suspect["cut_step"])
        )
        text += "".join(f"       {line}\n" for line in path.splitlines())
        if suspect["advice"]:
            text += f"\n   {markdown_text(str(suspect['advice']))}\n"
    step = next_of(dump, growth, file)
    text += f"\n{markdown_text(step.text)}\n"
    text += f"\n    {step.command}\n" if step.command else ""
    rows: list[tuple[object, ...]] = [
        (name, dump[count], dump[size]) for name, count, size in _NUMBERS
    ]
    rows += [(name, count, None) for name, count in _counts(dump)]
    text += "\n## Totals\n\n"
    text += markdown_table(Answer(("what", "count", "bytes"), tuple(rows)))
    text += f"\n{retention(dump['strength_policy'], dump['runtime'])}\n"
    if tree := tree_of(answers, contents):
        text += f"\n## {TREE}\n\nQuery: `dominator-treemap`.\n\n"
        text += "".join(f"  {line}\n" for line in tree.splitlines())
    for part, brief in _BRIEFS:
        shown = _shown(brief, answers[part.query])
        if part.is_shown(len(shown.rows)):
            title = part.of_runtime(str(dump["runtime"] or "")).title
            text += f"\n## {title}\n\nQuery: `{part.query}`.\n\n"
            text += markdown_table(shown) if shown.rows else f"{part.empty}\n"
    return text
