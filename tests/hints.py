"""Commands in what the tool prints, found as a reader finds them; what prints them."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import textwrap
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple

from ingest.cli import COMMANDS, main
from ingest.readers.gclog.example import example_gclog
from ingest.words.command_line import quoted
from tests.dumps.fleet import write_fleet
from tests.dumps.hprof import OBJECT, jdk
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_BEGIN = re.compile(rf"\bingest (?:{'|'.join(COMMANDS)})\b")
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
        if "<<" in block:
            lines = [block.strip()]
        elif not lines:
            lines = re.findall(r"^ingest .*", block, re.MULTILINE)
        found += lines
    return found


def filled(line: str) -> str:
    """A command with values in the place of words such as ``FILE``."""
    return re.sub(
        rf"(?<=[ =])(?:{'|'.join(VALUES)})(?= |$)", lambda word: VALUES[word[0]], line
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


CONTEXT = "shop.OrderService$RequestContext"
ODD = "it's $HOME & more.gclog"

VALUES = {
    "FILE": "level16.gclog",
    "DUMP": "level16.gclog",
    "FIRST": "level8.gclog",
    "SECOND": "level16.gclog",
    "THIRD": "level24.gclog",
    "NAME": "dump",
    "QUESTION": "leaks",
    "TYPE": "LevelScreen",
    "ADDRESS": "0x1c1773",
    "DIR": "fleet",
    "'{}'": quoted("shop.OrderService$RequestContext"),
}
"""For what only the user can know."""


class Printed(NamedTuple):
    """A command, and what it is printed by."""

    line: str
    by: Sequence[str]


def ran(words: Sequence[str]) -> tuple[int, str]:
    """The exit code of a command, and all that it wrote."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(words)
        except SystemExit as exit_:
            return int(exit_.code or 0), out.getvalue()
    raise AssertionError("a command always exits")


def printed_by(folder: Path, commands: Iterable[Sequence[str]]) -> list[Printed]:
    """All commands that some commands print, or write into documents, each once.

    Args:
        folder: In which they run, and write their documents.
        commands: Their words.
    """
    found: dict[str, Printed] = {}
    known = _documents(folder)
    for words in commands:
        _, text = ran(words)
        is_page = words[0] == "browse"
        lines = commands_on_page(text) if is_page else commands_in(text)
        before, known = known, _documents(folder)
        texts = {path: path.read_text(encoding="utf-8") for path in known - before}
        for path, written in texts.items():
            is_page = path.suffix == ".html"
            lines += commands_on_page(written) if is_page else commands_in(written)
        for document in (text, *texts.values()):
            assert not _CODE.search(document), (words, _CODE.search(document))
        for line in lines:
            found.setdefault(line, Printed(line, words))
    return list(found.values())


_CODE = re.compile(
    r"<(?:function|class|module|(?:bound )?method|[\w.]+ object)\b[^>]* "
)
"""A value of Python where text was meant."""


def _documents(folder: Path) -> set[Path]:
    suffixes = (".html", ".md", ".txt", ".toml", ".yaml", ".yml", ".cypher", ".args")
    return {path for path in folder.rglob("*") if path.suffix in suffixes}


def write_dumps(folder: Path) -> None:
    """Write the dumps of which commands speak."""
    for levels in (8, 16, 24):
        text = example_gclog(levels)
        (folder / f"level{levels}.gclog").write_text(text, encoding="utf-8")
    shutil.copy(folder / "level24.gclog", folder / "example.gclog")
    shutil.copy(folder / "level16.gclog", folder / ODD)
    (folder / "shop.hprof").write_bytes(shop())
    (folder / "two.nettrace").write_bytes(two_dumps())
    write_fleet(folder / "dumps", 6)


def shop() -> bytes:
    """A Java program whose open requests pile up; an inner class, as many are."""
    dump = jdk()
    dump.cls(
        "shop/OrderService",
        0x3000,
        "java/lang/Object",
        statics={"open": (OBJECT, 0x20000)},
    )
    dump.cls("shop/OrderService$RequestContext", 0x3010, "java/lang/Object",
             {"body": OBJECT})  # fmt: skip
    dump.segment()
    contexts = [0x21000 + 0x100 * i for i in range(40)]
    dump.array(0x20000, "[Ljava/lang/Object;", contexts)
    for at in contexts:
        dump.obj(at, "shop/OrderService$RequestContext", body=at + 0x10000)
        dump.numbers(at + 0x10000, 8, b"x" * 200)
    return dump.bytes()


def two_dumps() -> bytes:
    """A trace with two heap dumps."""
    trace = NetTrace()
    for number in (3, 4):
        trace.start(number)
        trace.nodes([(0x100 * i, 16, 0x7000, 0) for i in range(1, number)])
        trace.end(number)
    return trace.file()
