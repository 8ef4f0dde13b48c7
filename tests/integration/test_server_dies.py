"""Kill -9 of the embedded server in mid-load: one line, nothing lost, right after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.database.connection import connect
from ingest.server.embedded import EmbeddedServer
from ingest.server.target import Target
from ingest.settings import settings
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only, share_jars
from tests.integration.commands import counted, ingest, output

pytestmark = [
    pytest.mark.server,
    embedded_only("kills its own server, which only the embedded provider can start"),
]


def test_a_server_killed_in_mid_load(home: Path, tmp_path: Path) -> None:
    share_jars(home)
    path = tmp_path / "heap.gclog"
    write_heap(path, 60_000, 150_000)
    small = tmp_path / "small.gclog"
    small.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    server = EmbeddedServer(settings())
    try:
        endpoint = server.start()
        assert ingest("load", str(small)).returncode == 0
        loading = subprocess.Popen(
            [sys.executable, "-m", "ingest", "load", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        target = Target(endpoint.bolt_uri, "neo4j", endpoint.password, "neo4j")
        with connect(target) as database:
            deadline = time.monotonic() + 120
            written = 0
            while written < 21_000:
                assert loading.poll() is None, "the load was done before the kill"
                assert time.monotonic() < deadline
                _, rows = database.read("MATCH (o:Object) RETURN count(o)", {})
                written = int(str(rows[0][0]))
        os.kill(endpoint.pid, signal.SIGKILL)
        out, err = loading.communicate(timeout=120)

        assert loading.returncode == 6
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1

        listed = ingest("list", "--json")
        assert [dump["name"] for dump in json.loads(listed.stdout)] == ["small"]
        again = ingest("load", str(path), "--json")
        assert again.returncode == 0, again.stderr
        (receipt,) = json.loads(again.stdout)
        (dump,) = json.loads(output("query", "dump", "--json"))
        assert (dump["object_count"], dump["reference_count"]) == (60_000, 150_000)
        found = counted(receipt["name"], tmp_path)
        assert found == {"objects": 60_000, "references": 150_000}
    finally:
        server.stop()
