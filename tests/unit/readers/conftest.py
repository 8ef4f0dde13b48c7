from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., HeapGraph]:
    """A function that reads bytes as a dump."""

    def reads(
        content: bytes | str,
        *,
        strict: bool = False,
        fold: Fold = Fold.AUTO,
        part: int | None = None,
    ) -> HeapGraph:
        path = tmp_path / "dump"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with open_source(str(path)) as source:
            return read(source, ReadOptions(strict, fold, part), silent)

    return reads
