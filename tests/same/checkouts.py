"""Two checkouts that are asked the same, and what differs in their answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tests.conftest import TEST_CACHE, share_jars

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = {"seconds", "loaded_at", "loading_since", "server", "uri"}
"""Keys that differ from run to run."""
UNSETTLED = {"cycles"}
"""Queries whose rows are some of several equal ones; which, depends on the store."""

WORKER = """
import contextlib, io, json, os, sys
from ingest.cli import main
asked, answers = sys.stdin, os.fdopen(os.dup(1), "w")
sys.stdin = io.StringIO()
for line in asked:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(json.loads(line))
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
    if not isinstance(code, int):
        sys.exit(code)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""

Answer = tuple[Any, Any, str]
"""Exit code, JSON or text of standard output, first line of the error."""


class Checkout:
    """A checkout that answers commands."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        share_jars(home)
        self._environment = os.environ | {
            "INGEST_HOME": str(home),
            "NUMBA_CACHE_DIR": str(TEST_CACHE / "kernels"),
            "INGEST_NEO4J_HEAP_MIB": "768",
            "INGEST_NEO4J_PAGECACHE_MIB": "128",
            "COLUMNS": "100",
        }
        self._worker = subprocess.Popen(
            [root / ".venv/bin/python", "-c", WORKER],
            cwd=root, env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, arguments: list[str]) -> None:
        """Have the worker run a command; `answer` waits for it."""
        assert self._worker.stdin is not None
        self._worker.stdin.write(json.dumps(self._own(arguments)) + "\n")
        self._worker.stdin.flush()

    def answer(self) -> Answer:
        assert self._worker.stdout is not None
        line = self._worker.stdout.readline()
        if not line:
            raise SystemExit(f"{self.root}: the worker has ended")
        return self._normal(*json.loads(line))

    def process(self, arguments: list[str]) -> Answer:
        """What a process of the command answers."""
        ran = subprocess.run(
            [self.root / ".venv/bin/ingest", *self._own(arguments)],
            cwd=self.root, env=self._environment, text=True, capture_output=True,
            check=False,
        )  # fmt: skip
        return self._normal(ran.returncode, ran.stdout, ran.stderr)

    def end(self) -> None:
        """Stop the server, if there is one, and the worker."""
        if self._worker.poll() is None:
            self.ask(["server", "stop"])
            self.answer()
            assert self._worker.stdin is not None
            self._worker.stdin.close()
        self._worker.wait()

    def _own(self, arguments: list[str]) -> list[str]:
        return [argument.replace("HOME", str(self.home)) for argument in arguments]

    def _normal(self, code: Any, out: str, err: str) -> Answer:
        out, err = (text.replace(str(self.home), "HOME") for text in (out, err))
        lines = [line for line in err.splitlines() if not line.startswith("compiling ")]
        try:
            said = json.loads(out)
        except ValueError:
            said = out
        return code, said, lines[0] if code and lines else ""


@dataclass
class Comparison:
    """Both checkouts, and what they have been asked.

    Attributes:
        checkouts: The other one, and this one.
        ignored: Keys and columns that may differ.
        left_out: What was not compared because of them, and how often.
    """

    checkouts: list[Checkout]
    ignored: frozenset[str]
    answers: int = 0
    differing: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def ask(self, *arguments: str) -> Any:
        """Compare what both say to a command; returns what this checkout said."""
        for checkout in self.checkouts:
            checkout.ask([*arguments])
        return self.note(arguments, [[*one.answer()] for one in self.checkouts])

    def process(self, *arguments: str) -> None:
        """The same with a process of each checkout."""
        self.note(arguments, [[*one.process([*arguments])] for one in self.checkouts])

    def export(self, dump: str, form: str) -> None:
        """Compare the files of an export, except for what is said in words."""
        arguments = ["export", dump, "HOME/out", "--for", form, "--json"]
        folders = [checkout.home / "out" for checkout in self.checkouts]
        for checkout, folder in zip(self.checkouts, folders, strict=True):
            shutil.rmtree(folder, ignore_errors=True)
            checkout.ask(arguments)
        answers = [[*checkout.answer()] for checkout in self.checkouts]
        for answer, folder, other in zip(answers, folders, folders[::-1], strict=True):
            answer[1] = {
                file.name: _content(file)
                for file in sorted(folder.glob("*"))
                if file.name != "README.md" and not _same(file, other / file.name)
            }
        self.note(arguments, answers)

    def note(self, asked: Sequence[str], answers: list[Any]) -> Any:
        """Count an answer; returns what this checkout wrote."""
        self.answers += 1
        if asked[0] == "query" and asked[1] in UNSETTLED:
            for answer in answers:
                if isinstance(answer[1], dict):
                    del answer[1]["rows"]
        found = self.values(answers[0], answers[1], "answer")
        self.differing += bool(found)
        for line in [f"DIFFERS: ingest {' '.join(asked)}", *found[:10]] * bool(found):
            print(line, flush=True)
        return answers[1][1]

    def is_ignored(self, name: str, how: str) -> bool:
        ignored = name.split(":")[0] in self.ignored
        self.left_out.update([f"{name} {how}"] * ignored)
        return ignored

    def values(self, old: Any, new: Any, where: str) -> list[str]:
        """What differs between two values of JSON."""
        found: list[str] = []
        if isinstance(old, dict) and isinstance(new, dict):
            for key in dict.fromkeys([*old, *new]):
                there = (key in old) + 2 * (key in new)
                how = ("", "gone", "added", "differs")[there]
                if key.split(":")[0] in TIMES or (there == 3 and old[key] == new[key]):
                    continue
                if not self.is_ignored(key, how):
                    at = f"{where}.{key}"
                    both = there == 3
                    found += (
                        self.values(old[key], new[key], at)
                        if both
                        else [f"{at}: {how}"]
                    )
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for row, (one, other) in enumerate(zip(old, new, strict=True)):
                if one != other:
                    found += self.values(one, other, f"{where}[{row}]")
        elif old != new:
            found.append(f"{where}: {str(old)[:300]!r} was, {str(new)[:300]!r} is")
        return found


def _same(file: Path, other: Path) -> bool:
    return other.exists() and file.read_bytes() == other.read_bytes()


def _content(path: Path) -> Any:
    """The columns of a table, those of CSV as text; else the text of a file."""
    header = path.with_name(path.name.rsplit("-", 1)[0] + "-header.csv")
    if path.suffix == ".parquet":
        table = pl.read_parquet(path)
    elif path.suffix == ".json":  # the manifest, with an id that is new each time
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return {key: found[key] for key in found if key != "export"}
    elif path.suffix != ".csv":
        return path.read_text("utf-8").splitlines()
    elif header.exists():  # of neo4j-admin, where it is a file of its own
        names = header.read_text("utf-8").strip().split(",")
        if path == header:
            return dict.fromkeys(names)
        table = pl.read_csv(
            path, infer_schema=False, has_header=False, new_columns=names
        )
    else:
        table = pl.read_csv(path, infer_schema=False)
    return {
        one.name: [str(one.dtype), len(one), *one.to_list()]
        for one in table.iter_columns()
    }
