"""Commands in what the tool prints, found as a reader finds them."""

from __future__ import annotations

import re
import subprocess
import textwrap
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from ingest.cli import _COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_GROUPS = ("fleet", "capture", "server")
_BEGIN = re.compile(rf"\bingest (?:{'|'.join([*_COMMANDS, *_GROUPS])})\b")
_WORD = re.compile(
    r"""(?:'[^']*' | \$'(?:\\.|[^'\\])*' | "[^"]*" | \\. | [^\s'"();`,])+""",
    re.VERBOSE,
)


def commands_in(text: str) -> list[str]:
    """Command lines in a text for a terminal.

    One ends with its line, or where ``;``, ``,``, a bracket or a backtick follows.
    """
    found = []
    for line in text.splitlines():
        for begin in _BEGIN.finditer(line):
            at = begin.start()
            while word := _WORD.match(line, at):
                end = at = word.end()
                if line[at : at + 1] == " ":
                    at += 1
            found.append(line[begin.start() : end])
    return found


class _Codes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "code":
            self._inside = True
            self.found.append("")
        if tag == "body":
            self.found += [value or "" for name, value in attrs if name == "data-why"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


def commands_on_page(page: str) -> list[str]:
    """Command lines of an HTML page or a guide: the contents of ``code``."""
    parser = _Codes()
    parser.feed(page)
    return [text for text in parser.found if _BEGIN.match(text)]


_BLOCK = re.compile(
    r"```text\n(.*?)```|((?:^ {4}[^\n]*\n|^\n)+)", re.DOTALL | re.MULTILINE
)


def pasted_from(markdown: str) -> list[str]:
    """What a reader pastes from a page, in its order: ``ingest`` lines of blocks.

    In a block with output, those behind the prompt; else all, with what is given to
    one on standard input.
    """
    found: list[str] = []
    for shown, indented in _BLOCK.findall(markdown):
        block = shown or textwrap.dedent(indented)
        lines = re.findall(r"^\$ (ingest .*)", block, re.MULTILINE)
        if not lines and block.lstrip().startswith("ingest "):
            is_one = "<<" in block
            lines = [block.strip()] if is_one else block.strip().splitlines()
        found += lines
    return found


def filled(line: str, values: Mapping[str, str]) -> str:
    """A command with values in the place of words such as ``FILE``."""
    return re.sub(
        rf"(?<=[ =])(?:{'|'.join(values)})(?= |$)",
        lambda word: values[word[0]],
        line,
    )


def words_of(lines: Iterable[str]) -> list[list[str]]:
    """The arguments that bash reads in each of some commands."""
    script = "ingest() { printf '%s\\0' \"$@\"; printf '\\1\\0'; }\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    found: list[list[str]] = [[]]
    for word in done.stdout.decode(errors="surrogateescape").split("\0")[:-1]:
        if word == "\1":
            found.append([])
        else:
            found[-1].append(word)
    return found[:-1]
