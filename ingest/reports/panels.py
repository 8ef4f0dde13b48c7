"""Tables of a report: which columns of an answer they show, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ingest.runtimes import NAMES, named
from ingest.words.text import printable

if TYPE_CHECKING:
    from ingest.queries.answer import Answer
    from ingest.words.text import Captions

_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True)
class Brief:
    """The shorter form of a table in the text report.

    Attributes:
        limit: Maximum number of rows.
        columns: Columns to show.
    """

    limit: int
    columns: tuple[str, ...]


OWNERS = "Threads or isolates"
"""The owners of roots, in a title before the runtime is known."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A table of a report.

    Attributes:
        query: Name of the query.
        title: Heading.
        limit: Maximum number of rows on the page; 0 if the page does not have it.
        columns: Columns to show on the page.
        bar: The column whose values are drawn as bars.
        note: How to read the table.
        empty: Text if there are no rows; without it the panel is left out.
        is_long: Whether the table can be sorted and filtered.
        brief: The table in the text report; ``None`` if only the page has it.
        least_rows: With fewer rows the panel is left out.
    """

    query: str
    title: str
    limit: int = 0
    columns: tuple[str, ...] = ()
    bar: str = ""
    note: str = ""
    empty: str = ""
    is_long: bool = False
    brief: Brief | None = None
    least_rows: int = 1

    def of_runtime(self, runtime: str) -> Panel:
        """The panel with the runtime's own word in its title."""
        if self.title != OWNERS or runtime not in NAMES:
            return self
        return replace(self, title=f"{named(runtime).owner.capitalize()}s")

    def is_shown(self, row_count: int) -> bool:
        """Whether the report has the table."""
        return row_count >= self.least_rows or bool(self.empty)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: The number to sort by; ``None`` for text.
        text: The text to show.
        full: The full text, if ``text`` is shortened.
        share: Length of the bar, 0 to 1; ``None`` for no bar.
        kind: ``object`` for an address, ``type`` for a type; otherwise empty.
    """

    value: int | float | None
    text: str
    full: str = ""
    share: float | None = None
    kind: str = ""

    @property
    def name(self) -> str:
        """The full text."""
        return self.full or self.text


def filled(panel: Panel, answer: Answer) -> tuple[Panel, list[list[Cell]]]:
    """Return the panel without its empty columns, and its rows."""
    filled_columns = answer.without_empty_columns().columns
    columns = tuple(name for name in panel.columns if name in filled_columns)
    panel = replace(panel, columns=columns or panel.columns)
    return panel, rows_of(panel, answer)


def rows_of(panel: Panel, answer: Answer) -> list[list[Cell]]:
    """Return the rows of a panel."""
    largest = max(
        (cast("int", value or 0) for value in answer.column(panel.bar))
        if panel.bar and answer.rows
        else (),
        default=0,
    )
    return [
        [
            _cell(panel, column, row[column], largest, answer.captions)
            for column in panel.columns
        ]
        for row in answer.dicts()
    ]


def _cell(
    panel: Panel, column: str, value: object, largest: int, captions: Captions
) -> Cell:
    if column == "type" or column.endswith("_type"):
        name = str(value or "")
        return Cell(None, short_of(captions.of(name)), short_of(name), kind="type")
    if isinstance(value, bool):
        return Cell(None, "yes" if value else "no")
    if isinstance(value, int | float):
        share = value / largest if column == panel.bar and largest else None
        text = f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
        return Cell(value, text, share=share)
    if column == "namespace" and not value:
        return Cell(None, "(none)")
    is_address = column == "address" or column.endswith("_address")
    kind = "object" if is_address else ""
    return Cell(None, "" if value is None else short_of(str(value)), kind=kind)


def short_of(name: str) -> str:
    """Return ``name`` printable, cut at `_LONGEST_NAME` characters."""
    name = printable(name)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
