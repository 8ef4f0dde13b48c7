"""Commands to a running JVM, over the socket that ``jcmd`` and ``jmap`` use too.

The socket is ``/tmp/.java_pidN``, where N is the process id that the JVM sees; in a
container, ``/tmp`` is that of the container. A JVM opens it when it gets SIGQUIT while
a file ``/tmp/.attach_pidN`` of its user exists. Without that file SIGQUIT makes it
print its threads, and a program that does not catch the signal is ended by it: so the
process must have loaded the JVM and must catch the signal, and it is held by a file
descriptor meanwhile, so that no other process can get its id.

A command is a version, a name and three arguments, each ended by a zero. The reply is
a line with a number, 0 for success, and a text. A JVM accepts its own user and, in
newer versions, root; root connects as the user of the JVM.

Source: HotSpot, ``attachListener_linux.cpp`` or ``attachListener_posix.cpp``, and
``VirtualMachineImpl.java`` of the module jdk.attach.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.jvm_processes import LIBRARY
from ingest.capture.processes import (
    LOOK,
    PROC,
    check_listener,
    check_socket,
    exists,
    has_mapped,
    number_within,
    status_of,
)
from ingest.errors import CaptureError
from ingest.system import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = b"1"
ARGUMENTS = 3
_TICK_S = 0.1
_STARTING_S = 2.0
_LONGEST_REPLY = 1 << 22
_SIGQUIT_BIT = 1 << (signal.SIGQUIT - 1)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a JVM replies to a command.

    Attributes:
        code: 0 for success.
        text: The output of the command.
    """

    code: int
    text: str


@contextmanager
def acting_as(pid: int, proc: Path = PROC) -> Iterator[None]:
    """Root becomes the user of a process within the block; others stay who they are."""
    if os.geteuid() != 0:
        yield
        return
    user, group = effective_id(pid, "Uid", proc), effective_id(pid, "Gid", proc)
    before = os.getegid()
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before)


def effective_id(pid: int, field: str, proc: Path = PROC) -> int:
    """The effective user (``Uid``) or group (``Gid``) of a process.

    Raises:
        CaptureError: it has ended.
    """
    words = status_of(pid, field, proc)
    if len(words) < 2:
        raise _ended(pid)
    return int(words[1])


def execute(
    pid: int,
    command: str,
    *arguments: str,
    timeout_s: float,
    while_waiting: Callable[[], object] = lambda: None,
    proc: Path = PROC,
) -> Reply:
    """Have a JVM execute a command.

    Args:
        pid: The process, of which `jvm_processes.find` says that it is a JVM.
        command: Such as ``dumpheap``, ``inspectheap`` or ``jcmd``.
        arguments: At most `ARGUMENTS`.
        timeout_s: How long to wait for an answer, or for ``while_waiting`` to return
            something else than before.
        while_waiting: Called several times a second.
        proc: The folder of all processes.

    Raises:
        CaptureError: it cannot be reached, or does not answer.
    """
    words = [*arguments, *[""] * (ARGUMENTS - len(arguments))]
    request = b"".join(
        word + b"\0" for word in (VERSION, *(os.fsencode(w) for w in (command, *words)))
    )
    with _connected(pid, timeout_s, proc) as connection:
        try:
            connection.sendall(request)
            received = _received(connection, timeout_s, while_waiting)
        except TimeoutError as error:
            raise CaptureError(
                f"the JVM has not answered for {timeout_s:g} s: it is stopped, or "
                "needs more time: --timeout"
            ) from error
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise CaptureError(
                f"connection to the JVM lost ({why}); it may have ended"
            ) from error
    code, _, text = received.decode("utf-8", "replace").partition("\n")
    if not code.strip().lstrip("-").isdigit():
        raise CaptureError(
            "the JVM closed the connection without an answer; it is ending, or does "
            "not accept this user"
        )
    return Reply(int(code), text)


