"""Colours on a terminal, if its user wants them.

``NO_COLOR`` turns them off; ``FORCE_COLOR`` turns them on if the output is not a
terminal. An empty value counts as not set. The text is complete without colours.
"""

from __future__ import annotations

import os
from typing import TextIO

_BOLD, _RED, _DIM, _END = "\x1b[1m", "\x1b[1;31m", "\x1b[2m", "\x1b[0m"


def are_wanted(stream: TextIO) -> bool:
    """Whether text written to ``stream`` may have colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def bold(text: str, stream: TextIO) -> str:
    """Return ``text`` in bold, if ``stream`` may have colours."""
    return f"{_BOLD}{text}{_END}" if text and are_wanted(stream) else text


def dim(text: str, stream: TextIO) -> str:
    """Return ``text`` dimmed, if ``stream`` may have colours."""
    return f"{_DIM}{text}{_END}" if text and are_wanted(stream) else text


def red(text: str, stream: TextIO) -> str:
    """Return ``text`` in bold red, if ``stream`` may have colours."""
    return f"{_RED}{text}{_END}" if text and are_wanted(stream) else text
