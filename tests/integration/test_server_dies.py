"""Kill -9 of the embedded server in mid-load: one line, nothing lost, right after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.pipeline import load
from ingest.server.embedded import target_of
from tests.conftest import embedded_only
from tests.dumps.gclog import large_gclog
from tests.integration.commands import output

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer

pytestmark = [
    pytest.mark.server,
    embedded_only("kills its own server, which only the embedded provider can start"),
]

OBJECTS, REFERENCES = 45_000, 110_000
IN_MID_LOAD = 21_000
"""More objects than the first batch writes."""


def test_a_server_killed_in_mid_load(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    path, small = tmp_path / "heap.gclog", tmp_path / "small.gclog"
    path.write_bytes(large_gclog(OBJECTS, REFERENCES))
    small.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    endpoint = own_server.start()
    with connect(target_of(endpoint)) as database:
        load(str(small), database)
        loading = subprocess.Popen(
            [sys.executable, "-m", "ingest", "load", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        written = 0
        while written < IN_MID_LOAD:
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

    # The next command starts the server again.
    listed = json.loads(output("list", "--json"))
    assert [dump["name"] for dump in listed] == ["small"]
    with connect(target_of(own_server.start())) as database:
        number = load(str(path), database).number
        ((objects, references),) = database.read(
            "MATCH (o:Object {dump: $dump}) RETURN count(o), "
            "sum(COUNT { (o)-[:REFERENCES]->(:Object) })",
            {"dump": number},
        )[1]
    assert (objects, references) == (OBJECTS, REFERENCES)
