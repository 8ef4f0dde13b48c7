"""Threads and modules of a dump of CPython."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a thread.

    Attributes:
        text: Text as CPython prints it in a traceback, shortened.
        locals: Names of local variables, and ids of the objects to which they refer.
    """

    text: str
    locals: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread and its frames, innermost first."""

    name: str
    frames: list[Frame]


@dataclass(frozen=True, slots=True)
class Module:
    """An entry of ``sys.modules``.

    Attributes:
        name: Its key.
        ident: Id of its value, usually a module.
        space: Id of the module's dict; 0 if the value is not a module.
    """

    name: str
    ident: int
    space: int
