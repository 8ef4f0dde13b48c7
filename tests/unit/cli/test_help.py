"""Help: its examples, short options and width; completion; what needs no server."""

from __future__ import annotations

import re
import resource
import shlex
import subprocess
import sys
from collections import defaultdict
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

import pytest
import typer.main

from ingest.cli import program
from ingest.cli.examples import EXAMPLES
from ingest.cli.options import Reading
from ingest.cli.panels import CommandPanel, OptionPanel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typer.core import TyperGroup

    from tests.conftest import Ran

SHORT = {
    "-f": "--format",
    "-h": "--help",
    "-k": "--paths",
    "-n": "--lines",
    "-o": "--output",
    "-p": "--param",
}


def commands(group: TyperGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each command, and the words that it is called with."""
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        if "commands" in vars(command):
            yield from commands(cast("TyperGroup", command), words)
        else:
            yield words, command


def panel_of(option: object) -> str | None:
    """Of an option that many commands have."""
    return getattr(option, "rich_help_panel", None)


ALL = dict(commands(cast("TyperGroup", typer.main.get_command(program()))))


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == {"", *ALL}


@pytest.mark.parametrize(
    "line", [line for lines in EXAMPLES.values() for line in lines]
)
def test_an_example_has_options_and_arguments_that_exist(line: str) -> None:
    for part in re.split(r"\| ", line):
        program, *words = shlex.split(part.split(" > ")[0])
        assert program == "ingest"
        name = " ".join(words[: 2 if words[0] in ("capture", "fleet", "server") else 1])
        with ALL[name].make_context(name, words[len(name.split()) :]):
            pass  # which fails with a usage error otherwise


def test_a_short_option_means_the_same_in_every_command() -> None:
    found = defaultdict(set)
    for command in ALL.values():
        for parameter in command.params:
            long = [name for name in parameter.opts if name.startswith("--")]
            for name in parameter.opts:
                if re.fullmatch("-[a-zA-Z]", name):
                    found[name].add(long[0])

    assert dict(found) == {
        short: {long} for short, long in SHORT.items() if short != "-h"
    }


@pytest.mark.parametrize("words", [["-h"], ["load", "-h"], ["server", "logs", "-h"]])
def test_help_has_a_short_option_and_ends_with_examples(
    ingest: Callable[..., Ran], words: list[str]
) -> None:
    code, out, _ = ingest(*words)

    assert code == 0
    assert "Examples:\n    ingest " in out


GROUPS = [["-h"], *([group, "-h"] for group in ("capture", "fleet", "server"))]


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_help_of_a_group_cuts_no_sentence(
    ingest: Callable[..., Ran], words: list[str]
) -> None:
    _, out, _ = ingest(*words)

    assert "..." not in out.partition("Options:")[2]


def test_help_has_commands_in_panels(ingest: Callable[..., Ran]) -> None:
    _, out, _ = ingest("--help")

    found = re.findall(r"^(\w[\w ]*):$", out.partition("Examples:")[0], re.MULTILINE)
    assert found == ["Options", *CommandPanel]


@pytest.mark.parametrize(
    "name", [n for n, c in ALL.items() if any(map(panel_of, c.params))]
)
def test_shared_options_have_panels_below_the_own_ones(
    ingest: Callable[..., Ran], name: str
) -> None:
    _, out, _ = ingest(*name.split(), "--help")

    sections = re.split(r"^(\w[\w ]*):\n", out, flags=re.MULTILINE)
    panels = dict(zip(sections[1::2], sections[2::2], strict=True))
    shared = [one for one in panels if one not in ("Arguments", "Options")]
    assert (
        [*panels][-len(shared) :]
        == shared
        == [one for one in OptionPanel if one in shared]
    )
    for option in ALL[name].params:
        if option.param_type_name == "option":
            panel = panels[panel_of(option) or "Options"]
            assert re.search(rf"^  .*{option.opts[0]}\b", panel, re.MULTILINE), option


@pytest.mark.parametrize("columns", [60, 140])
def test_help_is_as_wide_as_the_terminal(
    ingest: Callable[..., Ran], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = ingest("info", "--help")

    text = out.partition("Examples:")[0]
    assert columns - 20 < max(map(len, text.splitlines())) <= columns


def test_help_takes_little_time() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    program = "import sys; from ingest.cli import main; main(['--help'])"
    checked = (
        f"import atexit, sys; atexit.register(lambda: print(sorted({{'rich', 'numpy', "
        f"'neo4j', 'polars', 'zipfile', 'hashlib'}} & set(sys.modules)))); {program}"
    )
    done = subprocess.run(
        [sys.executable, "-c", checked], capture_output=True, text=True, check=True
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    assert done.stdout.splitlines()[-1] == "[]"
    assert used < 0.5  # 0.14 s on an idle machine


COMPLETED = {
    "ingest queries event-": ["event-handlers"],
    "ingest query dominator-ch": ["dominator-chain"],
    "ingest browse --query leak": ["leak-suspects"],
    "ingest drop ": [],
    "ingest report --dump ": [],
}


@pytest.mark.parametrize(("line", "expected"), COMPLETED.items())
def test_names_are_completed_without_starting_a_server(
    line: str,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ingest.server.embedded.EmbeddedServer.start", None)
    monkeypatch.setattr("ingest.server.embedded.EmbeddedServer.running", lambda _: None)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("_INGEST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))

    with pytest.raises(SystemExit):
        program()(prog_name="ingest")

    assert capsys.readouterr().out.split() == expected


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["list"], 0, "no dump is loaded"),
        (["list", "--json"], 0, "[]"),
        (["drop", "x"], 9, "no dump is loaded"),
        (["query", "dump"], 9, "ingest load DUMP; or ask a file: --in FILE"),
        (["why", "A"], 9, "ingest load DUMP; or ask a file: --in FILE"),
        (["report"], 9, "ingest load DUMP; or ask a file: --in FILE"),
        (["queries", "timer"], 0, "timers"),
    ],
)
def test_no_server_is_started_to_find_that_nothing_is_loaded(
    ingest: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    text: str,
) -> None:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path / "empty"))
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setattr("ingest.server.embedded.EmbeddedServer.start", None)

    found, out, err = ingest(*words)

    assert found == code
    assert text in out + err
    assert not (tmp_path / "empty").exists()


def test_an_error_has_a_colour_where_it_is_wanted(
    ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ingest("info", "/no/such")[2].startswith(
        "\x1b[1;31merror:\x1b[0m /no/such: "
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert ingest("info", "/no/such")[2].startswith("error: /no/such: ")


OPENS_DUMPS = (
    "info", "load", "export", "compare", "check", "what-if", "objsize", "timeline",
    "fleet add",
)  # fmt: skip


@pytest.mark.parametrize("command", OPENS_DUMPS)
def test_every_command_that_opens_dumps_has_all_options_of_reading(
    command: str, ingest: Callable[..., Ran]
) -> None:
    options = {
        option
        for parameter in commands_options("info")
        if parameter.name in {field.name for field in fields(Reading)}
        for option in parameter.opts
    }
    assert {"--layout", "--strength", "--part", "--allow-any-expansion"} <= options

    told = ingest(*command.split(), "--help")[1]

    assert [option for option in sorted(options) if option not in told] == []


def commands_options(command: str) -> list[Any]:
    return [one for one in ALL[command].params if one.param_type_name == "option"]


def test_force_means_overwrite_in_every_command() -> None:
    for command in ALL:
        for option in commands_options(command):
            if "--force" in option.opts:
                assert re.match(r"Overwrite|Write into a folder", option.help), command
