"""The process that answers the questions, and that can be ended at any time.

A thread cannot be ended: a kernel, an endless file, or a server that sends one endless
record would hold it for ever. So the server has a process that knows the dumps, asks it
one question at a time, and ends it when a question takes too long, or when its client
goes or no longer wants the answer. The next question starts another process.

They talk through one pipe: the server sends the name of a tool and its arguments, the
process answers with `Said` messages, of which the last is ``ANSWER``, ``REFUSAL`` or
``FAULT``.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from enum import Enum
from multiprocessing import get_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from ingest.agents.tools import Tools

_EVERY_S = 0.5
"""Time between two notices of progress."""

_END_S = 5.0
"""Time for the system to end a killed process."""


class Said(Enum):
    """Kinds of messages from the process."""

    PROGRESS = "progress"
    """A line about its progress."""
    WITHIN = "within"
    """Seconds from now within which the answer must come."""
    ANSWER = "answer"
    """The text."""
    REFUSAL = "refusal"
    """The text of an `IngestError`."""
    FAULT = "fault"
    """The text of any other error."""


class Worker:
    """The process, as the server sees it.

    No two threads may use it at once.

    Args:
        tools: The tools that answer; they must not have been used before.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, tool: str, given: dict[str, object]) -> None:
        """Send a question; `hear` returns the messages about it.

        Args:
            tool: The name of a method of `Tools`.
            given: Its arguments by name.
        """
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self.give_up()
            context = get_context("spawn")
            self._pipe, its = context.Pipe()
            self._process = context.Process(
                target=_work, args=(its, self._tools), name="heaproots", daemon=True
            )
            self._process.start()
            its.close()
        self._pipe.send((tool, given))

    def hear(self) -> tuple[Said, Any]:
        """Wait for the next message of the process.

        Raises:
            IngestError: the process has ended.
        """
        pipe, process = self._pipe, self._process
        assert pipe is not None
        assert process is not None
        try:
            said: tuple[Said, Any] = pipe.recv()
        except (EOFError, OSError):
            process.join(_END_S)
            code = process.exitcode or 0
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise IngestError(
                f"the process that read the dump has ended ({how}); there may be too "
                "little memory for the dump"
            ) from None
        return said

    def give_up(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        self._pipe = None  # whoever still waits in `hear` closes it
        if process is not None:
            process.kill()
            process.join(_END_S)


def _work(pipe: Connection, tools: Tools) -> None:
    """Answer until the server goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    questions: SimpleQueue[tuple[str, dict[str, Any]]] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                questions.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)  # even in the middle of its work

    threading.Thread(target=listen, name="server", daemon=True).start()
    lock = threading.Lock()

    def say(kind: Said, what: object) -> None:
        with lock:
            pipe.send((kind, what))

    tools.within = lambda seconds: say(Said.WITHIN, seconds)
    while True:
        tool, given = questions.get()
        question = getattr(tools, tool)
        try:
            answer = question(**given, progress=_progress(say))
        except IngestError as error:
            say(Said.REFUSAL, str(error))
        except Exception as error:
            say(Said.FAULT, f"{type(error).__name__}: {error}")
        else:
            say(Said.ANSWER, answer)


def _progress(
    say: Callable[[Said, object], None],
) -> Callable[[str, int, int | None], None]:
    """A `Progress` that sends some of its reports, from any thread."""
    last_s = 0.0

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= _EVERY_S:
            last_s = now_s
            say(Said.PROGRESS, f"{stage}{f' {done / total:.0%}' if total else ''}")

    return progress
