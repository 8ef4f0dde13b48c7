"""Ctrl-C in a load: it ends at once, and what it left is removed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from ingest.server.embedded import EmbeddedServer
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only
from tests.integration.commands import counted, output

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    embedded_only("the home of the embedded server is looked at"),
    pytest.mark.usefixtures("own_home"),
]

LIMIT_S = 2.0
CLEAN_S = 180.0
MOMENTS = 10

LOADER = """
import os, signal, sys
from ingest.__main__ import main
from ingest.cli import bars
from ingest.database import bolt

bolt.BATCH_ROWS = 500
begin = bars.Bars.__call__

def report(self, stage, done, total):
    begin(self, stage, done, total)
    if stage == "write" and done > 1_500:
        os.kill(os.getpid(), signal.SIGINT)

bars.Bars.__call__ = report
main()
"""


def leftovers(server: EmbeddedServer) -> list[str]:
    """What is in the store or beside it, but of no ready dump."""
    answer = json.loads(output("query", str(server.home / "all.cypher"), "--json"))
    folders = [*server.home.glob("bulk-*"), *server.files.stale_data()]
    return [
        *(folder.name for folder in folders),
        *(
            str(row)
            for row in answer["rows"]
            if row["state"] != "ready" or row["objects"]
        ),
    ]


def wait_until_clean(server: EmbeddedServer) -> float:
    """Seconds until nothing is left."""
    (server.home / "all.cypher").write_text(
        "OPTIONAL MATCH (d:Dump) WHERE d.state <> 'ready' "
        "OPTIONAL MATCH (o:Object) WHERE NOT EXISTS {(:Dump {number: o.dump, "
        "state: 'ready'})} RETURN coalesce(d.state, 'ready') AS state, "
        "count(o) AS objects",
        encoding="utf-8",
    )
    begun = time.monotonic()
    while left := leftovers(server):
        assert time.monotonic() - begun < CLEAN_S, left
        time.sleep(0.5)
    return time.monotonic() - begun


@pytest.mark.deep
def test_a_load_that_is_interrupted_while_it_writes(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    dump = tmp_path / "heap.gclog"
    write_heap(dump, 2_500, 6_000)
    small = tmp_path / "small.gclog"
    write_heap(small, 100, 200)
    output("load", str(small))

    done = subprocess.run(
        [sys.executable, "-c", LOADER, "load", str(dump), "--via", "bolt"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == (
        "interrupted; this dump was not loaded; what was written of it is being removed"
    )
    wait_until_clean(own_server)
    output("load", str(dump), "--via", "bolt")
    assert counted("heap", tmp_path) == {"objects": 2_500, "references": 6_000}


@pytest.mark.deep
@pytest.mark.parametrize("way", ["bolt", "bulk"])
def test_ctrl_c_at_ten_moments(
    own_server: EmbeddedServer, tmp_path: Path, way: str
) -> None:
    """Prints a table; pytest shows it with ``-s``."""
    dump, small = tmp_path / "heap.gclog", tmp_path / "small.gclog"
    write_heap(dump, 300_000, 750_000)
    write_heap(small, 100, 200)
    output("load", str(small))
    command = [sys.executable, "-m", "ingest", "load", str(dump), "--via", way]
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - begun
    output("drop", "heap")
    wait_until_clean(own_server)

    seconds = []
    for moment in range(MOMENTS):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        time.sleep(whole * (moment + 0.5) / (MOMENTS + 1))
        begun = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate()
        seconds.append(time.monotonic() - begun)
        line = said.splitlines()[-1]
        left = wait_until_clean(own_server)
        sys.stdout.write(
            f"{way} {whole * (moment + 0.5) / (MOMENTS + 1):5.1f} s: ended after "
            f"{seconds[-1]:.2f} s, clean after {left:.1f} s: {line}\n"
        )
        assert process.returncode == 130
        assert line.startswith("interrupted")

    assert max(seconds) < LIMIT_S
    assert {dump["name"] for dump in json.loads(output("list", "--json"))} == {"small"}
