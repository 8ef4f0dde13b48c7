"""Tables of a page: what of an answer stands in which cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ingest.text import caption_of, printable

if TYPE_CHECKING:
    from ingest.queries.answer import Answer

_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True)
class Brief:
    """The same table where there is little room, as text.

    Attributes:
        limit: Rows to ask for.
        columns: Columns to show.
    """

    limit: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A table of a report.

    Attributes:
        query: Name of the query.
        title: Heading.
        limit: Rows to ask for; 0 where it is no table of the page.
        columns: Columns to show; a type also shows its namespace, if that is there.
        bar: The column whose values are drawn as bars.
        note: How to read it.
        empty: What to say where there are no rows; nothing leaves the panel out.
        is_long: Whether it can be sorted and filtered.
        brief: The table as text; ``None`` where it is only on the page.
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: The number to sort by; ``None`` for text.
        text: What to show.
        full: All of it, where ``text`` is short for something.
        share: Length of the bar, 0 to 1; ``None`` for none.
    """

    value: int | float | None
    text: str
    full: str = ""
    share: float | None = None


def filled(panel: Panel, answer: Answer) -> tuple[Panel, list[list[Cell]]]:
    """A panel with those of its columns that have a value, and its rows."""
    told = answer.told().columns
    columns = tuple(column for column in panel.columns if column in told)
    panel = replace(panel, columns=columns or panel.columns)
    return panel, rows_of(panel, answer)


def rows_of(panel: Panel, answer: Answer) -> list[list[Cell]]:
    """A panel's rows."""
    largest = max(
        (cast("int", value or 0) for value in answer.column(panel.bar))
        if panel.bar and answer.rows
        else (),
        default=0,
    )
    return [
        [_cell(panel, column, row[column], largest) for column in panel.columns]
        for row in answer.dicts()
    ]


def _cell(panel: Panel, column: str, value: object, largest: int) -> Cell:
    if column == "type" or column.endswith("_type"):
        name = str(value or "")
        return Cell(None, caption_of(name), short_of(name))
    if isinstance(value, bool):
        return Cell(None, "yes" if value else "no")
    if isinstance(value, int | float):
        share = value / largest if column == panel.bar and largest else None
        text = f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
        return Cell(value, text, share=share)
    if column == "namespace" and not value:
        return Cell(None, "(none)")
    return Cell(None, "" if value is None else short_of(str(value)))


def short_of(name: str) -> str:
    """``name`` fit to be shown, and not longer than a page can bear."""
    name = printable(name)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
