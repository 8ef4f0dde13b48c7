"""What the tests' process inherits, and what it leaves: neither changes a result."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import FrameType
    from typing import Any

for _name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "COLUMNS", "LINES"):
    os.environ.pop(_name, None)  # tests say how wide a terminal is, and its colours

_PYTHONS_OWN = [getattr(signal, name, None) for name in ("SIGPIPE", "SIGXFSZ")]
"""Python ignores them itself, and gives them back to the processes it starts."""


@pytest.fixture(scope="session", autouse=True)
def _started_in_a_terminal() -> None:
    """Have processes of tests begin as in a terminal, whoever started the tests.

    ``nohup`` and ``&`` leave some signals ignored, and a process passes on what it
    ignores. It does not pass on a function, not even one that does nothing: so this
    process is spared as before, and what it starts is not. The mask decides who reads
    the files of tests about permissions.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN and number not in _PYTHONS_OWN:
            signal.signal(number, _spare)
    os.umask(0o022)


def _spare(_signal: int, _frame: FrameType | None) -> None:
    pass


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """End what a test has started and, because it failed, has not ended."""
    with _remembered() as started:
        try:
            yield
        except BaseException:
            for process in started:
                with suppress(ProcessLookupError):
                    process.kill()
                    process.wait(10)
                for pipe in (process.stdin, process.stdout, process.stderr):
                    if pipe is not None:
                        with suppress(OSError):
                            pipe.close()
            raise


@contextmanager
def _remembered() -> Iterator[list[subprocess.Popen[Any]]]:
    """Processes that are started within the block."""
    started: list[subprocess.Popen[Any]] = []
    start: Callable[..., None] = subprocess.Popen.__init__

    def remember(self: subprocess.Popen[Any], *given: object, **named: Any) -> None:  # noqa: ANN401
        start(self, *given, **named)
        started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", remember)
        yield started
