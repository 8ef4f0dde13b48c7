"""The report over a fleet as a self-contained HTML page; see `ingest.reports.page`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.reports.fleet import MORE, FleetReport, shown
from ingest.reports.html import render
from ingest.reports.panels import Cell
from ingest.reports.render import cell
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.queries.answer import Answer

_TOTALS = (
    ("dumps", "dumps"),
    ("programs", "programs"),
    ("versions", "versions"),
    ("hosts", "hosts"),
    ("incomplete", "incomplete, counted in no share"),
    ("failed", "not readable"),
)


@dataclass(frozen=True, slots=True)
class FleetSection:
    """One question on the page.

    Attributes:
        name: Name of the question, and id of its section.
        title: Heading.
        note: How to read the answer.
        sql: The question.
        columns: Columns of the table.
        rows: Cells.
        examples: Sentences, each with the command that loads the dump.
        more: Text about further rows; empty if there are none.
    """

    name: str
    title: str
    note: str
    sql: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    examples: list[tuple[str, str]]
    more: str = ""


def fleet_page(report: FleetReport, totals: dict[str, int]) -> str:
    """Render the page.

    Args:
        report: The content of the report.
        totals: Numbers of dumps, programs, versions, hosts, incomplete dumps and failed
            files.
    """
    sections = []
    for asked, answer in report.told():
        table = shown(answer)
        sections.append(
            FleetSection(
                asked.name.replace("_", "-"),
                asked.title,
                asked.note,
                asked.sql,
                table.columns,
                _cells(table, answer.dicts()),
                report.examples(asked, answer),
                f"… {MORE}" if asked.name in report.cut else "",
            )
        )
    return render(
        "fleet.html",
        title=f"Fleet {printable(report.folder)}",
        dump_name="",
        folder=report.folder,
        headlines=report.headlines(),
        figures=[
            (name, totals[key])
            for key, name in _TOTALS
            if totals[key] or key == "dumps"
        ],
        sections=sections,
    )


def _cells(table: Answer, rows: Sequence[dict[str, object]]) -> list[list[Cell]]:
    """The cells of a table, with text to show and number to sort by."""
    numbers = {
        name: [value for row in rows if isinstance(value := row.get(name), int | float)]
        for name in table.columns
    }
    found = []
    for texts, row in zip(table.rows, rows, strict=True):
        cells = []
        for name, text in zip(table.columns, texts, strict=True):
            value = row.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                cells.append(Cell(None, cell(text)))
                continue
            most = max(numbers[name])
            share = None
            if name == "share":
                share = min(1.0, max(0.0, float(value)))
            elif name.endswith("bytes") and most > 0:
                share = max(0.0, value / most)
            cells.append(Cell(value, cell(text), share=share))
        found.append(cells)
    return found
