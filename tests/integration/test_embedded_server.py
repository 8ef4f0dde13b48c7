"""The embedded Neo4j as a user meets it: real processes, a real database.

One server's life, from a first start that fails to a clean stop. A start takes
10 to 20 seconds, so each of them is a test of several things.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import neo4j
import psutil
import pytest

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer
from ingest.server.launch import free_port
from ingest.server.process import alive
from ingest.server.target import Endpoint
from ingest.system.settings import settings
from tests.conftest import CHECKOUT, share_jars, start_quickly, take_any_ports
from tests.deep import PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.server

START = """
import os
os.environ["LC_ALL"] = "C"
from ingest.system.settings import settings
from ingest.server import embedded
from tests.quick import quick_flags
embedded.jvm_flags = quick_flags
embedded._BOLT_PORT = embedded._HTTP_PORT = 0
print(embedded.EmbeddedServer(settings()).start().pid)
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedServer]:
    """A home with a difficult name, and the jars that the tests' cache may have."""
    is_ascii = sys.getfilesystemencoding() == "ascii"
    home = tmp_path / ("home" if is_ascii else "höme") / "\\new with spaces"
    share_jars(home)
    take_any_ports(monkeypatch)
    start_quickly(monkeypatch)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("INGEST_HOME", str(home))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "64")
    server = EmbeddedServer(settings())
    yield server
    server.stop(silent)


def _query(endpoint: Endpoint, text: str, password: str | None = None) -> list[object]:
    with neo4j.GraphDatabase.driver(
        endpoint.bolt_uri, auth=(endpoint.username, password or endpoint.password)
    ) as driver:
        records, _, _ = driver.execute_query(text, database_="neo4j")
        return [record[0] for record in records]


def _runs(endpoint: Endpoint) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return alive(psutil.Process(endpoint.pid))
    return False


@pytest.mark.slow
def test_the_life_of_a_server(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail_to_start(server, monkeypatch)
    first = _start_beside_a_taken_port(server, monkeypatch)
    assert _query(first, "CREATE (n:Stored {x: 1}) RETURN n.x") == [1]
    _check_that_it_is_private(server, first)
    _check_that_queries_reach_nothing_else(server, first)
    assert server.files.has_users(), "the store is not in its home"

    _kill(server, first)
    second = _start_by_two_commands(server)
    assert second.pid != first.pid
    assert (second.bolt_uri, second.password) == (first.bolt_uri, first.password)
    assert _query(second, "MATCH (n:Stored) RETURN n.x") == [1]

    if PROFILE == "deep":
        second = _adopt_what_a_killed_command_started(server, second)
        assert _query(second, "MATCH (n:Stored) RETURN n.x") == [1]

    assert server.stop(silent)
    assert "Stopped." in server.log_path.read_text()
    assert server.running() is None
    assert not _runs(second)
    assert not server.stop(silent)


def _fail_to_start(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says why, is gone, and does not lock out the next start."""

    def wrong(*_: object, **__: object) -> list[str]:
        return ["-XX:+NoSuchFlag"]

    with monkeypatch.context() as patch:
        patch.setattr("ingest.server.embedded.jvm_flags", wrong)
        with pytest.raises(EmbeddedError, match=r"exit 1.*NoSuchFlag.*console\.log"):
            server.start(silent)
    assert server.running() is None
    assert [one for one in psutil.process_iter() if server._is_ours(one)] == []


def _start_beside_a_taken_port(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> Endpoint:
    """A port that was free when we looked is taken when it listens."""
    with socket.socket() as other, monkeypatch.context() as patch:
        other.bind(("127.0.0.1", 0))
        other.listen()
        stale = [other.getsockname()[1]]

        def looked_too_early(preferred: int, *, other_than: int = 0) -> int:
            return stale.pop() if stale else free_port(preferred, other_than=other_than)

        patch.setattr("ingest.server.embedded.free_port", looked_too_early)
        started = server.start(silent)
        assert not stale
    assert server.start(silent) == started, "a running server is returned"
    assert server.running() == started
    return started


def _check_that_it_is_private(server: EmbeddedServer, endpoint: Endpoint) -> None:
    process = psutil.Process(endpoint.pid)
    listening = {
        connection.laddr.ip
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert listening
    with pytest.raises(neo4j.exceptions.AuthError):
        _query(endpoint, "RETURN 1", password="neo4j")
    assert endpoint.password not in " ".join(process.cmdline())
    for name, mode in ((".", 0o700), ("password", 0o600), ("server.json", 0o600)):
        assert stat.S_IMODE((server.home / name).stat().st_mode) == mode, name


def _check_that_queries_reach_nothing_else(
    server: EmbeddedServer, endpoint: Endpoint
) -> None:
    secret = server.home / "password"
    (server.home / "import" / "x.csv").write_text("a,b")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        other.settimeout(0)
        for url in (
            secret.as_uri(),
            "file:///x.csv",
            f"http://127.0.0.1:{other.getsockname()[1]}/x",
            f"http://localhost:{other.getsockname()[1]}/x",
        ):
            with pytest.raises(neo4j.exceptions.ClientError):
                _query(endpoint, f"LOAD CSV FROM '{url}' AS line RETURN line")
        with pytest.raises(BlockingIOError):
            other.accept()
    for _ in range(4):
        with pytest.raises(neo4j.exceptions.AuthError):
            _query(endpoint, "RETURN 1", password="wrong-password")
    assert _query(endpoint, "RETURN 1") == [1], "locked out"
    address = urlsplit(endpoint.http_url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=5)
    connection.request("GET", "/", headers={"Origin": "http://evil.test"})
    allowed = connection.getresponse().headers["Access-Control-Allow-Origin"]
    connection.close()
    assert allowed in (None, endpoint.http_url)


def _kill(server: EmbeddedServer, endpoint: Endpoint) -> None:
    os.kill(endpoint.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while server.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.running() is None


def _of_any_folder() -> dict[str, str]:
    """Environment of a Python that starts: 3.11 reads .pth files by the locale's code.

    In a folder with an umlaut it ends at once by the locale C, UTF-8 mode or not.
    """
    return {**os.environ, "LC_ALL": "C.UTF-8"}


def _start_by_two_commands(server: EmbeddedServer) -> Endpoint:
    """At the same moment: one server."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", START],
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=_of_any_folder(),
        )
        for _ in range(2)
    ]
    printed = [racer.communicate(timeout=180)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert printed[0] == printed[1]
    ours = [one for one in psutil.process_iter() if server._is_ours(one)]
    assert [one.pid for one in ours] == [int(printed[0])]
    return server.start(silent)


def _adopt_what_a_killed_command_started(
    server: EmbeddedServer, running: Endpoint
) -> Endpoint:
    """Beside one whose process is unknown: it holds the store, and is replaced."""
    (server.home / "server.json").write_text("{ not json")
    starter = subprocess.Popen(
        [sys.executable, "-c", START],
        stdout=subprocess.DEVNULL,
        cwd=CHECKOUT,
        env=_of_any_folder(),
    )
    deadline = time.monotonic() + 60
    state = None
    while time.monotonic() < deadline and (state is None or not state.pid):
        state = server.files.read_state()
        time.sleep(0.02)
    starter.kill()
    starter.wait()
    assert state is not None
    assert not state.ready
    adopted = server.start(silent)
    assert adopted.pid == state.pid != running.pid
    assert not _runs(running)
    return adopted
