"""Progress as a bar, in a notebook or a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.progress import Progress


def bar() -> Progress:
    """A bar for each stage, drawn by ``tqdm.auto``.

    Returns:
        A value for the parameter ``progress`` of all functions.
    """
    from tqdm.auto import tqdm

    bars: dict[str, Any] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in bars:
            for old in bars.values():
                old.close()
            bars.clear()
            bars[stage] = tqdm(total=total, desc=stage, leave=False)
        one = bars[stage]
        one.total = total
        one.update(done - one.n)
        if total is not None and done >= total:
            one.close()

    return report
