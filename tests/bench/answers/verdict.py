"""Asking for suspects, and holding the first one against the truth."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.bench.answers.cases import Truth

_LONGEST_SENTENCE = 300


@dataclass(frozen=True)
class Asked:
    """A case, and what was answered.

    Attributes:
        truths: Answers that are right; none if nothing leaks.
        suspects: The answer.
        error: Why there is none.
        cuts: What `cuts_of` says of the cut of each suspect.
    """

    name: str
    format: str
    truths: list[Truth]
    suspects: list[dict[str, Any]]
    error: str = ""
    cuts: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        if self.error or not self.truths:
            # One that is named for its size alone is not said to leak.
            return not self.error and not any(one["signs"] for one in self.suspects)
        return any(self._agrees(truth) for truth in self.truths)

    def _agrees(self, truth: Truth) -> bool:
        if not self.suspects or self.suspects[0].get("type") != truth.type:
            return False
        if truth.words:
            return truth.words in (self.sentence or "")
        holder = self.suspects[0].get("holder")
        if truth.holder is None:
            holds = not holder or _is_of_runtime(holder)
        else:
            holds = holder == truth.holder
        named = truth.reference is None
        return holds and (named or self.suspects[0].get("reference") == truth.reference)

    @property
    def sentence(self) -> str | None:
        if not self.suspects:
            return None
        return str(self.suspects[0].get("sentence", ""))

    @property
    def sentence_is_good(self) -> bool:
        """Whether it is short and has the names that the suspect has."""
        first, text = self.suspects[0], self.sentence or ""
        if any(truth.words for truth in self.truths):
            return 0 < len(text) < _LONGEST_SENTENCE and self.passes
        names = [first.get("type"), first.get("holder"), first.get("reference")]
        return 0 < len(text) < _LONGEST_SENTENCE and all(
            simple(name) in text for name in names if name
        )

    def row(self) -> str:
        """One line of the table."""
        wanted = [
            f"{simple(truth.type)}, {truth.words}" if truth.words else _told(*truth[:3])
            for truth in self.truths[:1]
        ] or ["nothing"]
        more = f" (or {len(self.truths) - 1} more)" if len(self.truths) > 1 else ""
        if self.error:
            found = self.error
        elif self.suspects:
            one = self.suspects[0]
            found = _told(one.get("type"), one.get("holder"), one.get("reference"))
        else:
            found = "nothing"
        verdict = "pass" if self.passes else "MISS"
        return _line(self.name, self.format, verdict, wanted[0] + more, found)

    @staticmethod
    def heading() -> str:
        return _line("case", "format", "", "expected: type, holder, reference",
                     "first suspect")  # fmt: skip


def ask(name: str, written: str, path: Path, truths: list[Truth]) -> Asked:
    """Ask for the suspects of one dump."""
    found = answer([path])
    if isinstance(found, str):
        return Asked(name, written, truths, [], found)
    suspects = found.get("suspects", [])
    cuts = tuple(cuts_of(path, suspects))
    return Asked(name, written or found["format"], truths, suspects, cuts=cuts)


def cuts_line(cuts: Sequence[str]) -> str:
    """How many printed cuts free what is printed."""
    return f"{list(cuts).count('')} of {len(cuts)} printed cuts free what is printed"


def cuts_of(path: Path, suspects: Sequence[dict[str, Any]]) -> list[str]:
    """Give each printed cut back to ``what-if``.

    Returns:
        What is wrong with each; an empty text if it frees what is printed.
    """
    found = []
    for one in suspects:
        freed = _said("what-if", path, "--cut", one["cut"])
        if isinstance(freed, str):
            found.append(f"{one['cut']}: {freed}")
        else:
            got = freed["freed"]["bytes"]
            is_right = got == one["bytes"]
            found.append("" if is_right else f"{one['cut']}: {got} of {one['bytes']}")
    return found


def answer(paths: Sequence[Path]) -> dict[str, Any] | str:
    """Let ``ingest info`` read dumps, in this process; an error as text."""
    return _said("info", *paths)


def _said(*arguments: str | Path) -> dict[str, Any] | str:
    """What a command says as JSON, in this process; an error as text."""
    out, told = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            main([*map(str, arguments), "--json"])
    except SystemExit as end:
        if end.code:
            return (told.getvalue().splitlines() or [f"exit {end.code}"])[-1]
    except Exception as error:  # one that fails must not end the others
        return repr(error)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def _is_of_runtime(holder: str) -> bool:
    """Whether it is a type that no program declares."""
    return (
        holder.startswith(("System.", "dart:"))
        or "." not in re.split("[`[<]", holder)[0]
    )


def simple(name: str) -> str:
    """A type's name without its namespace or library and its arguments."""
    head = re.split("[`[]|(?<!^)<", name)[0]
    return head.rpartition("::")[2].rpartition(".")[2] + "[]" * name.endswith("[]")


def _told(*names: str | None) -> str:
    return ", ".join(simple(name) if name else "-" for name in names)


def _line(name: str, written: str, verdict: str, wanted: str, found: str) -> str:
    return f"{name:<17} {written:<12} {verdict:<5} {wanted:<60} {found}"
