"""The example dump, as the examples of the interface name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.readers.gclog.example import example_gclog

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``example.gclog`` and ``earlier.gclog``, which is current."""
    for name, levels in (("example", 24), ("earlier", 12)):
        text = example_gclog(levels).replace("\n", "\r\n")
        (tmp_path / f"{name}.gclog").write_text(text, encoding="utf-8", newline="")
    monkeypatch.chdir(tmp_path)
    return tmp_path
