"""Ctrl-C ends every command within two seconds, whatever it is doing.

SIGTERM and SIGHUP (the terminal was closed) do the same.

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
"""Time for the main thread to end in order."""

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]
_ACTIONS_S = 0.5
_ACTIONS: list[Callable[[], None]] = []
_CONSEQUENCES: list[str] = []
_RAISED: list[Interrupted] = []
_HOLDERS: list[None] = []
_SAYING = threading.Lock()
_WAKEUP: list[socket.socket] = []


class Interrupted(BaseException):
    """The user pressed Ctrl-C; not an `Exception`, so that nothing else catches it.

    Attributes:
        exit_code: Exit code of the process, as in shells: 128 plus the signal's number.
    """

    exit_code = 128 + signal.SIGINT


def install() -> None:
    """Begin to watch for the signals; only a program may do this, not a library."""
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)
    signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
    _WAKEUP.extend((ours, pythons))
    for number in _SIGNALS:
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise)  # not if nohup has it ignored
    sys.unraisablehook = _say_unraisable
    threading.Thread(
        target=_watch, args=(ours,), name="interrupts", daemon=True
    ).start()


@contextmanager
def at_the_end(action: Callable[[], None]) -> Iterator[None]:
    """Perform ``action`` if the process is ended within the block.

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
    """Print ``consequence`` if Ctrl-C is pressed within the block."""
    _CONSEQUENCES.append(consequence)
    try:
        yield
    except Interrupted as error:
        error.args = error.args or (consequence,)
        raise
    finally:
        _CONSEQUENCES.remove(consequence)


@contextmanager
def kept() -> Iterator[None]:
    """Raise the interruption even if cleaning up after it fails.

    Interrupted in the middle of a message, a library may not be able to close its
    connection, and its error would take the place of ours. An extension in C may even
    forget why something that it called has failed.
    """
    try:
        yield
    except Exception as error:
        context: BaseException | None = error
        while context is not None and not isinstance(context, Interrupted):
            context = context.__context__
        if context is None and not _RAISED:
            raise
        raise context or _RAISED[-1] from None


@contextmanager
def held() -> Iterator[None]:
    """Delay the interruption until the block ends, which must be soon.

    For imports of extensions in C: they print what is raised in what they import, and
    fail with an error of their own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which is not interrupted
        return
    _HOLDERS.append(None)
    try:
        yield
    finally:
        _HOLDERS.pop()
        if _RAISED and not _HOLDERS:
            raise _RAISED[-1]


@contextmanager
def handled_by(handler: Callable[[], None]) -> Iterator[None]:
    """Call ``handler`` for Ctrl-C, if that is the regular end of a command."""

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


def uninstall() -> None:
    """Let the signals end the process at once, since its work is done."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (_raise, _ignore):
            signal.signal(number, signal.SIG_DFL)
    if sys.unraisablehook is _say_unraisable:
        sys.unraisablehook = sys.__unraisablehook__
    _RAISED.clear()


def _raise(number: int, _frame: FrameType | None) -> None:
    for one in _SIGNALS:  # no second time while this one unwinds
        if signal.getsignal(one) is _raise:
            signal.signal(one, _ignore)
    interrupted = Interrupted()
    interrupted.exit_code = 128 + number
    _RAISED.append(interrupted)
    if not _HOLDERS:
        raise interrupted


def _say_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Report errors that nothing can catch, except the interruption.

    Such as in what C calls. It is lost then, and the other thread ends the process.
    """
    if not isinstance(unraisable.exc_value, Interrupted):
        sys.__unraisablehook__(unraisable)


def _ignore(_signal: int, _frame: FrameType | None) -> None:
    pass


def _watch(wakeup: socket.socket) -> None:
    """Wait for Ctrl-C, then for the end of the process; end it if it goes on."""
    while (number := _signal_of(wakeup)) is None:
        pass
    consequence = _CONSEQUENCES[-1] if _CONSEQUENCES else ""
    wakeup.settimeout(GRACE_S)
    with suppress(TimeoutError):
        wakeup.recv(1)
    actions = threading.Thread(target=_act, daemon=True)
    actions.start()
    actions.join(_ACTIONS_S)
    say(consequence)
    os._exit(128 + number)


def _signal_of(wakeup: socket.socket) -> int | None:
    """The next signal, if it ends the command."""
    number = wakeup.recv(1)[0]
    ends = number in _SIGNALS and signal.getsignal(number) in (_raise, _ignore)
    return number if ends else None


def _act() -> None:
    for action in reversed(_ACTIONS.copy()):
        with suppress(Exception):
            action()
