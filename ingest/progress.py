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

        Args:
            stage: Name of the stage, a few words.
            done: Units done so far; never decreases within one stage.
            total: Number of units, or ``None`` if unknown.
        """


def silent(stage: str, done: int, total: int | None) -> None:
    """Ignore the report."""
