"""Progress on a terminal's stderr; next to nothing in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from ingest.text import printable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Never

    from tqdm import tqdm

    from ingest.kernel_cache import Compilation

_BYTES = ("read", "capture")
_DELAY_SECONDS = 0.5


class Bars:
    """A `Progress` that draws one bar a stage; the last stage's bar is open.

    A stage that is done within half a second shows nothing.
    """

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage = ""
        self._bar: tqdm[Never] | None = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Erase the open bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """See `ingest.progress.Progress`."""
        if not self._shown:
            return
        bar = self._bar
        if stage != self._stage or bar is None:
            from tqdm import tqdm

            self.close()
            self._stage = stage
            self._bar = bar = tqdm(
                desc=stage,
                total=total,
                file=sys.stderr,
                leave=False,
                delay=_DELAY_SECONDS,
                unit="B" if stage in _BYTES else "",
                unit_scale=True,
                unit_divisor=1024 if stage in _BYTES else 1000,
                dynamic_ncols=True,
            )
        if total is not None and bar.total != total:
            bar.total = total
        bar.update(max(done - bar.n, 0))


class CompilationNotice:
    """Says that kernels are compiled: one line, and on a terminal a clock below it.

    Kernels are compiled at their first call, in any thread, one inside another. So
    the line appears wherever the cache lacks one, and only then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_said = False
        self._open_count = 0
        self._stopped = threading.Event()

    def __call__(self, compilation: Compilation) -> None:
        """Take note of one kernel."""
        with self._lock:
            if not self._is_said:
                self._is_said = True
                self._say(compilation.obstacle)
            self._open_count += -1 if compilation.is_done else 1
            if not sys.stderr.isatty():
                return
            if compilation.is_done and not self._open_count:
                self._stopped.set()
            elif not compilation.is_done and self._open_count == 1:
                self._stopped = threading.Event()
                threading.Thread(
                    target=_draw_clock, args=(self._stopped,), daemon=True
                ).start()

    def _say(self, obstacle: str) -> None:
        line = "compiling native code on first use (once per version, up to 30 seconds)"
        if obstacle:
            line = (
                "compiling native code (up to 30 seconds in each run, as it cannot be "
                f"stored: {printable(obstacle)})"
            )
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _draw_clock(stopped: threading.Event) -> None:
    """Show how long it has taken, until ``stopped``; then erase that."""
    began = time.monotonic()
    while not stopped.wait(1):
        sys.stderr.write(f"\rcompiling: {time.monotonic() - began:.0f} s\033[K")
        sys.stderr.flush()
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()
