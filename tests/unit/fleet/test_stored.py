"""Dumps of a fleet are chosen, and their tables are those of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.errors import IngestError, QueryError, UnknownDump
from ingest.fleet.datasets import HEAVY
from ingest.fleet.questions import Fleet
from ingest.fleet.stored import FleetTables, require_all
from ingest.fleet.task import Job, try_dump
from ingest.fleet.workplace import FleetFolder
from ingest.heap.identity import Identity
from ingest.heap.read_options import DEFAULTS
from ingest.tables.heap_tables import HeapTables
from ingest.tables.mapping import counts
from ingest.tables.schema import TABLES
from tests.dumps.fleet import write_fleet
from tests.heaps import measure
from tests.unit.fleet.test_fleet import sources_in

if TYPE_CHECKING:
    from pathlib import Path

ALL = tuple(dataset.name for dataset in HEAVY)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loadable")
    write_fleet(folder / "in", 12, live=20)
    target = FleetFolder(folder / "fleet")
    target.prepare()
    for number, source in enumerate(sources_in(folder / "in")):
        try_dump(source, Job(target.folder, heavy=ALL if number else ()))
    target.publish()
    return target.folder


@pytest.mark.slow
def test_tables_of_a_fleet_are_those_of_the_file(fleet: Path) -> None:
    for about in Fleet(fleet).choose(where="program <> 'auth'")[:3]:
        stored = FleetTables(FleetFolder(fleet), about)
        graph, metrics, sha256 = measure(str(about["source"]), DEFAULTS)
        read = HeapTables(graph, metrics)
        for entry in TABLES:
            rows = read.rows(entry.name)
            assert stored.rows(entry.name) == rows
            assert stored.absent(entry.name) >= (
                read.absent(entry.name) if rows else set()
            )
            found = stored.lazy(entry.name).collect()
            assert found.equals(read.lazy(entry.name).collect()), entry.name
            assert stored.part(entry.name, 1, 3).equals(found[1:3])
        assert counts(stored) == counts(read)
        assert stored.dump() == read.dump()
        assert stored.identity == Identity.of(sha256, graph.part)


def test_dumps_are_chosen_by_name_and_by_condition(fleet: Path) -> None:
    opened = Fleet(fleet)
    (first, *_) = opened.choose(where="program = 'maps' AND version = '2.1'")
    for name in ("source", "name", "dump_id"):
        assert opened.choose([str(first[name])])[0] == first
    assert opened.choose([str(first["source"])], "version = '1.0'") == []
    assert len(opened.choose(where="object_count > 0")) == 12
    with pytest.raises(UnknownDump):
        opened.choose(["host99"])
    with pytest.raises(QueryError, match="--where"):
        opened.choose(where="nonsense = 1")


def test_a_dump_without_its_objects_is_refused(fleet: Path) -> None:
    (about,) = Fleet(fleet).choose(where="len(large_datasets) = 0")
    with pytest.raises(IngestError, match="--table all"):
        require_all(about)
