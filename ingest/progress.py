"""The protocol by which long work reports its progress.

Lower layers call a `Progress`; the command line decides how to show it (a bar on a
terminal, nothing in a pipe).
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callback for the progress of long work."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Report that ``done`` of ``total`` units of ``stage`` are done.

        Any thread may call it, such as one that reads ahead, but never two at once.

        Args:
            stage: Name of the stage, a few words.
            done: Units done so far; never decreases within one stage.
            total: Number of units, or ``None`` if unknown.
        """


def silent(stage: str, done: int, total: int | None) -> None:
    """Ignore the report."""


class OneStage:
    """A `Progress` that reports several stages as one.

    Args:
        progress: Receives the one stage.
        stage: Its name.
        total: The sum of the units of all stages.
    """

    def __init__(self, progress: Progress, stage: str, total: int) -> None:
        self._progress = progress
        self._stage = stage
        self._total = total
        self._before = 0
        self._inner, self._done = "", 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """See `Progress`."""
        if stage != self._inner:
            self._before += self._done
            self._inner = stage
        self._done = done
        self._progress(self._stage, self._before + done, self._total)
