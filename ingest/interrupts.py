"""Ctrl-C ends every command within two seconds, whatever it is doing.

Python runs a signal handler between two instructions of the main thread only. A kernel
or a wait for another thread can keep that thread busy for a minute. So a thread of its
own learns of the signal at once, through the file descriptor that Python writes to. The
main thread gets `Interrupted` where it can, and cleans up on its way out. If it has not
ended after `GRACE_S`, or if Ctrl-C is pressed again, the thread performs the last
actions and ends the process.

Source: Python's manual, ``signal``, "Execution of Python signal handlers" and
``set_wakeup_fd``.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

GRACE_S = 0.7
"""For the main thread to end in order."""

EXIT_CODE = 130

_ACTIONS_S = 0.5
_ACTIONS: list[Callable[[], None]] = []
_CONSEQUENCES: list[str] = []
_SAYING = threading.Lock()
_WAKEUP: list[socket.socket] = []


class Interrupted(BaseException):
    """The user pressed Ctrl-C; not an `Exception`, so that nothing else catches it."""


def install() -> None:
    """Begin to watch for Ctrl-C; only a process of its own can do this."""
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)
    signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
    _WAKEUP.extend((ours, pythons))
    signal.signal(signal.SIGINT, _raise)
    threading.Thread(
        target=_watch, args=(ours,), name="interrupts", daemon=True
    ).start()


@contextmanager
def at_the_end(action: Callable[[], None]) -> Iterator[None]:
    """Have ``action`` performed if the process is ended within the block.

    Only for the case in which the block cannot clean up by itself. The action takes
    less than half a second, and runs on another thread.
    """
    _ACTIONS.append(action)
    try:
        yield
    finally:
        _ACTIONS.remove(action)


@contextmanager
def leaving(consequence: str) -> Iterator[None]:
    """Say ``consequence`` if Ctrl-C is pressed within the block."""
    _CONSEQUENCES.append(consequence)
    try:
        yield
    except Interrupted as error:
        error.args = error.args or (consequence,)
        raise
    finally:
        _CONSEQUENCES.remove(consequence)


@contextmanager
def handled_by(handler: Callable[[], None]) -> Iterator[None]:
    """Call ``handler`` for Ctrl-C, where that is the regular end of a command."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        handler()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def say(consequence: str = "") -> None:
    """Write the line about Ctrl-C to standard error, once."""
    if not _SAYING.acquire(blocking=False):
        return
    with suppress(OSError, ValueError):
        erase = "\r\033[K" if sys.stderr.isatty() else ""
        tail = f"; {consequence}" if consequence else ""
        sys.stderr.write(f"{erase}interrupted{tail}\n")
        sys.stderr.flush()


def _raise(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _ignore)  # not a second time, while this unwinds
    raise Interrupted


def _ignore(_signal: int, _frame: FrameType | None) -> None:
    pass


def _watch(wakeup: socket.socket) -> None:
    """Wait for Ctrl-C, then for the end; bring it about if it does not come."""
    while _signal_of(wakeup) is None:
        pass
    consequence = _CONSEQUENCES[-1] if _CONSEQUENCES else ""
    wakeup.settimeout(GRACE_S)
    with suppress(TimeoutError):
        wakeup.recv(1)
    actions = threading.Thread(target=_act, daemon=True)
    actions.start()
    actions.join(_ACTIONS_S)
    say(consequence)
    os._exit(EXIT_CODE)


def _signal_of(wakeup: socket.socket) -> int | None:
    """The next signal, if it is Ctrl-C and it ends the command."""
    number = wakeup.recv(1)[0]
    is_ours = signal.getsignal(signal.SIGINT) in (_raise, _ignore)
    return number if number == signal.SIGINT and is_ours else None


def _act() -> None:
    for action in reversed(_ACTIONS.copy()):
        with suppress(Exception):
            action()
