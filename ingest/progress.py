"""How work tells its progress without printing.

Rooms below the command line take a `Progress` and call it; what it does with
the call (a bar on a terminal, nothing in a pipe) is the command line's.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A sink for the steps of long work."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Say that ``done`` of ``total`` units of ``stage`` are done.

        Args:
            stage: What is being done, a few words.
            done: Units so far; never falls within one stage.
            total: All units, or ``None`` where nobody knows yet.
        """


def silent(stage: str, done: int, total: int | None) -> None:
    """Progress that tells nobody."""
