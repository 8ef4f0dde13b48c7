"""Progress bars on a terminal's stderr; nothing in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Never

    from tqdm import tqdm

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
        """Take the open bar away."""
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
