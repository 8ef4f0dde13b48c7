"""Dumps of a fleet in Neo4j: the same as from their files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.fleet.datasets import HEAVY
from ingest.fleet.questions import Fleet
from ingest.fleet.stored import FleetTables
from ingest.fleet.task import Job, try_dump
from ingest.fleet.workplace import FleetFolder
from ingest.server.embedded import target_of
from tests.conftest import embedded_only
from tests.dumps.fleet import write_fleet
from tests.integration.content import content
from tests.unit.fleet.test_fleet import add_in_process, sources_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.database.connection import Database
    from ingest.server.embedded import EmbeddedServer
    from tests.conftest import Ran

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loadable")
    write_fleet(folder / "in", 12, live=20)
    target = FleetFolder(folder / "fleet")
    target.prepare()
    heavy = tuple(dataset.name for dataset in HEAVY)
    for source in sources_in(folder / "in"):
        try_dump(source, Job(target.folder, heavy=heavy))
    target.publish()
    return target.folder


@pytest.mark.slow
def test_a_dump_of_a_fleet_is_the_same_in_neo4j(
    fleet: Path, database: Database
) -> None:
    """Load a dump from its file, then from the fleet, and compare."""
    (about,) = Fleet(fleet).choose(where="program = 'shop' AND version = '2.1'")
    name = "fleet-bolt"
    source = str(about["source"])
    Loader(Store(database), name=name, replace=True).load(source)
    expected = content(database, name)
    tables = FleetTables(FleetFolder(fleet), about)
    loader = Loader(Store(database), via=Via.BOLT, name=name, replace=True)
    receipt = loader.load_tables(tables, tables.identity, source)
    assert receipt.loaded
    assert receipt.object_count == about["object_count"]
    assert content(database, name) == expected
    again = Loader(Store(database)).load(source)
    assert (again.loaded, again.name) == (False, name)


@pytest.mark.deep
@embedded_only("a bulk load makes a new store")
def test_the_same_in_bulk(fleet: Path, own_server: EmbeddedServer) -> None:
    with connect(target_of(own_server.start()), server=own_server) as database:
        # The file's load goes past the server's tables, which a new store needs.
        (about,) = Fleet(fleet).choose(where="program = 'shop' AND version = '2.1'")
        source = str(about["source"])
        Loader(Store(database), name="file").load(source)
        expected = content(database, "file")
        tables = FleetTables(FleetFolder(fleet), about)
        loader = Loader(Store(database), via=Via.BULK, name="bulk", replace=True)
        assert loader.load_tables(tables, tables.identity, source).loaded
        assert content(database, "bulk") == expected


@pytest.mark.slow
def test_the_command_loads_what_is_chosen(
    fleet: Path, on_server: Callable[..., Ran]
) -> None:
    ingest, program = on_server, "program = 'maps'"
    code, _, err = ingest(
        "fleet", "load", str(fleet), "--where", program, "--limit", "2"
    )
    assert (code, "3 dumps are chosen" in err) == (2, True)
    code, out, _ = ingest("fleet", "load", str(fleet), "--where", program, "--json")
    assert code == 0
    receipts = json.loads(out)
    assert [receipt["loaded"] for receipt in receipts] == [True] * 3
    name = receipts[-1]["name"]
    code, out, _ = ingest("why", "Maps.Tile", "--dump", name)
    assert (code, "TileCache" in out) == (0, True)
    code, out, _ = ingest("fleet", "load", str(fleet), name)
    assert (code, "already loaded" in out) == (0, True)
    assert ingest("fleet", "load", str(fleet))[0] == 2
    small = fleet.parent / "small"
    add_in_process(fleet.parent / "in" / "auth", small)
    where = ("--where", "version = '2.0'")
    code, _, err = ingest("fleet", "load", str(small), *where)
    assert (code, "--read" in err, "Traceback" in err) == (1, True, False)
    code, out, _ = ingest("fleet", "load", str(small), *where, "--read", "--json")
    assert (code, json.loads(out)[0]["loaded"]) == (0, True)
    assert ingest("fleet", "load", str(fleet), "--where", "nonsense")[0] == 5
    assert ingest("fleet", "load", str(fleet), "host77")[0] == 9
