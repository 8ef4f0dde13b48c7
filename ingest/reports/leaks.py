"""The leak report: answers of canned queries, as text or Markdown.

Each part names the query that made it, so that every number can be asked for
again, changed, and followed in Neo4j Browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.queries.answer import Answer
from ingest.reports.hierarchy import dominator_tiles, whole_heap
from ingest.reports.render import (
    cell,
    folded,
    markdown_table,
    markdown_text,
    table_text,
)
from ingest.reports.report_panels import PANELS
from ingest.reports.tree import tree_text
from ingest.reports.why import path_tree, source
from ingest.text import caption_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.reports.panels import Brief

POLICY = (
    "Weak references keep nothing alive; every other root does, the finalizer queue "
    "included. Retained bytes are what goes if the object, or all instances of the "
    "type, go."
)


_BRIEFS = tuple((panel, panel.brief) for panel in PANELS if panel.brief is not None)
QUERIES: dict[str, dict[str, str]] = {
    "dump": {},
    "leak-suspects": {"limit": "10"},
    "dominator-treemap": {"limit": "500"},
    **{panel.query: {"limit": str(brief.limit)} for panel, brief in _BRIEFS},
}
"""Every query of the report, with its parameters."""

TREE = "Biggest retained tree, in shares of the reachable heap"

_NUMBERS = (
    ("objects", "object_count", "shallow_bytes"),
    ("reachable", "reachable_count", "reachable_bytes"),
)
_COUNTS = (
    ("types", "type_count"),
    ("references", "reference_count"),
    ("roots", "root_count"),
    ("weak roots", "weak_root_count"),
    ("missing", "missing_count"),
    ("warnings", "warning_count"),
)


_IF_ANY = (
    ("weak only", "weak_only_count"),
    ("folded", "folded_count"),
    ("outside", "external_bytes"),
    ("in the heap", "estimated_count"),
    ("their bytes", "estimated_bytes"),
)
"""What only some formats tell: objects that weak references alone see, objects that
are the runtime's own, bytes outside the heap, what a sample stands for."""


def origin(dump: dict[str, object]) -> list[str]:
    """File, format, and what wrote it, if the dump says so."""
    told = (dump[name] for name in ("source", "format", "producer"))
    return [str(value) for value in told if value]


def _counts(dump: dict[str, object]) -> list[tuple[str, object]]:
    """Names and figures of the dump."""
    rows = [(name, dump[column]) for name, column in _COUNTS]
    return rows + [(name, dump[column]) for name, column in _IF_ANY if dump[column]]


def _shown(brief: Brief, answer: Answer) -> Answer:
    """The columns with a value; types by their short names."""
    rows = tuple(
        tuple(_short(column, row[column]) for column in brief.columns)
        for row in answer.dicts()
    )
    return Answer(brief.columns, rows).told()


def _short(column: str, value: object) -> object:
    if value is not None and (column == "type" or column.endswith("_type")):
        return caption_of(str(value))
    return value


def as_text(answers: Mapping[str, Answer]) -> str:
    """The report for a terminal."""
    (dump,) = answers["dump"].dicts()
    title = f"Leak report of {printable(str(dump['name']))}"
    text = f"{title}\n{'=' * len(title)}\n\n"
    text += f"  {printable(', '.join(origin(dump)))}\n{source('dump')}\n"
    for name, count, size in _NUMBERS:
        text += f"  {name:<12}{cell(dump[count]):>14}{cell(dump[size]):>18} bytes\n"
    for name, figure in _counts(dump):
        text += f"  {name:<12}{cell(figure):>14}\n"
    text += "\n" + folded(POLICY)
    text += "\n" + _heading("Leak suspects") + source("leak-suspects")
    suspects = answers["leak-suspects"].dicts()
    if not suspects:
        text += "  none: nothing keeps a tenth of the reachable heap alive alone\n"
    for number, suspect in enumerate(suspects, start=1):
        text += "\n" + folded(f"{number}. {printable(sentence(suspect))}")
        text += (
            f"     {cell(suspect['retained_bytes'])} bytes, "
            f"{suspect['address']}, why: ingest why {suspect['address']}\n"
        )
        text += path_tree(cast("list[str]", suspect["path"] or []))
    if tree := _tree(answers):
        text += "\n" + _heading(TREE) + source("dominator-treemap") + tree
    for part, brief in _BRIEFS:
        shown = _shown(brief, answers[part.query])
        if shown.rows or part.empty:
            text += "\n" + _heading(part.title) + source(part.query)
            table = table_text(shown.columns, shown.rows)
            text += table if shown.rows else f"  {part.empty}\n"
    return text


def sentence(suspect: dict[str, object]) -> str:
    """Why it is one, with short type names."""
    text = str(suspect["why"])
    for column in ("type", "pile_type"):
        name = str(suspect[column])
        text = text.replace(name, caption_of(name))
    return text


def _tree(answers: Mapping[str, Answer]) -> str:
    (dump,) = answers["dump"].dicts()
    top = whole_heap(cast("int", dump["reachable_bytes"]))
    return tree_text(dominator_tiles(answers["dominator-treemap"], top))


def _heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}\n"


def as_markdown(answers: Mapping[str, Answer]) -> str:
    """The report as Markdown."""
    (dump,) = answers["dump"].dicts()
    text = f"# Leak report of {markdown_text(str(dump['name']))}\n\n"
    text += f"{markdown_text(', '.join(origin(dump)))}. Query: `dump`.\n\n"
    rows: list[tuple[object, ...]] = [
        (name, dump[count], dump[size]) for name, count, size in _NUMBERS
    ]
    rows += [(name, count, None) for name, count in _counts(dump)]
    text += markdown_table(Answer(("what", "count", "bytes"), tuple(rows)))
    text += f"\n{POLICY}\n\n## Leak suspects\n\nQuery: `leak-suspects`.\n"
    suspects = answers["leak-suspects"].dicts()
    if not suspects:
        text += "\nNone: nothing keeps a tenth of the reachable heap alive alone.\n"
    for number, suspect in enumerate(suspects, start=1):
        text += f"\n{number}. {markdown_text(sentence(suspect))}\n"
        text += f"   {cell(suspect['retained_bytes'])} bytes, {suspect['address']}.\n\n"
        tree = path_tree(cast("list[str]", suspect["path"] or []))
        text += "".join(f"       {line}\n" for line in tree.splitlines())
    if tree := _tree(answers):
        text += f"\n## {TREE}\n\nQuery: `dominator-treemap`.\n\n"
        text += "".join(f"  {line}\n" for line in tree.splitlines())
    for part, brief in _BRIEFS:
        shown = _shown(brief, answers[part.query])
        if shown.rows or part.empty:
            text += f"\n## {part.title}\n\nQuery: `{part.query}`.\n\n"
            text += markdown_table(shown) if shown.rows else f"{part.empty}\n"
    return text
