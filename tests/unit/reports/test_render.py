"""Answers as text, with the expected text in the test."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from ingest.queries.answer import Answer, GraphPath
from ingest.reports.render import (
    OutputFormat,
    folded,
    name_lines,
    table_text,
    write_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = Answer(
    ("type", "retained_bytes", "path"),
    (
        ("System.String", 1234567, ["A", "B"]),
        ("evil | \x1b[31m <b>`x`</b>", None, []),
    ),
)


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Callable[[OutputFormat], str]:
    def write(form: OutputFormat) -> str:
        write_answer(ANSWER, form)
        return capsys.readouterr().out

    return write


def test_a_table(written: Callable[[OutputFormat], str]) -> None:
    lines = [line.rstrip() for line in written(OutputFormat.TABLE).splitlines()]

    assert lines == [
        "type                        retained bytes  path",
        "─────────────────────────────────────────────────",
        "System.String                    1,234,567  A → B",
        "evil | \\x1b[31m <b>`x`</b>",
    ]


def test_markdown(written: Callable[[OutputFormat], str]) -> None:
    assert written(OutputFormat.MARKDOWN) == (
        "| type | retained bytes | path |\n"
        "| --- | --- | --- |\n"
        "| System.String | 1,234,567 | A → B |\n"
        "| evil \\| \\\\x1b\\[31m \\<b\\>\\`x\\`\\</b\\> |  |  |\n"
    )


def test_json_and_jsonl(written: Callable[[OutputFormat], str]) -> None:
    array = json.loads(written(OutputFormat.JSON))
    lines = [json.loads(line) for line in written(OutputFormat.JSONL).splitlines()]

    assert array == lines == ANSWER.dicts()


def test_json_has_no_raw_control_characters(
    written: Callable[[OutputFormat], str],
) -> None:
    assert "\x1b" not in written(OutputFormat.JSON)


def test_csv(written: Callable[[OutputFormat], str]) -> None:
    rows = list(csv.reader(io.StringIO(written(OutputFormat.CSV))))

    assert rows == [
        ["type", "retained_bytes", "path"],
        ["System.String", "1234567", '["A", "B"]'],
        ["evil | \\x1b[31m <b>`x`</b>", "", "[]"],
    ]


def test_a_spreadsheet_computes_nothing_of_a_csv(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = ["=1+1", "+A1", "-2+3", "@SUM(A1)", "-7.5e3", "a=b", "\t=1"]
    answer = Answer(("=name",), (*((text,) for text in texts), (-5,)))

    write_answer(answer, OutputFormat.CSV)
    assert capsys.readouterr().out.splitlines() == [
        "'=name", "'=1+1", "'+A1", "'-2+3", "'@SUM(A1)", "-7.5e3", "a=b", "\\t=1", "-5",
    ]  # fmt: skip
    write_answer(answer, OutputFormat.CSV_RAW)
    raw = capsys.readouterr().out.splitlines()
    assert raw == ["=name", *texts[:-1], "\\t=1", "-5"]


def test_a_table_that_does_not_fit_becomes_blocks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = tuple(f"quite_long_name_{i}" for i in range(9))
    row = tuple(["some text of a certain length"] * 8 + [10**12])

    write_answer(Answer(columns, (row, row)), OutputFormat.TABLE)

    out = capsys.readouterr().out
    assert out.splitlines()[0] == "quite long name 0  some text of a certain length"
    assert out.splitlines()[8] == "quite long name 8  1,000,000,000,000"
    assert out.splitlines()[9] == ""


@pytest.mark.parametrize("columns", range(1, 12))
def test_no_table_is_wider_than_the_terminal_and_no_number_is_cut(
    capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    names = tuple(f"retained_bytes_{i}" if i % 2 else "type" for i in range(columns))
    row = tuple(123_456_789 if i % 2 else "Long.Name" * 9 for i in range(columns))

    write_answer(Answer(names, (row,)), OutputFormat.TABLE)

    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("123,456,789") == columns // 2


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    write_answer(Answer(("a",), ()), OutputFormat.TABLE)

    assert capsys.readouterr().out == "no rows\n"


def test_a_long_name_is_broken_between_its_parts_and_a_date_is_not() -> None:
    name = "catalogue-service-production-2026-11-24T03.17-12"

    text = table_text(
        ("name", "objects", "loaded"), [(name, 1_000_000, "2026-11-25 03:25 UTC")]
    )

    first, second = text.splitlines()[2:]
    assert first.split("  ")[0] == "catalogue-service-production-2026-11-24T03.17-"
    assert first.endswith("1,000,000  2026-11-25 03:25 UTC")
    assert second == "12"


PATH = GraphPath(
    [
        {"labels": ["Dump"], "name": "shop"},
        {"type": "HAS_ROOT"},
        {"labels": ["Root"], "name": "static root in Shop.open"},
        {"type": "REFERENCES"},
        {"labels": ["Object"], "type_name": "Order[]", "address": "0x10"},
        {"type": "REFERENCES", "field": "[0]"},
        {
            "labels": ["Object"],
            "type_name": "Text",
            "address": "0x20",
            "value": "a\x1b",
        },
        {"type": "DOMINATES"},
        {"labels": ["Object"], "type_name": "Box", "address": "0x30"},
    ],
    [True, True, True, False],
)


def test_a_path_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    write_answer(Answer(("p", "n"), ((PATH, 1234), (PATH, 5))), OutputFormat.TABLE)

    drawn = (
        "p\n"
        "     0  static root in Shop.open\n"
        "     1  Order[] 0x10\n"
        '     2  [0]: Text 0x20 "a\\x1b"\n'
        "     3  <- DOMINATES Box 0x30\n"
    )
    out = capsys.readouterr().out
    assert out == f"n  1,234\n{drawn}\nn  5\n{drawn}"


def test_a_path_alone_has_no_heading_and_is_data_elsewhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Answer(("p",), ((PATH,),))
    write_answer(answer, OutputFormat.TABLE)
    assert capsys.readouterr().out.startswith("     0  static root in Shop.open\n")
    write_answer(answer, OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == [{"p": list(PATH)}]
    write_answer(answer, OutputFormat.MARKDOWN)
    assert "Shop.open → Order\\[\\] 0x10 → " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("shop.orders.RequestContext", ["shop.orders.", "RequestContext"]),
        ("std::vector<Handler>", ["std::vector", "<Handler>"]),
        ("AbstractHandlerFactoryBean", ["AbstractHandler", "FactoryBean"]),
        ("List`1[[System.String]]", ["List`1[[System.", "String]]"]),
        ("x" * 20, ["x" * 16, "x" * 4]),
        ("Outer$Inner_with_words", ["Outer$Inner_", "with_words"]),
        ("one two three four", ["one two three", "four"]),
    ],
)
def test_names_are_broken_between_their_parts(name: str, lines: list[str]) -> None:
    assert name_lines(name, 16) == lines
    assert name_lines(name, 80) == [name]


def test_headings_give_way_to_names() -> None:
    name = "System.Collections.Generic.Dictionary`2[[String],[SoundEffect]]+Entry[]"

    text = table_text(("more_objects", "name"), [("+1", name)])

    assert text.splitlines()[-1] == f"+1       {name}"


def test_wide_characters_and_headings_of_several_lines_are_aligned() -> None:
    names = ["売上", "売上明細.一覧表示.集計結果"]

    text = table_text(
        ["type", "direct_total_bytes"],
        [*zip(names, [7, 12345678], strict=True)],
        50 * " ",
    )

    assert [line[50:] for line in text.splitlines()] == [
        "                        direct",
        "                         total",
        "type                     bytes",
        "──────────────────────────────",
        "売上                         7",
        "売上明細.一覧表示.  12,345,678",
        "集計結果",
    ]


def test_commands_in_brackets_are_broken_only_between_them() -> None:
    text = f"{'word ' * 6}(ingest capture node PID, or ingest capture chrome HOST:PORT)"

    assert folded(f"{text} and {'word ' * 7}").splitlines()[:2] == [
        "  word word word word word word (ingest capture node PID, or",
        "  ingest capture chrome HOST:PORT) and word word word word word word word",
    ]