def _received(
    connection: socket.socket, timeout_s: float, while_waiting: Callable[[], object]
) -> bytes:
    """All that arrives until the other end closes the connection."""
    received, seen = bytearray(), while_waiting()
    until = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        while True:
            if waiting.select(_TICK_S):
                piece = connection.recv(1 << 16)
                if not piece or len(received) > _LONGEST_REPLY:
                    return bytes(received)
                received += piece
                until = time.monotonic() + timeout_s
            now = while_waiting()
            if now != seen:
                seen, until = now, time.monotonic() + timeout_s
            if time.monotonic() > until:
                raise TimeoutError


@contextmanager
def _connected(pid: int, timeout_s: float, proc: Path) -> Iterator[socket.socket]:
    """A connection to the socket of a JVM, which opens it first if necessary."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        if not _connect(connection, pid, proc):
            _open(connection, pid, timeout_s, proc)
        yield connection


def _connect(connection: socket.socket, pid: int, proc: Path) -> bool:
    """Connect if the JVM has opened its socket."""
    path = temporary_folder(pid, proc) / f".java_pid{number_within(pid, proc)}"
    try:
        with acting_as(pid, proc):
            check_socket(path, pid)
            connection.connect(os.fspath(path))
        check_listener(connection, path, pid)
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except TimeoutError as error:
        raise CaptureError(
            f"process {pid} does not accept a connection: it is stopped, or busy with "
            "another tool; try again"
        ) from error
    except PermissionError as error:
        raise CaptureError(
            f"process {pid} belongs to another user; run this as that user, or as root"
        ) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CaptureError(f"{path} cannot be reached ({why})") from error
    return True


def _open(connection: socket.socket, pid: int, timeout_s: float, proc: Path) -> None:
    """Have a JVM open its socket, and connect.

    Raises:
        CaptureError: it does not, or must not be sent the signal.
    """
    number = number_within(pid, proc)
    path = temporary_folder(pid, proc) / f".attach_pid{number}"
    until = time.monotonic() + timeout_s
    with _held(pid) as process:
        _check_catches(pid, proc)
        with interrupts.at_the_end(lambda: path.unlink(missing_ok=True)):
            try:
                with acting_as(pid, proc):
                    # Not through a link that somebody else has put there.
                    how = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
                    os.close(os.open(path, how, 0o600))
                wait_s = 0.02
                signal.pidfd_send_signal(process, signal.SIGQUIT)
                while not _connect(connection, pid, proc):
                    if time.monotonic() > until:
                        raise CaptureError(
                            f"process {pid} has not opened its attach socket within "
                            f"{timeout_s:g} s: it is stopped, busy, or does not allow "
                            "it; try again, or a longer --timeout"
                        )
                    time.sleep(wait_s)
                    wait_s = min(2 * wait_s, 0.5)
                    if not exists(pid):
                        raise _ended(pid)
            except ProcessLookupError as error:
                raise _ended(pid) from error
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise CaptureError(f"{path} cannot be written ({why})") from error
            finally:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


@contextmanager
def _held(pid: int) -> Iterator[int]:
    """A file descriptor of a process, which stays that process's."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError as error:
        raise _ended(pid) from error
    try:
        yield handle
    finally:
        os.close(handle)


def _check_catches(pid: int, proc: Path) -> None:
    """Check that SIGQUIT does a process no harm; a JVM that starts gets some time.

    Raises:
        CaptureError: it is not a JVM, or does not catch the signal.
    """
    until = time.monotonic() + _STARTING_S
    while not (has_mapped(pid, LIBRARY, proc) and _catches(pid, proc)):
        if time.monotonic() > until:
            raise CaptureError(
                f"process {pid} does not catch SIGQUIT and would be ended by it: it "
                "was started with -Xrs, or is just starting or ending"
            )
        time.sleep(_TICK_S)


def _catches(pid: int, proc: Path) -> bool:
    words = status_of(pid, "SigCgt", proc)
    return bool(words) and bool(int(words[0], 16) & _SIGQUIT_BIT)


def temporary_folder(pid: int, proc: Path = PROC) -> Path:
    """The ``/tmp`` of a process, seen from here."""
    return proc / str(pid) / "root" / "tmp"


def _ended(pid: int) -> CaptureError:
    return CaptureError(f"process {pid} has ended; {LOOK}")
