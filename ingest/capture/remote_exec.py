"""What CPython tells debuggers about itself since 3.13 (PEP 768).

At the start of ``_PyRuntime``, which has its own ELF section, a table has the offsets
of fields in that build, such as those that tell how many interpreters there are, and
whether the program may be debugged. The tables of 3.13 to 3.15 are known; each minor
version has its own layout.

Source: CPython, Include/internal/pycore_debug_offsets.h, and "Remote debugging
attachment protocol" in its manual.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.capture.elf import PROC, section

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION = ".PyRuntime"
COOKIE = b"xdebugpy"

_FINAL = 0xF0
_MOST_INTERPRETERS = 10_000
_HEAD = struct.Struct("<8sQQ")
_COMMON = {"interpreters_head": 5, "id": 7, "next": 8}
_DEBUGGER = (
    "eval_breaker",
    "support",
    "enabled",
    "pending",
    "script_path",
    "script_path_size",
)


def _layout(thread_next: int, debugger: int) -> dict[str, int]:
    found = dict(_COMMON, threads_head=9, main=10)
    found |= {"thread_next": thread_next, "interp": thread_next + 1}
    return found | {name: debugger + at for at, name in enumerate(_DEBUGGER)}


LAYOUTS: Mapping[tuple[int, int], Mapping[str, int]] = {
    (3, 13): _COMMON,
    (3, 14): _layout(24, 89),
    (3, 15): _layout(24, 105),
}
"""The position of each field in the table, in units of 8 bytes, by version."""


@dataclass(frozen=True, slots=True)
class PythonRuntime:
    """What a CPython of version 3.13 or later tells about itself.

    Attributes:
        version: Major and minor version.
        is_free_threaded: Whether it is built without the interpreter's lock.
        interpreter_count: How many interpreters there are; 0 if that is not known.
        is_offered: Whether it runs scripts; ``None`` if an option or a variable of the
            program turns that off.
        interpreter: Address of the main interpreter's state.
        offsets: By field, what its table says; empty if the table is not known.
    """

    version: tuple[int, int]
    is_free_threaded: bool
    interpreter_count: int
    is_offered: bool | None
    interpreter: int
    offsets: Mapping[str, int]


class _Memory:
    def __init__(self, pid: int) -> None:
        self._path = PROC / str(pid) / "mem"

    def read(self, at: int, size: int) -> bytes:
        with self._path.open("rb", buffering=0) as memory:
            data = os.pread(memory.fileno(), size, at)
        if len(data) != size:
            raise OSError(f"only {len(data)} bytes")
        return data

    def word(self, at: int) -> int:
        return int.from_bytes(self.read(at, 8), "little")


def look(pid: int) -> PythonRuntime | None:
    """What a process tells; ``None`` before 3.13, and if it tells nothing.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    at = section(pid, SECTION)
    if at is None:
        return None
    memory = _Memory(pid)
    cookie, version, free_threaded = _HEAD.unpack(memory.read(at, _HEAD.size))
    minor = (version >> 24 & 0xFF, version >> 16 & 0xFF)
    if cookie != COOKIE or minor < (3, 13):
        return None
    layout = LAYOUTS.get(minor) if version & 0xF0 == _FINAL else None
    if layout is None or free_threaded:
        offered = None if minor >= (3, 14) and _is_refused(pid) else False
        return PythonRuntime(minor, bool(free_threaded), 0, offered, 0, {})
    offsets = {name: memory.word(at + 8 * place) for name, place in layout.items()}
    if max(offsets.values()) > 1 << 24:
        return PythonRuntime(minor, False, 0, False, 0, {})
    states: list[int] = []
    state = memory.word(at + offsets["interpreters_head"])
    while state and len(states) < _MOST_INTERPRETERS:
        states.append(state)
        state = memory.word(state + offsets["next"])
    main = next((s for s in states if memory.word(s + offsets["id"]) == 0), 0)
    if not main:
        return PythonRuntime(minor, False, len(states), False, 0, {})
    if "enabled" not in offsets:
        return PythonRuntime(minor, False, len(states), False, main, offsets)
    enabled = memory.read(main + offsets["enabled"], 4) == b"\1\0\0\0"
    return PythonRuntime(minor, False, len(states), enabled or None, main, offsets)


def _is_refused(pid: int) -> bool:
    """Whether the environment or the options of a process refuse, as text."""
    with (PROC / str(pid) / "environ").open("rb") as file:
        names = {entry.partition(b"=")[0] for entry in file.read().split(b"\0")}
    words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    option = re.compile(rb"(-\w*X)?disable-remote-debug(=.*)?")
    return b"PYTHON_DISABLE_REMOTE_DEBUG" in names or any(map(option.fullmatch, words))
