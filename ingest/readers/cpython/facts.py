"""What a dump of CPython says of threads and modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a thread.

    Attributes:
        text: As CPython prints it in a traceback, shortened.
        locals: Names of local variables, and ids of what they refer to.
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
        ident: Id of what is under it, by custom a module.
        space: Id of its dict, 0 if it is no module.
    """

    name: str
    ident: int
    space: int
