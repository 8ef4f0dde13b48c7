"""The generated parts of README.md: written here, checked by a test.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest import errors
from ingest.queries.library import library
from ingest.tables.schema import TABLES, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

README = Path(__file__).parents[1] / "README.md"
_PART = re.compile(r"(<!-- (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.S)


def queries_table() -> str:
    lines = ["| query | answers | needs |", "| --- | --- | --- |"]
    for query in library().values():
        needs = [p.name for p in query.parameters if p.required and p.name != "dump"]
        listed = ", ".join(f"`{name}`" for name in needs)
        lines.append(f"| `{query.name}` | {query.title} | {listed} |")
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    text = errors.__doc__ or ""
    return (
        "```text\n"
        + text.split("::\n\n")[1].rstrip().replace("    ", "", 1)
        + "\n```\n"
    )


def info_output() -> str:
    """Return the output of ``ingest info`` for the example dump."""
    from ingest.cli import main

    before = Path.cwd()
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for arguments in (["example"], ["info", "example.gclog", "--top", "5"]):
                out = io.StringIO()
                with (
                    contextlib.redirect_stdout(out),
                    contextlib.redirect_stderr(io.StringIO()),
                    contextlib.suppress(SystemExit),
                ):
                    main(arguments)
        finally:
            os.chdir(before)
    return shown("ingest info example.gclog --top 5", out.getvalue())


REPORT_LINES = 54


def shown(command: str, out: str, lines: int | None = None) -> str:
    """Format a command and the first lines of its output for the README."""
    first = out.splitlines()[:lines]
    cut = ["..."] if lines is not None and len(out.splitlines()) > lines else []
    return "\n".join(["```text", f"$ {command}", *first, *cut, "```", ""])


def tables_table() -> str:
    lines = ["| table | rows | columns |", "| --- | --- | --- |"]
    for entry in TABLES:
        columns = ", ".join(f"`{column.name}`" for column in entry.columns)
        lines.append(f"| `{entry.name}` | {entry.meaning} | {columns} |")
    return "\n".join(lines) + "\n"


PARTS = {
    "schema": markdown,
    "tables": tables_table,
    "queries": queries_table,
    "exit-codes": exit_codes,
    "info": info_output,
}


def regenerated(text: str, on_server: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the README with all generated parts regenerated.

    Args:
        text: The text of README.md.
        on_server: Parts that need a server, by name. Parts that are not given stay
            unchanged; a test with a server checks them.
    """

    def fresh(match: re.Match[str]) -> str:
        make = PARTS.get(match["name"])
        if make is not None:
            return f"{match[1]}{make()}{match[4]}"
        if match["name"] in on_server:
            return f"{match[1]}{on_server[match['name']]}{match[4]}"
        return match[0]

    return _PART.sub(fresh, text)


def part(name: str) -> str:
    """Return one part of README.md."""
    text = README.read_text(encoding="utf-8")
    return next(m["body"] for m in _PART.finditer(text) if m["name"] == name)


def server_parts() -> dict[str, str]:
    """Return the output of ``why`` and ``report`` for the example dump."""
    from ingest.cli import main

    parts = {}
    for name, words, lines in (
        ("why", ["why", "0x1c1773"], None),
        ("report", ["report"], REPORT_LINES),
    ):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main(words)
        parts[name] = shown(f"ingest {' '.join(words)}", out.getvalue(), lines)
    return parts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make readme", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--server", action="store_true", help="the example is the newest dump loaded"
    )
    chosen = parser.parse_args()
    if chosen.write:
        found = server_parts() if chosen.server else {}
        README.write_text(
            regenerated(README.read_text(encoding="utf-8"), found), encoding="utf-8"
        )
