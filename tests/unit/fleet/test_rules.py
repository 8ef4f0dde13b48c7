"""Dumps whose fingerprints have different rules are not compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.analysis.fingerprints import RULE_VERSION
from ingest.errors import IngestError
from ingest.fleet.add import Workers, add
from ingest.fleet.datasets import LIGHT
from ingest.fleet.questions import Fleet, FleetGraphRows, FleetQuestion, question
from ingest.fleet.task import Job, try_dump
from ingest.fleet.workplace import FleetFolder
from ingest.heap.read_options import DEFAULTS
from tests.dumps.fleet import write_fleet
from tests.unit.fleet.test_fleet import add_in_process, sources_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.conftest import Ran

EARLIER = RULE_VERSION - 1


def as_of_earlier_rule(paths: Iterable[Path]) -> None:
    """Write files as a version with the earlier rule of fingerprints has."""
    for path in paths:
        frame = pl.read_parquet(path, hive_partitioning=False)
        digest = pl.col("fingerprint").str.split("-").list.last()
        frame.with_columns(fingerprint=pl.lit(f"{EARLIER}-") + digest).write_parquet(
            path
        )


def with_fingerprints(folder: FleetFolder, program: str) -> list[Path]:
    return [
        path
        for dataset in LIGHT
        if "fingerprint" in dataset.schema
        for path in folder.files(dataset)
        if path.parent.name == f"program={program}"
    ]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules") / "in"
    write_fleet(folder, 12, live=5)
    return folder


@pytest.fixture
def mixed(dumps: Path, tmp_path: Path) -> Path:
    """A fleet that an earlier version has begun."""
    target = tmp_path / "fleet"
    add_in_process(dumps, target)
    as_of_earlier_rule(with_fingerprints(FleetFolder(target), "mail"))
    return target


@pytest.mark.slow
def test_leaks_of_two_rules_are_not_compared(
    mixed: Path, ingest: Callable[..., Ran]
) -> None:
    both = f"rules {EARLIER} and {RULE_VERSION}"
    fleet = Fleet(mixed)
    for name in ("leaks", "new_since", "growing", "alike", "paths"):
        with pytest.raises(IngestError, match=both):
            fleet.ask(question(name))
    with pytest.raises(IngestError, match=both):
        FleetGraphRows(fleet)
    assert fleet.ask(question("programs")).rows
    own = FleetQuestion("mine", "", "", "SELECT DISTINCT fingerprint FROM leaks")
    assert len(fleet.ask(own).rows) > 1
    code, out, err = ingest("fleet", "report", str(mixed))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ingest fleet add" in err


@pytest.mark.slow
def test_dumps_of_one_rule_are_compared_whichever_it_is(
    mixed: Path, dumps: Path, tmp_path: Path
) -> None:
    assert Fleet(mixed, "mail").rule() == EARLIER
    assert Fleet(mixed, "shop").rule() == RULE_VERSION
    rows = Fleet(mixed, "mail").ask(question("leaks")).rows
    add_in_process(dumps, tmp_path / "other")
    expected = Fleet(tmp_path / "other", "mail").ask(question("leaks")).rows
    assert [row[:-1] for row in rows] == [row[:-1] for row in expected]


def test_no_dump_is_added_beside_those_of_another_rule(
    mixed: Path, dumps: Path
) -> None:
    before = sorted(mixed.rglob("*.parquet"))
    with pytest.raises(IngestError, match=f"rule {EARLIER}, and .*--to"):
        add(sources_in(dumps), mixed, DEFAULTS, Workers())
    assert sorted(mixed.rglob("*.parquet")) == before


@pytest.mark.slow
def test_what_an_earlier_rule_has_not_published_is_read_again(
    dumps: Path, tmp_path: Path
) -> None:
    folder = FleetFolder(tmp_path)
    folder.prepare()
    try_dump(sources_in(dumps)[0], Job(tmp_path))
    (staged,) = (tmp_path / "_work").glob("staged-*")
    staged.rename(staged.with_name(f"staged-1-{EARLIER}"))
    result = add(sources_in(dumps), tmp_path, DEFAULTS, Workers())
    assert (result.added_count, result.skipped_count) == (len(sources_in(dumps)), 0)
