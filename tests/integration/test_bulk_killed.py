"""Kill -9 of a bulk load at five points: the old store or the new one, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import psutil
import pytest

from ingest.database.connection import connect
from ingest.database.dump_list import list_dumps
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.server.embedded import target_of
from tests.conftest import CHECKOUT, embedded_only
from tests.dumps.gclog import large_gclog
from tests.waiting import is_tidy, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer

pytestmark = [
    pytest.mark.deep,
    pytest.mark.server,
    embedded_only("only the embedded server's store can be made anew"),
]

OBJECTS, REFERENCES = 2_000, 5_000

LOADER = """
import os, signal, sys
from ingest.database import loading
from ingest.__main__ import main
from ingest.database import bulk, importer
from ingest.server import embedded, home
from tests.quick import quick_flags

embedded.jvm_flags = quick_flags
point, *arguments = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), getattr(signal, os.environ["HOW"]))

def importing(started, arguments, on_share):
    def on_share_or_die(share):
        if share > 0.3:
            die()
        on_share(share)
    real_import(started, arguments, on_share_or_die)

def committed(files, folder):
    real_use(files, folder)
    die()

real_import, real_use = importer.StartedImport.run, home.Home.use_data
if point == "with import files written":
    importer.StartedImport.run = die
elif point == "while it imports":
    importer.StartedImport.run = importing
elif point == "with a store that is imported":
    embedded.EmbeddedServer.swap = die
elif point == "with the server on the new store":
    bulk.make_all = die
elif point == "with the new store made current":
    home.Home.use_data = committed
sys.argv = ["ingest", *arguments]
sys.exit(main())
"""


Counts = dict[str, tuple[int, int]]
SIZE = (OBJECTS, REFERENCES)
COUNT = """
MATCH (o:Object {dump: $dump})
RETURN count(o), sum(COUNT { (o)-[:REFERENCES]->(:Object) })
"""


def stored(server: EmbeddedServer) -> Counts:
    """Objects and references of each dump, as the next start finds them."""
    with connect(target_of(server.start())) as database:
        return {
            dump.name: cast(
                "tuple[int, int]", database.read(COUNT, {"dump": dump.number})[1][0]
            )
            for dump in list_dumps(database)
        }


def put(server: EmbeddedServer, path: Path, via: Via) -> None:
    with connect(target_of(server.start()), server=server) as database:
        Loader(Store(database), via=via).load(str(path))


def stop_in_bulk(point: str, how: signal.Signals, *arguments: str) -> None:
    stopped = subprocess.run(
        [sys.executable, "-c", LOADER, point, "load", "--via", "bulk", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "HOW": how.name},
        cwd=CHECKOUT,
        check=False,
        timeout=600,
    )
    code = -how if how is signal.SIGKILL else 128 + how
    assert stopped.returncode == code, stopped.stderr


@pytest.fixture(scope="module")
def heaps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dump that must survive, and one that is loaded in bulk."""
    folder = tmp_path_factory.mktemp("heaps")
    old, new = folder / "old.gclog", folder / "new.gclog"
    old.write_bytes(large_gclog(OBJECTS, REFERENCES))
    new.write_bytes(large_gclog(OBJECTS, REFERENCES, seed=2))
    return old, new


@pytest.mark.parametrize(
    ("point", "how", "is_there"),
    [
        ("with import files written", signal.SIGKILL, False),
        ("with a store that is imported", signal.SIGKILL, False),
        ("with the server on the new store", signal.SIGKILL, False),
        ("with the server on the new store", signal.SIGINT, False),
        ("with the server on the new store", signal.SIGTERM, False),
        ("with the new store made current", signal.SIGKILL, True),
    ],
)
def test_a_stop_leaves_the_old_store_or_the_new_one(
    own_server: EmbeddedServer,
    heaps: tuple[Path, Path],
    point: str,
    how: signal.Signals,
    is_there: bool,
) -> None:
    old, new = heaps
    put(own_server, old, Via.BOLT)

    stop_in_bulk(point, how, str(new))

    names = ("old", "new") if is_there else ("old",)
    assert stored(own_server) == dict.fromkeys(names, SIZE)


def importers(server: EmbeddedServer) -> list[psutil.Process]:
    mark = f"--report-file={server.home}"
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(part.startswith(mark) for part in process.info["cmdline"] or [])
    ]


def test_the_next_load_clears_up_and_succeeds(
    own_server: EmbeddedServer, heaps: tuple[Path, Path]
) -> None:
    server = own_server
    put(server, heaps[0], Via.BOLT)
    stop_in_bulk("while it imports", signal.SIGKILL, str(heaps[1]))
    if sys.platform == "linux":
        psutil.wait_procs(importers(server), timeout=10)
        assert importers(server) == [], "it ends with the load"
    assert list(server.home.glob("bulk-*"))
    assert stored(server) == {"old": SIZE}

    put(server, heaps[1], Via.BULK)

    assert stored(server) == {"old": SIZE, "new": SIZE}
    wait_until(lambda: is_tidy(server))

    def ours() -> list[list[str]]:
        return [
            process.info["cmdline"]
            for process in psutil.process_iter(["cmdline"])
            if any(str(server.home) in part for part in process.info["cmdline"] or [])
        ]

    wait_until(lambda: len(ours()) == 1)  # one server, and no importer
