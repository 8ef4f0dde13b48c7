"""Dumps of real programs of which something is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.answers.cases import Truth
from tests.bench.measure import INGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).parents[4] / "shared/samples"
_EVENTS, _SCREEN = "StarMiner.GameEvents", "StarMiner.LevelScreen"


def samples(folder: Path) -> Iterator[tuple[str, Path, list[Truth]]]:
    """Name, dump and right answers of each; ``folder`` is for what is written."""
    example = folder / "example.gclog"
    subprocess.run(
        [*INGEST, "example", "--force", str(example)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    yield "the example", example, [Truth(_SCREEN, _EVENTS)]
    idle = SAMPLES / "dartheap/sass.dartheap.xz"
    if not idle.exists():
        print(f"NOT RUN: the samples in {SAMPLES} are not at hand", file=sys.stderr)
        return
    # A compiler that waits for work: all that it has is the VM's.
    yield "idle Sass", idle, []
