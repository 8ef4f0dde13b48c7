"""Answers as text: one function for each output format.

Text from a dump is escaped here for terminals, CSV and Markdown: no type name can
move the cursor, open a tag or break a table.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
import textwrap
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from ingest.queries.answer import GraphPath
from ingest.reports.paths import graph_path_steps, path_text
from ingest.words.text import for_spreadsheet, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ingest.queries.answer import Answer
    from ingest.reports.about import About

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~])")


class OutputFormat(StrEnum):
    """Output format of an answer."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    CSV_RAW = "csv-raw"
    MARKDOWN = "markdown"


def cell(value: object) -> str:
    """Format one value for a terminal."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, GraphPath):
        return printable(" → ".join(graph_path_steps(value)))
    if isinstance(value, list):
        return " → ".join(cell(entry) for entry in value)
    if isinstance(value, dict):
        return printable(json.dumps(value, ensure_ascii=False))
    return printable(str(value))


def markdown_text(text: str) -> str:
    """Escape ``text`` for Markdown, including its tables."""
    return _MARKUP.sub(r"\\\1", printable(text)).replace("&", "&amp;")


def width() -> int:
    """Return the width of the terminal in columns, 80 without a terminal."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def folded(text: str, indent: str = "  ", hanging: str = "") -> str:
    """Wrap ``text`` to the width of the terminal, but not commands in brackets.

    Args:
        text: One paragraph.
        indent: Before each line.
        hanging: Further indent of each line but the first.
    """
    commands = _COMMAND.sub(lambda found: _unbroken(found[0]), text)
    is_plain = commands == text
    room = width() - len(indent) - len(hanging)
    if is_plain:
        text = " ".join(
            part for word in text.split(" ") for part in name_lines(word, room)
        )
    lines = textwrap.fill(
        text if is_plain else commands,
        width(),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=is_plain,
        break_on_hyphens=is_plain,
    )
    return lines.replace(_NO_BREAK, " ") + "\n"


_COMMAND = re.compile(r"\(ingest [^()]*\)")
_NO_BREAK = "\0"


def _unbroken(commands: str) -> str:
    """Commands in brackets, which are broken only between one and another."""
    return ", or ".join(one.replace(" ", _NO_BREAK) for one in commands.split(", or "))


_NARROWEST_TEXT, _SHORT_TEXT = 16, 24
_PIECE = re.compile(r"[\[(<]*[^-._/\\:$+,;\s\[(<]+[-._/\\:$+,;\s]*|.", re.DOTALL)
"""A part of a name, with the characters after which it may be broken."""
_WORD = re.compile(r"[^A-Z]+|[A-Z]+[^A-Z]*")
"""A word of such a part, as in ``HashMap``."""

_BETWEEN = 2


def table_text(
    columns: Sequence[str], rows: Sequence[Sequence[object]], indent: str = ""
) -> str:
    """Format a table that fits the terminal; long names are wrapped.

    If the columns do not fit side by side, each row is a block of lines.
    """
    room = width() - len(indent)
    heads = [column.replace("_", " ") for column in columns]
    cells = [[cell(value) for value in row] for row in rows]
    numeric = [_is_numeric([row[at] for row in rows]) for at in range(len(heads))]
    needed = []
    for at, head in enumerate(heads):
        longest = max([_length(row[at]) for row in cells], default=0)
        if not numeric[at]:
            longest = min(longest, _NARROWEST_TEXT)
        needed.append(max(longest, *map(len, head.split() or [""])))
    spare = room - sum(needed) - _BETWEEN * (len(needed) - 1)
    if spare < 0:
        return _blocks(heads, cells, indent, room)
    wanted = [
        max((_length(row[at]) for row in cells), default=0) for at in range(len(heads))
    ]
    # Dates and other short texts first, then names; headings can wrap.
    for chosen in (
        [at for at, longest in enumerate(wanted) if longest <= _SHORT_TEXT],
        [at for at, longest in enumerate(wanted) if longest > _SHORT_TEXT],
    ):
        spare = _widen(needed, wanted, chosen, spare)
    _widen(needed, list(map(len, heads)), list(range(len(heads))), spare)
    return _grid(heads, cells, indent, needed, numeric)


