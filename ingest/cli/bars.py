"""Progress on stderr if it is a terminal; almost nothing if it is a pipe.

A stage that takes half a second has a line. While it runs, the line is redrawn each
half second, whether the stage reports anything or not: a bar where it reports how much
is left, or else the time. Afterwards the line says what was done and how long it took.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ingest.words.text import human_bytes, human_seconds, printable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Never, Self

    from tqdm import tqdm

    from ingest.arrays.kernel_cache import Compilation

_DELAY_S = 0.5
"""A shorter stage has no line."""

_REDRAW_S = 0.5
_BYTES = ("read", "capture")
_COUNTED = {"write": "nodes and relationships"}
_UNEVEN = ("analyse",)
"""Stages whose steps take different times and say nothing about the rest."""

_PASSING = ("prepare", "ask", "load")
"""Stages that leave no line behind."""

_COMPILE = "compile native code"
_LABEL_WIDTH, _BAR_WIDTH = 12, 20


class TimeLeft:
    """Estimates when a stage ends, and whether the estimate is reliable.

    Each estimate assumes that the rest goes as fast as all before. It is reliable once
    the stage has run for some seconds, and three estimates in a row agree.
    """

    _LEAST_S, _EVERY_S, _TOLERANCE = 3.0, 1.0, 0.15

    def __init__(self) -> None:
        self._totals: list[float] = []
        self._last_s = 0.0

    def seconds(self, elapsed_s: float, share: float) -> float | None:
        """How long the rest will take; ``None`` while unknown.

        Args:
            elapsed_s: Time since the stage began.
            share: Share that is done, 0 to 1.
        """
        if share <= 0 or share >= 1 or elapsed_s < self._LEAST_S:
            return None
        total = elapsed_s / share
        if elapsed_s - self._last_s >= self._EVERY_S:
            self._totals = [*self._totals[-2:], total]
            self._last_s = elapsed_s
        agree = len(self._totals) == 3 and (
            max(self._totals) - min(self._totals) <= self._TOLERANCE * total
        )
        return total - elapsed_s if agree and total - elapsed_s >= 1 else None


class Stage:
    """One stage: how much of it is done, and its line of text."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.began = time.monotonic()
        self.done = 0
        self.total: int | None = None
        self._left = TimeLeft()

    @property
    def elapsed_s(self) -> float:
        """Time since it began."""
        return time.monotonic() - self.began

    @property
    def has_bar(self) -> bool:
        """Whether it reports how much is left."""
        return bool(self.total) and self.name not in _UNEVEN

    def detail(self) -> str:
        """The text after the name, or after the bar."""
        parts = []
        if self.name in _BYTES and self.done:
            whole = f" of {human_bytes(self.total)}" if self.total else ""
            parts.append(human_bytes(self.done) + whole)
        parts.append(human_seconds(self.elapsed_s, whole=True))
        if self.has_bar:
            left = self._left.seconds(self.elapsed_s, self.done / (self.total or 1))
            if left is not None:
                parts.append(f"about {human_seconds(left, whole=True)} left")
        return ", ".join(parts)

    def summary(self) -> str:
        """The line that remains."""
        amount = ""
        if self.name in _BYTES and self.done:
            amount = f"{human_bytes(self.done)} in "
        elif self.name in _COUNTED and self.done:
            amount = f"{self.done:,} {_COUNTED[self.name]} in "
        return f"{self.name:<{_LABEL_WIDTH}} {amount}{human_seconds(self.elapsed_s)}"


