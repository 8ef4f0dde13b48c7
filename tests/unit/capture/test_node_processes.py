"""Which programs of Node.js run, and what tells those of one name apart."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import psutil
import pytest

from ingest.capture import javascript
from ingest.capture.inspector import InspectorAddress
from ingest.capture.javascript import capture
from ingest.capture.node_processes import script
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Ran


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["node", "/srv/shop/main.js", "--port", "1"], "main.js"),
        (["node", "--inspect=0", "-r", "./hook.js", "main.mjs"], "main.mjs"),
        (["node", "-e", "setInterval(() => {}, 1)"], ""),
        (["node"], ""),
        (["deno", "run", "-A", "main.ts"], "main.ts"),
    ],
)
def test_the_script_of_a_command_line(words: list[str], expected: str) -> None:
    assert script(words) == expected


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[int]]:
    """Two processes of a program called node, with one script."""
    shell = shutil.which("bash")
    assert shell is not None
    node, worker = tmp_path / "node", tmp_path / "worker.js"
    shutil.copy(shell, node)
    worker.write_text("read line\n", encoding="utf-8")
    both = [subprocess.Popen([node, worker], stdin=subprocess.PIPE) for _ in range(2)]
    yield [one.pid for one in both]
    for one in both:
        one.communicate(b"\n", timeout=60)


@pytest.mark.parametrize(
    ("name", "said"),
    [("deno", "deno run --inspect"), ("bun", r"v8\.writeHeapSnapshot\(\)")],
)
def test_other_runtimes_are_told_what_they_need(
    name: str, said: str, tmp_path: Path
) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    shutil.copy(shell, tmp_path / name)
    one = subprocess.Popen([tmp_path / name, "-c", "read l"], stdin=subprocess.PIPE)
    try:
        with pytest.raises(CaptureError, match=said):
            capture(str(one.pid), start_inspector=True)
        assert one.poll() is None
    finally:
        one.communicate(b"\n", timeout=60)


def test_a_port_that_another_inspector_has_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    shutil.copy(shell, tmp_path / "node")
    monkeypatch.setattr(javascript, "_PORT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = "trap : USR1; echo ready; while ! read -t 60 l; do :; done"
        command = [str(tmp_path / "node"), "-c", code, f"--inspect-port={port}"]
        one = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
        try:
            with pytest.raises(CaptureError, match=f"listens on port {port}; end that"):
                capture(str(one.pid), start_inspector=True)
            assert one.poll() is None
        finally:
            one.communicate(b"\n", timeout=60)


@pytest.mark.parametrize("is_told", [True, False])
def test_servers_of_the_program_itself_are_asked_nothing(*, is_told: bool) -> None:
    asked: list[int] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.server.server_port)  # type: ignore[attr-defined]
            body = b'{"Browser": "node.js/v22"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ExitStack() as open_servers:
        server = HTTPServer(("127.0.0.1", 0), Answers)
        open_servers.callback(server.server_close)
        process = psutil.Process()
        before = javascript._sockets(process)
        inspector = HTTPServer(("127.0.0.1", 0), Answers)
        open_servers.callback(inspector.server_close)
        for one in (server, inspector):
            Thread(target=one.serve_forever, daemon=True).start()
            open_servers.callback(one.shutdown)
        port = inspector.server_port
        how = (port, ()) if is_told else (0, before)
        place = javascript._listening(process, *how)

    assert place == InspectorAddress("127.0.0.1", port)
    assert asked == [port]


def test_programs_of_one_name_are_told_apart(
    ingest: Callable[..., Ran], workers: list[int]
) -> None:
    _, text, _ = ingest("capture", "list")
    _, as_json, _ = ingest("capture", "list", "--json")

    heading = ["runtime", "pid", "program", "memory", "runs", "for"]
    assert text.splitlines()[0].split() == heading
    assert text.endswith("\nnext  ingest capture RUNTIME PID\n")
    lines = [one for one in text.splitlines() if "worker.js" in one]
    for pid, line in zip(workers, lines, strict=True):
        assert line.split()[:3] == ["node", str(pid), "worker.js"]
        assert re.search(r" MiB +[0-9.]+ s$", line)
    named = [one for one in json.loads(as_json) if one["name"] == "worker.js"]
    assert [one["pid"] for one in named] == workers
    assert {one["runtime"] for one in named} == {"node"}
    assert all(one["resident_bytes"] > 1 << 20 for one in named)
