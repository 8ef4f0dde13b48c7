"""Dumps of real programs, which lie beside the checkout where there are some."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "shared/samples"
MISSING = "dumps of real programs: they are not beside this checkout"


def needs(*samples: Path) -> pytest.MarkDecorator:
    """Skips tests of samples that are not there."""
    is_missing = not all(sample.exists() for sample in samples)
    return pytest.mark.skipif(is_missing, reason=MISSING)
