"""The runtimes of which running programs can be captured, a row for each.

The command line, the public interface and the list of running programs read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ingest.capture import node_processes
from ingest.capture.dotnet_processes import DOTNET
from ingest.capture.jvm_processes import JVM
from ingest.capture.processes import PROC
from ingest.capture.python_processes import PYTHON
from ingest.errors import CaptureError
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.capture import Captured
    from ingest.capture.processes import Finder, RunningProgram


class CaptureOptions(TypedDict, total=False):
    """Options of captures, each for some runtimes; see `Capturer.options`.

    Attributes:
        isolate: Dart: an isolate of the group to capture.
        target: Node.js, Chrome: the id of a target, or a part of its title or URL.
        start_inspector: Node.js: have a program without an inspector start one.
        numbers: Node.js, Chrome: whether to record the values of numbers.
        track_s: .NET: two dumps, and all collections in the so many seconds between.
        buffer_mib: .NET: size of the buffer in the program.
        all_objects: JVM: also unreachable objects.
        gzip: JVM: have the file compressed; implied by ``.gz``.
        mode: CPython: whether a copy of the program writes (``fork``), or the program
            itself (``stop``); ``auto`` copies if there is memory for it.
        values: CPython: whether to write the values of texts and numbers.
    """

    isolate: str | None
    target: str | None
    start_inspector: bool
    numbers: bool
    track_s: float | None
    buffer_mib: int
    all_objects: bool
    gzip: bool
    mode: Literal["auto", "fork", "stop"]
    values: bool


def _is_never(text: str) -> bool:
    del text
    return False


@dataclass(frozen=True, slots=True)
class Capturer:
    """How the programs of one runtime are captured.

    Attributes:
        name: As the command line names it.
        module: In this package; it is imported when it is needed. Its ``capture`` takes
            the program, the file, the options below, ``force``, ``timeout_s`` and
            ``progress``.
        options: Those that only it has.
        programs: All that run, by pid; from the folder of all processes. ``None`` where
            they cannot be listed.
        finder: How a program is found by its name; ``None`` where it has none.
        is_address: Whether a text is the address of such a program.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    programs: Callable[[Path], list[RunningProgram]] | None = None
    finder: Finder | None = None
    is_address: Callable[[str], bool] = _is_never

    def capture(self, wanted: str, output: Path | None, **options: Any) -> Captured:  # noqa: ANN401
        """Capture a program; see `module`.

        Raises:
            CaptureError: there is none, or it sends no complete dump.
        """
        found = import_module(f"ingest.capture.{self.module}")
        taken: Captured = found.capture(wanted, output, **options)
        return taken

    def running(self) -> list[RunningProgram]:
        """Its programs that run."""
        finder = self.finder
        programs = finder.programs if finder is not None else self.programs
        return programs(PROC) if programs is not None else []

    def has(self, wanted: str) -> bool:
        """Whether a program of that name or process id runs."""
        return any(
            wanted == str(one.pid)
            or (self.finder and wanted.lower() in self.finder.spellings(one.name))
            for one in self.running()
        )


CAPTURERS = {
    one.name: one
    for one in (
        Capturer("chrome", "javascript", ("target", "numbers")),
        Capturer("dart", "dart", ("isolate",), is_address=lambda text: "://" in text),
        Capturer("dotnet", "dotnet", ("track_s", "buffer_mib"), finder=DOTNET),
        Capturer("jvm", "jvm", ("all_objects", "gzip"), finder=JVM),
        Capturer(
            "node",
            "javascript",
            ("target", "start_inspector", "numbers"),
            programs=node_processes.programs,
            is_address=lambda text: ":" in text and "://" not in text,
        ),
        Capturer("python", "cpython", ("mode", "values"), finder=PYTHON),
    )
}


def capturer_of(wanted: str) -> Capturer:
    """What captures a running program: by its name, process id or address.

    Raises:
        CaptureError: there is no such program, or several are named so.
    """
    for one in CAPTURERS.values():
        if one.is_address(wanted):
            return one
    found = [one for one in CAPTURERS.values() if one.has(wanted)]
    if len(found) != 1:
        what = (
            "several runtimes have"
            if found
            else "no .NET, Java, Node.js or Python program is"
        )
        *names, last = CAPTURERS
        raise CaptureError(
            f"{what} {wanted!r}; {command('capture', 'list')} shows what is running, "
            f"and runtime chooses between {', '.join(names)} and {last}"
        )
    return found[0]
