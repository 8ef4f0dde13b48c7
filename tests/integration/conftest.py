"""A server of their own, for tests that end it or make its store anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.database.dump_list import list_dumps
from ingest.database.store import Store
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.system.settings import settings
from tests.conftest import share_jars, start_quickly, take_any_ports
from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("own-server")
    share_jars(folder)
    note_use(f"Neo4j {settings().neo4j_version}")
    yield folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder))
        EmbeddedServer(settings()).stop()


@pytest.fixture
def own_home(_own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One home for all of them, for a first start takes its time."""
    take_any_ports(monkeypatch)
    start_quickly(monkeypatch)
    monkeypatch.setenv("INGEST_HOME", str(_own_home))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
    return _own_home


@pytest.fixture
def own_server(own_home: Path) -> EmbeddedServer:
    """Its server, running on an empty database."""
    assert own_home.is_dir()
    server = EmbeddedServer(settings())
    with connect(target_of(server.start()), server=server) as database:
        for dump in list_dumps(database):
            Store(database).drop(dump.name)  # with the tables it has stored
    with connect(target_of(server.start())) as database:  # which may have a new store
        database.run("MATCH (n) DETACH DELETE n")
    return server