class _Screen:
    """The last line of the terminal, which shows the innermost stage."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._stages: list[Stage] = []
        self._bar: tqdm[Never] | None = None
        self._is_drawing = False

    def begin(self, stage: Stage) -> None:
        """Begin a stage, within the one that runs."""
        with self.lock:
            self.erase()
            self._stages.append(stage)
            if not self._is_drawing:
                self._is_drawing = True
                threading.Thread(target=self._draw_all, daemon=True).start()

    def report(self, done: int, total: int | None) -> None:
        """Note the progress of the outer stage."""
        stage = self._stages[0]
        stage.done, stage.total = max(done, stage.done), total

    def end(self, name: str, *, completed: bool = True) -> None:
        """End a stage; its line stays."""
        with self.lock:
            ended = [stage for stage in self._stages if stage.name == name]
            if not ended:
                return
            self.erase()
            self._stages.remove(ended[-1])
            long = ended[-1].elapsed_s >= _DELAY_S
            if completed and long and name not in _PASSING:
                _write(f"{ended[-1].summary()}\n")

    def _draw_all(self) -> None:
        """Redraw the line until no stage is left; runs on a thread of its own."""
        while True:
            time.sleep(_REDRAW_S)
            with self.lock:
                if not self._stages:
                    self._is_drawing = False
                    return
                if self._stages[-1].elapsed_s >= _DELAY_S:
                    self._draw(self._stages[-1])

    def _draw(self, stage: Stage) -> None:
        from tqdm import tqdm

        detail = stage.detail().replace("{", "{{").replace("}", "}}")
        name = f"{stage.name:<{_LABEL_WIDTH}}"
        shape = f"{name} {detail}"
        if stage.has_bar:
            width = _BAR_WIDTH if len(name) == _LABEL_WIDTH else _BAR_WIDTH // 2
            shape = f"{name} {{percentage:3.0f}} % |{{bar:{width}}}| {detail}"
        done = min(stage.done, stage.total) if stage.total else stage.done
        if self._bar is None:
            self._bar = tqdm(
                initial=done,
                total=stage.total,
                file=sys.stderr,
                leave=False,
                dynamic_ncols=True,
                bar_format=shape,
            )
        bar = self._bar
        bar.bar_format, bar.total = shape, stage.total
        bar.n = done
        bar.refresh()

    def erase(self) -> None:
        """Erase the line, until it is drawn again."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


SCREEN = _Screen()


class Bars:
    """A `Progress` that shows the stages of a command on a terminal.

    It shows at once that the command prepares its work.
    """

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage = ""

    def __enter__(self) -> Self:
        self("prepare", 0, None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(completed=kind is None)

    def close(self, *, completed: bool = True) -> None:
        """End the stage that runs, so that the terminal can be written to."""
        if self._stage:
            SCREEN.end(self._stage, completed=completed)
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """See `ingest.progress.Progress`."""
        if self._shown:
            self._show(stage, done, total)

    def _show(self, stage: str, done: int, total: int | None) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            SCREEN.begin(Stage(stage))
        SCREEN.report(done, total)


class CompilationNotice:
    """Says that kernels are compiled: a stage on a terminal, or else one line.

    Kernels are compiled at their first call, in any thread, one inside another. The
    line is written once per version and its libraries, since the others are meanwhile
    compiled in the background.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_said = False
        self._open_count = 0

    def __call__(self, compilation: Compilation) -> None:
        """Take note of one kernel."""
        shown = sys.stderr.isatty()
        with self._lock:
            if not self._is_said:
                self._is_said = True
                self._say(compilation.obstacle, shown=shown)
            self._open_count += -1 if compilation.is_done else 1
            if not shown:
                return
            if compilation.is_done and not self._open_count:
                SCREEN.end(_COMPILE, completed=False)
            elif not compilation.is_done and self._open_count == 1:
                SCREEN.begin(Stage(_COMPILE))

    def _say(self, obstacle: str, *, shown: bool) -> None:
        from ingest.arrays.precompile import is_first

        if obstacle:
            # In each run, since what cannot be stored is compiled again.
            notice(
                "compiling native code (up to 30 seconds in each run, as it cannot be "
                f"stored: {obstacle})"
            )
        elif is_first() and not shown:
            notice("compiling native code (once per version, up to 30 seconds)")


def notice(text: str) -> None:
    """Write a line to stderr that is neither progress nor an error."""
    with SCREEN.lock:
        SCREEN.erase()
        _write(f"{printable(text)}\n")


def _write(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