def _widen(widths: list[int], wanted: list[int], chosen: list[int], spare: int) -> int:
    """Widen the chosen columns by up to ``spare``; return what remains of it."""
    while spare > 0 and (narrow := [at for at in chosen if widths[at] < wanted[at]]):
        for at in narrow[:spare]:
            widths[at] += 1
        spare -= len(narrow[:spare])
    return spare


def _is_numeric(values: list[object]) -> bool:
    return any(value is not None for value in values) and all(
        isinstance(value, int | float | None) and not isinstance(value, bool)
        for value in values
    )


def _grid(
    heads: list[str],
    cells: list[list[str]],
    indent: str,
    widths: list[int],
    numeric: list[bool],
) -> str:
    wrapped = list(map(textwrap.wrap, heads, widths))
    tall = max(map(len, wrapped))
    folds = [[[""] * (tall - len(lines)) + lines for lines in wrapped]]
    folds += [list(map(name_lines, row, widths)) for row in cells]
    lines = [
        (" " * _BETWEEN).join(map(_padded, parts, widths, numeric))
        for row in folds
        for parts in zip_longest(*row, fillvalue="")
    ]
    lines.insert(tall, "─" * len(lines[0]))
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def _padded(text: str, width: int, is_right: bool) -> str:
    spaces = " " * (width - _length(text))
    return spaces + text if is_right else text + spaces


