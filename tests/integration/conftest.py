"""A server of a module's own, for tests that end it or make its store anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.server.embedded import EmbeddedServer
from ingest.settings import settings
from tests.conftest import share_jars

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("own-server")
    share_jars(folder)
    yield folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder))
        EmbeddedServer(settings()).stop()


@pytest.fixture
def module_home(_own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One home for a whole module, for a start takes its time; stopped at its end."""
    monkeypatch.setenv("INGEST_HOME", str(_own_home))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
    return _own_home
