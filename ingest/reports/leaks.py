"""The leak report: answers of canned queries, as text or Markdown.

Each part names the query that made it, so that every number can be asked for
again, changed, and followed in Neo4j Browser.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from ingest.reports.tree import tree_text
from ingest.reports.why import path_tree, source
from ingest.text import caption_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

POLICY = (
    "Weak references keep nothing alive; every other root does, the finalizer queue "
    "included. Retained bytes are what goes if the object, or all instances of the "
    "type, go."
)


@dataclass(frozen=True, slots=True)
class Part:
    """A table of the report.

    Attributes:
        query: Name of the query.
        title: Heading.
        limit: Rows to ask for.
        columns: Columns to show.
        empty: What to say where there are no rows; nothing leaves the part out.
    """

    query: str
    title: str
    limit: int
    columns: tuple[str, ...]
    empty: str = ""


PARTS: tuple[Part, ...] = (
    Part(
        "retained-objects",
        "Objects that retain most",
        10,
        ("type", "address", "retained_bytes", "retained_count", "root_distance"),
        "nothing is reachable",
    ),
    Part(
        "retained-types",
        "Types whose instances together retain most",
        10,
        ("type", "reachable_count", "reachable_bytes", "retained_bytes"),
        "nothing is reachable",
    ),
    Part(
        "type-histogram",
        "Histogram",
        15,
        (
            "type",
            "instance_count",
            "shallow_bytes",
            "reachable_bytes",
            "estimated_count",
            "estimated_bytes",
        ),
        "the dump has no objects",
    ),
    Part(
        "roots-by-kind",
        "Roots by kind",
        20,
        ("kind", "root_count", "weak_count", "pinned_count", "retained_bytes"),
        "the dump has no roots: all of it is garbage, or the file is cut",
    ),
    Part(
        "static-roots",
        "Statics",
        10,
        ("type", "root_count", "retained_bytes", "largest_type"),
    ),
    Part(
        "event-handlers",
        "Event handlers",
        10,
        (
            "holder",
            "delegate_type",
            "target_type",
            "handler_count",
            "retained_bytes",
            "target_bytes",
        ),
    ),
    Part(
        "timers",
        "Timers",
        10,
        ("timer_type", "held_type", "timer_count", "held_count", "retained_bytes"),
    ),
    Part(
        "async-state-machines",
        "Async methods",
        10,
        ("method", "kind", "live_count", "live_bytes", "retained_bytes"),
    ),
    Part(
        "born-between",
        "New since the earlier dump",
        10,
        (
            "type",
            "object_count",
            "shallow_bytes",
            "survived_count",
            "largest_address",
            "largest_retained_bytes",
        ),
    ),
    Part(
        "allocation-sites",
        "Where it was allocated",
        10,
        ("site", "type", "reachable_count", "reachable_bytes"),
    ),
    Part(
        "unreachable-types",
        "Garbage",
        10,
        ("type", "unreachable_count", "unreachable_bytes"),
        "none: strong roots reach every object",
    ),
    Part(
        "generation-histogram",
        "Generations",
        10,
        ("name", "object_count", "shallow_bytes", "reachable_bytes"),
    ),
    Part(
        "segments",
        "Segments",
        10,
        ("segment", "kind", "start", "used_bytes", "object_count", "other_bytes"),
    ),
    Part(
        "free-space",
        "Free space",
        10,
        ("segment", "kind", "live_bytes", "dead_bytes", "free_bytes", "other_bytes"),
    ),
    Part(
        "isolates",
        "Isolates",
        10,
        ("owner", "root_count", "static_count", "retained_bytes", "largest_type"),
    ),
    Part(
        "closures",
        "Closures by function",
        10,
        ("function", "declared_in", "closure_count", "context_bytes"),
    ),
    Part(
        "strings",
        "Strings alike",
        10,
        ("value", "string_count", "wasted_bytes", "sample_address"),
    ),
    Part(
        "external-bytes",
        "Memory outside the heap",
        10,
        ("type", "address", "external_name", "external_bytes"),
    ),
    Part("domains", "Domains", 20, ("name", "object_count", "shallow_bytes")),
    Part("warnings", "What was irregular in the dump", 20, ("warning",)),
)
QUERIES: dict[str, dict[str, str]] = {
    "dump": {},
    "leak-suspects": {"limit": "10"},
    "dominator-treemap": {"limit": "500"},
    **{part.query: {"limit": str(part.limit)} for part in PARTS},
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


def _shown(part: Part, answer: Answer) -> Answer:
    """The part's columns, those with a value; types by their short names."""
    rows = tuple(
        tuple(_short(column, row[column]) for column in part.columns)
        for row in answer.dicts()
    )
    return Answer(part.columns, rows).told()


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
    for part in PARTS:
        shown = _shown(part, answers[part.query])
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
    for part in PARTS:
        shown = _shown(part, answers[part.query])
        if shown.rows or part.empty:
            text += f"\n## {part.title}\n\nQuery: `{part.query}`.\n\n"
            text += markdown_table(shown) if shown.rows else f"{part.empty}\n"
    return text