def _length(text: str) -> int:
    """The width of a text; some characters of Asia are as wide as two others."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(one) in "FW" else 1 for one in text)


def name_lines(text: str, room: int) -> list[str]:
    """Break a text into lines of at most ``room`` characters.

    It is broken between the parts of its names; if necessary, between the words of a
    part, or anywhere.
    """
    if _length(text) <= room:
        return [text]
    pieces = [
        part
        for piece in _PIECE.findall(text)
        for word in (
            [piece] if _length(piece.rstrip()) <= room else _WORD.findall(piece)
        )
        for part in _chunks(word, room)
    ]
    lines = [""]
    for piece in pieces:
        if _length(lines[-1]) + _length(piece.rstrip()) <= room:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.rstrip() for line in lines]


def _chunks(word: str, room: int) -> list[str]:
    if _length(word.rstrip()) <= room:
        return [word]
    step = room if word.isascii() else max(room // 2, 1)
    return [word[at : at + step] for at in range(0, len(word), step)]


def _blocks(heads: list[str], cells: list[list[str]], indent: str, room: int) -> str:
    """Format each row as lines of name and value, with empty lines between rows."""
    widest = max(map(len, heads))
    blocks = []
    for row in cells:
        lines = []
        for head, value in zip(heads, row, strict=True):
            folds = name_lines(value, max(room - widest - 2, 20))
            lines.append(f"{indent}{head:<{widest}}  {folds[0]}".rstrip() + "\n")
            lines += [f"{indent}{'':<{widest}}  {fold}\n" for fold in folds[1:]]
        blocks.append("".join(lines))
    return "\n".join(blocks)


def write_table(answer: Answer) -> None:
    """Write a table that fits the terminal, without empty columns."""
    shown = answer.without_empty_columns()
    if any(isinstance(value, GraphPath) for row in shown.rows for value in row):
        text = _with_paths(shown)
    else:
        text = table_text(shown.columns, shown.rows) if answer.rows else "no rows\n"
    sys.stdout.write(text)


def _with_paths(answer: Answer) -> str:
    """Format each row as a block: its paths drawn, after its other columns."""
    blocks = []
    for row in answer.dicts():
        paths = {k: v for k, v in row.items() if isinstance(v, GraphPath)}
        others = [
            (name.replace("_", " "), cell(value))
            for name, value in row.items()
            if name not in paths
        ]
        block = ""
        if others:
            heads, cells = zip(*others, strict=True)
            block = _blocks([*heads], [[*cells]], "", width())
        for name, path in paths.items():
            title = f"{name.replace('_', ' ')}\n" if len(row) > 1 else ""
            block += title + path_text(graph_path_steps(path))
        blocks.append(block)
    return "\n".join(blocks)


def write_json(answer: Answer) -> None:
    """Write one array of objects; JSON escapes control characters."""
    json.dump(answer.dicts(), sys.stdout, indent=2)
    sys.stdout.write("\n")


def write_jsonl(answer: Answer) -> None:
    """Write one object per line."""
    write_rows(answer.dicts())


def write_rows(rows: Iterable[dict[str, object]]) -> None:
    """Write one object per line as the rows arrive."""
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")


def write_csv(answer: Answer) -> None:
    """Write a header and one line per row; lists and maps as JSON.

    Spreadsheets do not evaluate it: see `for_spreadsheet`.
    """
    _write_csv(answer, for_spreadsheet)


def write_csv_raw(answer: Answer) -> None:
    """Write the same for programs, which evaluate nothing."""
    _write_csv(answer, str)


def _write_csv(answer: Answer, text: Callable[[str], str]) -> None:
    def csv_cell(value: object) -> object:
        if isinstance(value, list | dict):
            return json.dumps(value)
        return text(printable(value)) if isinstance(value, str) else value

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(text(printable(column)) for column in answer.columns)
    for row in answer.rows:
        out.writerow([csv_cell(value) for value in row])


def write_markdown(answer: Answer) -> None:
    """Write a Markdown table."""
    sys.stdout.write(markdown_table(answer))


def markdown_table(answer: Answer) -> str:
    """Return a Markdown table, numbers aligned to the right."""
    heads = [markdown_text(column.replace("_", " ")) for column in answer.columns]
    lines = ["| " + " | ".join(heads) + " |"]
    marks = [
        "---:"
        if answer.rows and all(isinstance(row[at], int | float) for row in answer.rows)
        else "---"
        for at in range(len(heads))
    ]
    lines.append("| " + " | ".join(marks) + " |")
    for row in answer.rows:
        cells = [
            cell(value)
            if isinstance(value, int | float)
            else markdown_text(cell(value))
            for value in row
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


_WRITERS = {
    "table": write_table,
    "json": write_json,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "csv-raw": write_csv_raw,
    "markdown": write_markdown,
}


def write_answer(
    answer: Answer,
    form: OutputFormat,
    about: About | None = None,
    why_empty: str | None = None,
    bound: str | None = None,
) -> None:
    """Write ``answer`` to standard output.

    Args:
        answer: The answer.
        form: How. CSV and lines of JSON are rows only.
        about: The dump it is about, which is said first; what answered, last.
        why_empty: Why there are no rows, if that is known.
        bound: Where the answer may have been cut. With rows only, this and
            ``why_empty`` go to standard error.
    """
    if about is not None and form is OutputFormat.JSON:
        facts: dict[str, object] = {"about": about.facts(), "rows": answer.dicts()}
        if why_empty is not None:
            facts["why_empty"] = why_empty
        if bound is not None:
            facts["bound"] = bound
        json.dump(facts, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    if about is not None and form is OutputFormat.TABLE:
        sys.stdout.write(f"{about.sentence()}\n\n")
    if about is not None and form is OutputFormat.MARKDOWN:
        sys.stdout.write(f"{markdown_text(about.sentence())}\n\n")
    if why_empty is not None and form is OutputFormat.TABLE:
        sys.stdout.write(f"no rows: {why_empty}\n")
    else:
        _WRITERS[form.value](answer)
    if why_empty is not None and form is OutputFormat.MARKDOWN:
        sys.stdout.write(f"\nno rows: {markdown_text(why_empty)}\n")
    if bound is not None and form is OutputFormat.TABLE:
        sys.stdout.write(f"\n{bound}\n")
    if bound is not None and form is OutputFormat.MARKDOWN:
        sys.stdout.write(f"\n{markdown_text(bound)}\n")
    if about is not None and about.origin() and form not in _ROWS_ONLY:
        sys.stdout.write(f"\n{about.origin()}\n")
    if form in _ROWS_ONLY:
        write_notes(why_empty, bound)


_ROWS_ONLY = (OutputFormat.CSV, OutputFormat.CSV_RAW, OutputFormat.JSONL)


def write_notes(why_empty: str | None, bound: str | None) -> None:
    """Write notes to standard error, for formats that have only rows."""
    if why_empty is not None:
        sys.stderr.write(f"note: no rows: {why_empty}\n")
    if bound is not None:
        sys.stderr.write(f"note: {bound}\n")
