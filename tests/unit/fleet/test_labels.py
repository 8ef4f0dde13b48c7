"""Labels can be corrected after dumps were added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.errors import IngestError
from ingest.fleet.labels import relabel
from ingest.fleet.questions import Fleet, question
from ingest.fleet.sources import LabelPattern, find_sources
from ingest.fleet.task import Job, try_dump
from ingest.fleet.workplace import FleetFolder
from tests.dumps.fleet import write_fleet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fleet(tmp_path: Path) -> FleetFolder:
    """Two dumps that were added without labels."""
    write_fleet(tmp_path / "in", 2, live=5)
    folder = FleetFolder(tmp_path / "fleet")
    folder.prepare()
    for source in find_sources([str(tmp_path / "in")]):
        try_dump(source, Job(folder.folder))
    folder.publish(lambda batches: None)
    return folder


def programs(fleet: FleetFolder) -> set[tuple[object, object]]:
    answer = Fleet(fleet.folder).ask(question("programs"))
    return {(row["program"], row.get("version")) for row in answer.dicts()}


def test_labels_are_corrected_without_reading(fleet: FleetFolder) -> None:
    assert programs(fleet) == {("unknown", None)}
    pattern = LabelPattern("{service}/{version}/{host}-{time}.gclog")
    result = relabel(fleet, pattern, None)
    assert (result.changed_count, result.dump_count) == (2, 2)
    found = programs(fleet)
    assert all(version for _, version in found)
    assert "unknown" not in {program for program, _ in found}
    (program, version) = next(iter(found))
    only = Fleet(fleet.folder, str(program)).choose(where=f"version = '{version}'")
    assert {row["program"] for row in only} == {program}
    assert relabel(fleet, pattern, None).changed_count == 0


def test_a_list_corrects_one_label_and_leaves_the_others(
    fleet: FleetFolder, tmp_path: Path
) -> None:
    relabel(fleet, LabelPattern("{service}/{version}/{host}-{time}.gclog"), None)
    before = Fleet(fleet.folder).choose(where="true")
    listed = tmp_path / "labels.csv"
    listed.write_text(f"source,version\n{before[0]['source']},9.9\n")
    assert relabel(fleet, None, listed).changed_count == 1
    after = {row["source"]: row for row in Fleet(fleet.folder).choose(where="true")}
    assert after[before[0]["source"]]["version"] == "9.9"
    assert after[before[0]["source"]]["host"] == before[0]["host"]
    assert after[before[1]["source"]]["version"] == before[1]["version"]


def test_what_matches_no_dump_is_refused(fleet: FleetFolder, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="none of 2 files matches"):
        relabel(fleet, LabelPattern("{host}.hprof"), None)
    listed = tmp_path / "labels.csv"
    listed.write_text("source,version\n/nowhere.gclog,1\n")
    with pytest.raises(IngestError, match="no source of it is a dump of the fleet"):
        relabel(fleet, None, listed)
