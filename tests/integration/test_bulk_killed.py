"""Kill -9 of a bulk load at five points: the old store or the new one, whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from ingest.server.embedded import EmbeddedServer
from ingest.settings import settings
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only
from tests.integration.commands import counted, output

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    embedded_only("only the embedded server's store can be made anew"),
    pytest.mark.usefixtures("own_home"),
]

OBJECTS, REFERENCES = 5_000, 12_500
DEEP = pytest.mark.deep
"""Each stop starts three servers: the quick suite has the three that come last, when
the store is about to change, and a load after one in the middle of the import."""

LOADER = """
import os, signal, sys
from ingest import pipeline
from ingest.__main__ import main
from ingest.database import bulk
from ingest.server import embedded, home

point, *arguments = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), getattr(signal, os.environ["HOW"]))

def importing(server, work, data, arguments, on_share, progress):
    def on_share_or_die(share):
        if share > 0.3:
            die()
        on_share(share)
    real_import(server, work, data, arguments, on_share_or_die, progress)

def committed(files, folder):
    real_use(files, folder)
    die()

real_import, real_use = bulk.run_import, home.Home.use_data
if point == "with import files written":
    bulk.run_import = die
elif point == "while it imports":
    bulk.run_import = importing
elif point == "with a store that is imported":
    embedded.EmbeddedServer.swap = die
elif point == "with the server on the new store":
    bulk._apply = die
elif point == "with the new store made current":
    home.Home.use_data = committed
sys.argv = ["ingest", *arguments]
sys.exit(main())
"""


def names() -> set[str]:
    return {dump["name"] for dump in json.loads(output("list", "--json"))}


def stop_in_bulk(point: str, how: signal.Signals, *arguments: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", LOADER, point, "load", "--via", "bulk", *arguments],
        capture_output=True,
        env={**os.environ, "HOW": how.name},
        check=False,
        timeout=300,
    ).returncode


@pytest.mark.parametrize(
    ("point", "how", "is_there"),
    [
        pytest.param(*("with import files written", signal.SIGKILL, False), marks=DEEP),
        pytest.param(*("while it imports", signal.SIGKILL, False), marks=DEEP),
        ("with a store that is imported", signal.SIGKILL, False),
        ("with the server on the new store", signal.SIGKILL, False),
        pytest.param(
            *("with the server on the new store", signal.SIGINT, False), marks=DEEP
        ),
        ("with the new store made current", signal.SIGKILL, True),
    ],
)
def test_a_stop_leaves_the_old_store_or_the_new_one(
    point: str, how: signal.Signals, is_there: bool, tmp_path: Path
) -> None:
    # Arrange: one dump that must survive
    old, new = tmp_path / "old.gclog", tmp_path / "new.gclog"
    write_heap(old, OBJECTS, REFERENCES)
    write_heap(new, OBJECTS, REFERENCES, seed=2)
    output("load", str(old), "--via", "bolt")

    # Act
    code = stop_in_bulk(point, how, str(new), "--name", "new")

    # Assert
    assert code == (130 if how is signal.SIGINT else -signal.SIGKILL)
    whole = {"objects": OBJECTS, "references": REFERENCES}
    assert names() == ({"old", "new"} if is_there else {"old"})
    for name in names():
        assert counted(name, tmp_path) == whole
    if is_there:
        output("drop", "new")
        assert names() == {"old"}


def test_the_next_load_clears_up_and_succeeds(tmp_path: Path) -> None:
    new = tmp_path / "new.gclog"
    write_heap(new, OBJECTS, REFERENCES, seed=3)
    server = EmbeddedServer(settings())
    stop_in_bulk("while it imports", signal.SIGKILL, str(new))
    assert list(server.home.glob("bulk-*"))

    output("load", str(new), "--via", "bulk")

    assert counted("new", tmp_path) == {"objects": OBJECTS, "references": REFERENCES}
    assert list(server.home.glob("bulk-*")) == []
    assert server.files.stale_data() == []
    ours = [
        process.cmdline()
        for process in psutil.process_iter()
        if any(str(server.home) in part for part in process.cmdline())
    ]
    assert len(ours) == 1, "one server, and no importer"
