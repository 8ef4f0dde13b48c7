"""The report over a fleet: text, Markdown and JSON; `fleet_page` has the HTML page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.fleet.datasets import NO_PROGRAM
from ingest.queries.answer import Answer
from ingest.reports.render import (
    cell,
    folded,
    markdown_table,
    markdown_text,
    table_text,
)
from ingest.words.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.fleet.questions import FleetQuestion

    Answers = Sequence[tuple[FleetQuestion, Answer]]

_BELOW = ("example", "dump")
"""Columns that are too wide for a table, and are listed below it."""
_LEFT_OUT = ("fingerprint", *_BELOW)
_MOST_EXAMPLES = 3
_ONLY_IF_ANY = "failures"

_NO_LEAKS = "No complete dump has a leak suspect."

MORE = "and more; --limit lists more of them"
"""Text below a table that is cut."""


@dataclass(frozen=True, slots=True)
class FleetReport:
    """The content of a report.

    Attributes:
        folder: Folder of the fleet.
        answers: The questions, and their answers.
        loadable: Addresses of examples that can be loaded without their files.
        cut: Names of questions that have more rows.
    """

    folder: str
    answers: Answers
    loadable: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()

    def told(self) -> Answers:
        """The answers to show, without those left out when they have no rows."""
        return [(q, a) for q, a in self.answers if a.rows or q.name != _ONLY_IF_ANY]

    def headlines(self) -> list[str]:
        """A line for each of the most frequent leaks: what holds it, how it grows.

        The sentence is from the dump in which the leak retains most.
        """
        answers = {asked.name: answer.dicts() for asked, answer in self.answers}
        rates = {
            row["fingerprint"]: cast("int", row["bytes_per_hour"])
            for row in answers.get("growing", ())
        }
        found = []
        for row in answers["leaks"][:_MOST_EXAMPLES]:
            told = row["example"] or f"{row['leak']}."
            text = printable(_with_program(row, told))
            text += f" The leak is in {cast('float', row['share']):.0%} of its dumps"
            text += f" ({row['dumps']:,})."
            if rate := rates.get(row["fingerprint"]):
                text += f" It grows by {human_bytes(rate)} an hour."
            found.append(text)
        return found or [_NO_LEAKS]

    def examples(self, asked: FleetQuestion, answer: Answer) -> list[tuple[str, str]]:
        """For the first rows, a sentence and the command that loads the example."""
        if not asked.has_example:
            return []
        found = []
        for row in answer.dicts()[:_MOST_EXAMPLES]:
            leaks = ", ".join(cast("list[str]", row.get("leaks") or []))
            told = row.get("example") or row.get("leak") or leaks
            sentence = printable(cast("str", told))
            address = cast("str", row["dump"])
            words = ["ingest", "load", address]
            if address in self.loadable or "://" in address:
                words = ["ingest", "fleet", "load", self.folder, address]
                words += ["--read"] * (address not in self.loadable)
            found.append((sentence, shlex.join(map(printable, words))))
        return found


def fleet_text(report: FleetReport) -> str:
    """The report for a terminal."""
    text = _title(f"Fleet {printable(report.folder)}", "=") + "\n"
    text += "".join(folded(f"- {line}", hanging="  ") for line in report.headlines())
    for asked, answer in report.told():
        text += f"\n{_title(asked.title, '-')}{folded(asked.note, '')}\n"
        table = shown(answer)
        text += table_text(table.columns, table.rows) if table.rows else "  none\n"
        if asked.name in report.cut:
            text += f"  … {MORE}\n"
        for number, (sentence, command) in enumerate(report.examples(asked, answer), 1):
            text += "\n" + folded(f"{number}. {sentence}".rstrip(), hanging="   ")
            text += f"     {command}\n"
    return text


def fleet_markdown(report: FleetReport) -> str:
    """The report as Markdown."""
    text = f"# Fleet {markdown_text(report.folder)}\n\n"
    text += "".join(f"- {markdown_text(line)}\n" for line in report.headlines())
    for asked, answer in report.told():
        text += f"\n## {asked.title}\n\n{asked.note}\n\n"
        table = shown(answer)
        text += markdown_table(table) if table.rows else "none\n"
        if asked.name in report.cut:
            text += f"\n… {MORE}\n"
        for number, (sentence, command) in enumerate(report.examples(asked, answer), 1):
            text += f"\n{number}. {markdown_text(sentence)}\n\n       {command}\n"
    return text


def fleet_facts(report: FleetReport) -> dict[str, object]:
    """The report for JSON."""
    return {"fleet": report.folder} | {q.name: a.dicts() for q, a in report.answers}


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def shown(answer: Answer) -> Answer:
    """The answer for people: sizes with units, lists in a line."""
    left_out = {*_LEFT_OUT, *(["program"] if "leak" in answer.columns else [])}
    columns = tuple(name for name in answer.columns if name not in left_out)
    rows = tuple(tuple(_value(name, row) for name in columns) for row in answer.dicts())
    return Answer(columns, rows).without_empty_columns()


def _with_program(row: Mapping[str, object], text: object) -> str:
    """Text about a program, preceded by its name if a label has it."""
    program = row["program"]
    return str(text) if program == NO_PROGRAM else f"{program}: {text}"


def _value(column: str, row: dict[str, object]) -> object:
    value = row[column]
    if column == "leak":
        return _with_program(row, value)
    if isinstance(value, int) and "bytes" in column:
        sign, size = "-" * (value < 0), abs(value)
        return sign + human_bytes(size)
    if isinstance(value, list):
        return ", ".join(cell(inner) for inner in value) or "none"
    if isinstance(value, float) and column == "share":
        return f"{value:.1%}"
    return value
