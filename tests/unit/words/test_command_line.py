from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.cli import COMMANDS
from ingest.words.command_line import command, install_command

PACKAGE = Path(__file__).parents[3] / "ingest"
_WRITTEN_OUT = re.compile(rf"\bingest (?:{'|'.join(COMMANDS)})\b")
_HELP = {
    "agents/instructions.py",
    "cli/capture.py",
    "cli/examples.py",
    "cli/fleet_store.py",
    "cli/options.py",
}
"""Files with the help of commands, or of agents, which is written out."""


@pytest.mark.parametrize(
    "word",
    [
        "LevelScreen",
        "shop.OrderService$RequestContext",
        "List`1[[System.String, mscorlib]]",
        'it\'s <T> "quoted" & more; *',
        "two\nlines \x1b[31mé\u202e",
        "back\\slash\tand 'quote'",
        "bytes that are no text: \udcff",
        "",
    ],
)
def test_a_shell_reads_the_words_that_were_meant(word: str) -> None:
    line = command("why", word, dump=word)

    assert line.isprintable()
    script = f"ingest() {{ printf '%s\\0' \"$@\"; }}; {line}"
    printed = subprocess.run(
        ["bash", "-c", script.encode(errors="surrogateescape")],  # in any locale
        capture_output=True,
        check=True,
    ).stdout
    encoded = word.encode(errors="surrogateescape")
    assert printed.split(b"\0")[:-1] == [b"why", encoded, b"--dump", encoded]


def test_commands_are_written_out_nowhere_else() -> None:
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text(encoding="utf-8")
        joined = re.sub(r"""["']\s+f?["']""", "", text)  # literals of several lines
        if name in _HELP or not _WRITTEN_OUT.search(joined):
            continue
        tree = ast.parse(text)
        documentation = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
        }
        found += [
            f"{name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and id(node) not in documentation
            and isinstance(node.value, str)
            and _WRITTEN_OUT.search(node.value)
        ]
    for path in (PACKAGE / "reports" / "templates").iterdir():
        if _WRITTEN_OUT.search(path.read_text(encoding="utf-8")):
            found.append(path.name)

    assert not found


def test_what_an_extra_needs_is_installed_where_heaproots_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pipx and uv mark the environments that they make."""
    here = install_command("mcp")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "heaproots"))
    (tmp_path / "heaproots").mkdir()
    (mark := tmp_path / "heaproots/uv-receipt.toml").touch()
    by_uv = install_command("mcp")
    mark.rename(mark.with_name("pipx_metadata.json"))
    by_pipx = install_command("mcp")

    assert here == "in the checkout of heaproots: pip install '.[mcp]'"
    folder = tmp_path / "heaproots"
    assert by_uv == f"uv pip install --python {folder} 'heaproots[mcp]'"
    assert by_pipx == "pipx runpip heaproots install 'heaproots[mcp]'"
