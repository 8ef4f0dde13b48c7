"""The embedded Neo4j as a user meets it: real processes, a real database."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import neo4j
import psutil
import pytest

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer, Endpoint
from ingest.server.launch import free_port
from ingest.settings import settings
from tests.conftest import share_jars

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.server

START = """
from ingest.settings import settings
from ingest.server.embedded import EmbeddedServer
print(EmbeddedServer(settings()).start().pid)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, with the jars that the tests' cache may have already."""
    share_jars(tmp_path)
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "64")
    yield tmp_path
    EmbeddedServer(settings()).stop(silent)


@pytest.fixture
def server(home: Path) -> EmbeddedServer:
    assert home.is_dir()
    return EmbeddedServer(settings())


def _query(endpoint: Endpoint, text: str, password: str | None = None) -> list[object]:
    with neo4j.GraphDatabase.driver(
        endpoint.bolt_uri, auth=(endpoint.username, password or endpoint.password)
    ) as driver:
        records, _, _ = driver.execute_query(text, database_="neo4j")
        return [record[0] for record in records]


def test_start_ask_stop_and_start_again(server: EmbeddedServer) -> None:
    first = server.start(silent)
    assert _query(first, "CREATE (n:Kept {x: 1}) RETURN n.x") == [1]
    assert server.start(silent) == first, "a running server is returned"
    assert server.running() == first

    listening = {
        connection.laddr.ip
        for connection in psutil.Process(first.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert listening
    with pytest.raises(neo4j.exceptions.AuthError):
        _query(first, "RETURN 1", password="neo4j")
    assert first.password not in " ".join(psutil.Process(first.pid).cmdline())
    for name, mode in ((".", 0o700), ("password", 0o600), ("server.json", 0o600)):
        assert stat.S_IMODE((server.home / name).stat().st_mode) == mode, name

    assert server.stop(silent)
    assert "Stopped." in server.log_path.read_text()
    assert server.running() is None
    assert not psutil.pid_exists(first.pid)
    assert not server.stop(silent)

    second = server.start(silent)
    assert second.pid != first.pid
    assert (second.bolt_uri, second.password) == (first.bolt_uri, first.password)
    assert _query(second, "MATCH (n:Kept) RETURN n.x") == [1]


def test_two_commands_racing_start_one_server(server: EmbeddedServer) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", START], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [racer.communicate(timeout=180)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert said[0] == said[1]
    ours = [one for one in psutil.process_iter() if server._is_ours(one)]
    assert [one.pid for one in ours] == [int(said[0])]


def test_a_killed_server_and_a_wrong_state_file_are_survived(
    server: EmbeddedServer,
) -> None:
    first = server.start(silent)
    _query(first, "CREATE (:Kept {x: 2})")
    os.kill(first.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while server.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.running() is None

    second = server.start(silent)
    assert _query(second, "MATCH (n:Kept) RETURN n.x") == [2]

    # Its process is unknown now, and holds the store: it is found and replaced.
    (server.home / "server.json").write_text("{ not json")
    third = server.start(silent)
    assert third.pid != second.pid
    assert not psutil.pid_exists(second.pid)
    assert _query(third, "MATCH (n:Kept) RETURN n.x") == [2]


def test_a_command_killed_while_waiting_leaves_a_server_that_is_adopted(
    server: EmbeddedServer,
) -> None:
    racer = subprocess.Popen([sys.executable, "-c", START], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    state = None
    while time.monotonic() < deadline and (state is None or not state.pid):
        state = server.files.read_state()
        time.sleep(0.02)
    racer.kill()
    racer.wait()
    assert state is not None
    assert not state.ready
    assert server.start(silent).pid == state.pid


def test_a_server_that_cannot_start_says_why_and_is_gone(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object, **__: object) -> list[str]:
        return ["-XX:+NoSuchFlag"]

    with monkeypatch.context() as patch:
        patch.setattr("ingest.server.embedded.jvm_flags", wrong)
        with pytest.raises(EmbeddedError, match=r"exit 1.*NoSuchFlag.*console\.log"):
            server.start(silent)
    assert server.running() is None
    assert [one for one in psutil.process_iter() if server._is_ours(one)] == []
    assert _query(server.start(silent), "RETURN 1") == [1], "nobody is locked out"


def test_a_port_that_is_taken_after_we_looked_is_changed(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        stale = [other.getsockname()[1]]

        def looked_too_early(preferred: int, *, other_than: int = 0) -> int:
            return stale.pop() if stale else free_port(preferred, other_than=other_than)

        monkeypatch.setattr("ingest.server.embedded.free_port", looked_too_early)
        assert _query(server.start(silent), "RETURN 1") == [1]
        assert not stale
