"""The generated parts of the documentation: written here, checked by a test.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tempfile
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest import errors
from ingest.fleet.datasets import datasets_markdown
from ingest.queries.library import DUMP, GROUPS, library
from ingest.tables.dump_properties import EXPORTED
from ingest.tables.fleet_graph import fleet_graph_markdown
from ingest.tables.schema import TABLES, markdown
from tests.recipes import RECIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.recipes import Recipe

HOME = Path(__file__).parents[1]
README = HOME / "README.md"
COMMANDS = HOME / "ingest" / "cli" / "README.md"
"""The page of all commands, with the story of a leak."""

_PART = re.compile(r"(<!-- (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.S)


def queries_table() -> str:
    lines = ["| query | answers | needs |", "| --- | --- | --- |"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | |")
        for query in library().values():
            if query.group != group:
                continue
            needs = [p.name for p in query.parameters if p.required and p.name != DUMP]
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


INFO_LINES, CHECK_LINES = 6, 8


def info_output() -> str:
    """Return the first lines of ``ingest info`` for the example dump."""
    out = _last_output(["example"], ["info", "example.gclog"])
    first = "ingest example\nwrote example.gclog\n$ ingest info example.gclog"
    return shown(first, out, INFO_LINES)


def check_output() -> str:
    """Return the first lines of ``ingest check`` for three dumps of the example."""
    dumps = {levels: f"level{levels}.gclog" for levels in (8, 16, 24)}
    out = _last_output(
        *(["example", name, "--levels", str(n)] for n, name in dumps.items()),
        ["check", *dumps.values()],
    )
    return shown(f"ingest check {' '.join(dumps.values())}", out, CHECK_LINES)


def compare_output() -> str:
    """Return the output of ``ingest compare`` for three dumps of the example."""
    dumps = {levels: f"level{levels}.gclog" for levels in (8, 16, 24)}
    parts = ["--by", "suspect", "--by", "dominator-path", "--top", "2"]
    given = [*dumps.values(), *parts]
    out = _last_output(
        *(["example", name, "--levels", str(n)] for n, name in dumps.items()),
        ["compare", *given],
    )
    return shown(f"ingest compare {' '.join(given)}", out)


def first_suspect(out: str) -> str:
    """Return the block of ``jvm``, from the output of ``ingest info``."""
    begin, end = out.index("Leak suspects"), out.index("\n\n  One dump shows")
    return f"```text\n{out[begin:end]}\n```\n"


def _last_output(*commands: list[str]) -> str:
    """Run commands in a folder of their own; return what the last one wrote."""
    from ingest.cli import main

    before = Path.cwd()
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for arguments in commands:
                out = io.StringIO()
                with (
                    contextlib.redirect_stdout(out),
                    contextlib.redirect_stderr(io.StringIO()),
                    contextlib.suppress(SystemExit),
                ):
                    main(arguments)
        finally:
            os.chdir(before)
    return out.getvalue()


WHY_LINES = 14


def shown(command: str, out: str, lines: int | None = None) -> str:
    """Format a command and the first lines of its output for the README."""
    # A test has more dumps loaded than a reader.
    out = re.sub(r"the newest of \d+ loaded", "the only one loaded", out)
    first = out.splitlines()[:lines]
    cut = ["..."] if lines is not None and len(out.splitlines()) > lines else []
    return "\n".join(["```text", f"$ {command}", *first, *cut, "```", ""])


def tables_table() -> str:
    lines = ["| table | rows | columns |", "| --- | --- | --- |"]
    for entry in (EXPORTED, *TABLES):
        columns = ", ".join(f"`{column.name}`" for column in entry.columns)
        lines.append(f"| `{entry.name}` | {entry.meaning} | {columns} |")
    return "\n".join(lines) + "\n"


def recipe_block(recipe: Recipe) -> str | None:
    """Return what a recipe changes; ``None`` without git."""
    stat = recipe.stat()
    if stat is None:
        return None
    lines = "".join(f"     {line.strip()}\n" for line in stat.splitlines())
    path = recipe.patch.relative_to(HOME).as_posix()
    return f"{recipe.purpose}\n\n    $ git apply --stat {path}\n{lines}"


PARTS: dict[str, Callable[[], str | None]] = {
    "schema": markdown,
    "tables": tables_table,
    "queries": queries_table,
    "exit-codes": exit_codes,
    "info": info_output,
    "check": check_output,
    "compare": compare_output,
    "datasets": datasets_markdown,
    "fleet-graph": fleet_graph_markdown,
    **{f"recipe-{name}": partial(recipe_block, RECIPES[name]) for name in RECIPES},
}

PAGES = {
    README: ("jvm",),
    COMMANDS: ("info", "check", "exit-codes", "why"),
    HOME / "cypher" / "README.md": ("schema", "queries"),
    HOME / "ingest" / "README.md": tuple(f"recipe-{name}" for name in RECIPES),
    HOME / "ingest" / "compare" / "README.md": ("compare",),
    HOME / "ingest" / "tables" / "README.md": ("tables",),
    HOME / "ingest" / "fleet" / "README.md": ("datasets", "fleet-graph"),
}
"""The pages with generated parts.

A test with a server checks ``why``, and one with a running program checks ``jvm``.
"""


def regenerated(text: str, on_server: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a page with all generated parts regenerated.

    Args:
        text: The text of the page.
        on_server: Parts that need a server, by name. Parts that are not given stay
            unchanged; a test with a server checks them. So do recipes without git.
    """

    def fresh(match: re.Match[str]) -> str:
        make = PARTS.get(match["name"])
        made = None if make is None else make()
        if made is not None:
            return f"{match[1]}{made}{match[4]}"
        if match["name"] in on_server:
            return f"{match[1]}{on_server[match['name']]}{match[4]}"
        return match[0]

    return _PART.sub(fresh, text)


def part(name: str) -> str:
    """Return one part of the documentation."""
    page = next(page for page, names in PAGES.items() if name in names)
    text = page.read_text(encoding="utf-8")
    return next(m["body"] for m in _PART.finditer(text) if m["name"] == name)


def server_parts() -> dict[str, str]:
    """Return the output of ``why`` for the example dump."""
    from ingest.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(["why", "0x1c1773"])
    return {"why": shown("ingest why 0x1c1773", out.getvalue(), WHY_LINES)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make readme", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--server", action="store_true", help="the example is the newest dump loaded"
    )
    chosen = parser.parse_args()
    if chosen.write:
        found = server_parts() if chosen.server else {}
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            page.write_text(regenerated(text, found), encoding="utf-8")
