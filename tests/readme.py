"""The generated parts of README.md: written here, compared in a test.

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

from ingest import errors
from ingest.queries.library import library
from ingest.store.schema import markdown

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
    return "```text\n" + text.split("::\n\n")[1].rstrip().replace("    ", "", 1) + "\n```\n"


def info_output() -> str:
    """What ``ingest info`` says of the example dump."""
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
    return "```text\n$ ingest info example.gclog --top 5\n" + out.getvalue() + "```\n"


PARTS = {
    "schema": markdown,
    "queries": queries_table,
    "exit-codes": exit_codes,
    "info": info_output,
}


def regenerated(text: str) -> str:
    """README's text with every generated part made anew."""

    def fresh(match: re.Match[str]) -> str:
        make = PARTS.get(match["name"])
        if make is None:  # held by a test on a real server
            return match[0]
        return f"{match[1]}{make()}{match[4]}"

    return _PART.sub(fresh, text)


def part(name: str) -> str:
    """One part as it stands in README.md."""
    text = README.read_text(encoding="utf-8")
    return next(m["body"] for m in _PART.finditer(text) if m["name"] == name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make readme", description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        README.write_text(
            regenerated(README.read_text(encoding="utf-8")), encoding="utf-8"
        )
