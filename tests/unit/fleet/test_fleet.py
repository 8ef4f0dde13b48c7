"""Dumps become rows once, whatever happens; and the questions are answered right."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import linear_regression
from typing import TYPE_CHECKING

import polars as pl
import pytest

import ingest.fleet.workplace
from ingest.errors import IngestError, QueryError
from ingest.fleet.add import Added, Workers, add
from ingest.fleet.datasets import DATASETS, DUMPS, VERSION_KEY
from ingest.fleet.pool import local_workers
from ingest.fleet.questions import Fleet, FleetQuestion, question, questions
from ingest.fleet.sources import LabelPattern, find_sources
from ingest.fleet.spark import tasks_of
from ingest.fleet.task import ADDED, ATTEMPTS, Job, Outcome, try_dump
from ingest.fleet.workplace import DumpBatch, FleetFolder, merge_batch
from ingest.heap.read_options import DEFAULTS, StrengthPolicy
from ingest.system.memory import thread_count
from tests.dumps.fleet import LABELS, PROGRAMS, VERSIONS, write_fleet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.fleet.sources import FleetSource

SIZE = 36


def sources_in(folder: Path) -> list[FleetSource]:
    found, pattern = find_sources([str(folder)]), LabelPattern(LABELS)
    if not any(pattern.match(source.address) for source in found):
        return found  # files of tests, which have no labels
    return find_sources([str(folder)], pattern)


def add_in_process(folder: Path, target: Path) -> None:
    """Add all dumps without further processes."""
    fleet = FleetFolder(target)
    fleet.prepare()
    for source in sources_in(folder):
        try_dump(source, Job(target, frozenset(fleet.known().dump_ids)))
    fleet.publish()


def tables(target: Path) -> dict[str, pl.DataFrame]:
    """All rows of a fleet, but how long reading took."""
    found = {}
    for dataset in DATASETS:
        paths = [str(path) for path in FleetFolder(target).files(dataset)]
        if paths:
            frame = pl.read_parquet(paths, hive_partitioning=True)
            frame = frame.drop("read_s", strict=False)
            found[dataset.name] = frame.sort(frame.columns[:3], nulls_last=True)
    return found


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumps")
    write_fleet(folder, SIZE, live=20)
    bad = folder / "shop" / "2.1" / "host9-20261130T000000.gclog"
    bad.write_bytes(b"\x1f\x8b\x08damaged")
    (folder / "mail" / "1.0" / "host9-20261130T000000.gclog").write_bytes(b"\0" * 99)
    return folder


@pytest.fixture(scope="module")
def tried(dumps: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All dumps are read, and no row is published."""
    target = tmp_path_factory.mktemp("tried") / "fleet"
    FleetFolder(target).prepare()
    for source in sources_in(dumps):
        try_dump(source, Job(target))
    return target


@pytest.fixture
def unpublished(tried: Path, tmp_path: Path) -> Path:
    """The same for one test."""
    return Path(shutil.copytree(tried, tmp_path / "fleet"))


@pytest.fixture(scope="module")
def fleet(tried: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("fleet") / "fleet"
    shutil.copytree(tried, target)
    FleetFolder(target).publish()
    return target


def test_each_dump_is_a_row_with_its_labels(fleet: Path, dumps: Path) -> None:
    rows = tables(fleet)["dumps"]
    ready = rows.filter(pl.col("state") == "ready")
    assert ready.height == SIZE
    assert set(ready["program"]) == set(PROGRAMS)
    assert set(ready["version"]) == set(VERSIONS)
    assert ready["taken_at"].null_count() == 0
    assert (ready["object_count"] > 40).all()
    failed = rows.filter(pl.col("state") == "failed")
    assert failed["error"].str.contains(str(dumps), literal=True).sum() == 0
    assert failed.filter(pl.col("program") == "mail")["error"][0].startswith(
        "not a heap"
    )


@pytest.mark.slow
def test_processes_make_the_same_tables(
    fleet: Path, dumps: Path, tmp_path: Path
) -> None:
    workers = Workers(processes=2)
    result = add(sources_in(dumps), tmp_path / "pool", DEFAULTS, workers)
    known = tables(fleet)
    assert result.added_count == SIZE
    assert len(result.failures) == known["dumps"].filter(state="failed").height
    for name, frame in tables(tmp_path / "pool").items():
        assert frame.equals(known[name]), name
    again = add(sources_in(dumps), tmp_path / "pool", DEFAULTS, workers)
    assert again == Added(skipped_count=len(sources_in(dumps)))


def _threads(source: object, job: object) -> Outcome:
    return Outcome("", ADDED, "", max(pl.thread_pool_size(), thread_count()))


def test_a_worker_has_one_thread(
    dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.fleet.pool.try_dump", _threads)
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    with local_workers(processes=1, memory_bytes=1 << 30) as workers:
        (found,) = workers.add(sources_in(dumps)[:1], Job(tmp_path))
    assert found.object_count == 1
    assert "POLARS_MAX_THREADS" not in os.environ


def test_the_same_dump_elsewhere_is_one_row(dumps: Path, tmp_path: Path) -> None:
    first = next(dumps.rglob("*host*.gclog"))
    for name in ("b.gclog", "a.gclog"):
        (tmp_path / name).write_bytes(first.read_bytes())
    target = tmp_path / "fleet"
    add_in_process(tmp_path, target)
    add_in_process(first.parent, target)
    rows = tables(target)["dumps"].filter(state="ready")
    assert rows.filter(pl.col("source") == str(tmp_path / "a.gclog")).height == 1
    assert rows["dump_id"].is_unique().all()


@pytest.mark.slow
def test_what_was_added_with_other_options_is_named(
    dumps: Path, tmp_path: Path
) -> None:
    """By its address, and in another file by its digest."""
    sources = sources_in(dumps)[:3]
    workers = Workers(processes=1)
    copy = tmp_path / "copy.gclog"
    copy.write_bytes(Path(sources[0].address).read_bytes())
    again = [*sources, *find_sources([str(copy)])]
    mat = replace(DEFAULTS, strength=StrengthPolicy.MAT)
    add(sources, tmp_path / "fleet", DEFAULTS, workers)

    same = add(again, tmp_path / "fleet", DEFAULTS, workers)
    other = add(again, tmp_path / "fleet", mat, workers)

    assert (same.skipped_count, same.differing) == (4, [])
    assert other.differing == sorted(source.address for source in again)
    assert (other.added_count, other.skipped_count) == (0, 4)


@pytest.mark.slow
def test_a_failed_file_that_was_mended_is_added(tmp_path: Path) -> None:
    one, two = tmp_path / "in" / "1.gclog", tmp_path / "in" / "2.gclog"
    one.parent.mkdir()
    for path in (one, two):
        path.write_bytes(b"nothing")
    target = tmp_path / "fleet"
    add_in_process(one.parent, target)
    assert tables(target)["dumps"]["state"].to_list() == ["failed", "failed"]
    (good,) = write_fleet(tmp_path / "good", 1, live=5)
    for path in (one, two):  # the same dump twice: one of them stands for both
        path.write_bytes(good.read_bytes())
        add(sources_in(one.parent), target, DEFAULTS, Workers())
    assert tables(target)["dumps"]["state"].to_list() == ["ready"]


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("survived", range(0, 18, 3))
def test_a_publication_that_was_killed_is_finished(
    fleet: Path,
    unpublished: Path,
    monkeypatch: pytest.MonkeyPatch,
    survived: int,
) -> None:
    target, folder = unpublished, FleetFolder(unpublished)
    real, calls = ingest.fleet.workplace.sink, []

    def fails(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) > survived:
            raise KeyboardInterrupt
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest.fleet.workplace, "_DUMPS_IN_A_FILE", 5)
    with monkeypatch.context() as patch:
        patch.setattr(ingest.fleet.workplace, "sink", fails)
        with pytest.raises(KeyboardInterrupt):
            folder.publish()
    FleetFolder(target).publish()
    found, known = tables(target), tables(fleet)
    assert all(found[name].equals(known[name]) for name in known)
    assert not FleetFolder(target).staged()


def test_a_worker_that_outlives_its_run_publishes_nothing_incomplete(
    fleet: Path, unpublished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run does its work while it reads, and removes what it reads."""
    target = unpublished
    batches: list[DumpBatch] = []

    class KilledError(Exception):
        """What ends the first run, all of whose workers live on."""

    def killed(some: Sequence[DumpBatch]) -> None:
        batches.extend(some)
        raise KilledError

    with pytest.raises(KilledError):
        FleetFolder(target).publish(killed)
    real = ingest.fleet.workplace.sink

    def slow(*arguments: object) -> None:
        monkeypatch.setattr(ingest.fleet.workplace, "sink", real)
        real(*arguments)  # type: ignore[arg-type]
        FleetFolder(target).publish()
        for path in FleetFolder(target).files(DATASETS[1]):
            path.unlink()  # whatever appears now is from the worker

    monkeypatch.setattr(ingest.fleet.workplace, "sink", slow)
    assert len(batches) > 1
    merge_batch(batches[0])
    assert not any(FleetFolder(target).files(DATASETS[1]))
    found, known = tables(target), tables(fleet)
    assert found["dumps"].equals(known["dumps"])


def test_a_dump_that_was_read_twice_by_a_repeated_task_is_counted(
    dumps: Path, tmp_path: Path
) -> None:
    source = sources_in(dumps)[0]
    FleetFolder(tmp_path).prepare()
    outcomes = [try_dump(source, Job(tmp_path)).state for _ in range(2)]
    assert outcomes == [ADDED, ADDED]
    assert len(FleetFolder(tmp_path).staged()) == 1


def test_small_dumps_share_a_task(dumps: Path) -> None:
    (one,) = sources_in(dumps)[:1]
    sizes = [1 << 20] * 200 + [64 << 20] * 3 + [1 << 20] * 200
    sources = [replace(one, address=str(n), size_bytes=s) for n, s in enumerate(sizes)]
    tasks = tasks_of(sources, 2)
    assert [source for task in tasks for source in task] == sources
    assert {len(task) for task in tasks if task[0].size_bytes == 64 << 20} == {1}
    assert max(map(len, tasks)) == 16
    assert {len(task) for task in tasks_of(sources[:30], 8)} == {1}
    assert tasks_of([], 2) == []


def test_a_dump_that_ends_its_process_is_set_aside(tmp_path: Path) -> None:
    write_fleet(tmp_path / "in", 1, live=5)
    (source,) = sources_in(tmp_path / "in")
    folder = FleetFolder(tmp_path / "fleet")
    folder.prepare()
    folder.count_attempt(source.address, ATTEMPTS)  # as killed processes leave it
    outcome = try_dump(source, Job(folder.folder))
    assert (outcome.state, outcome.error) == (
        "failed",
        "each process that read it has ended",
    )


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", "utf-8")
    with pytest.raises(IngestError, match="is not a fleet"):
        FleetFolder(tmp_path).prepare()


# ------------------------------------------------------------------- questions


def suspects(fleet: Path) -> list[dict[str, object]]:
    """Suspects with the columns of their dumps, in plain Python."""
    found = tables(fleet)
    about = {row["dump_id"]: row for row in found["dumps"].iter_rows(named=True)}
    return [
        about[row["dump_id"]] | row for row in found["suspects"].iter_rows(named=True)
    ]


def test_leaks_have_their_share_of_dumps(fleet: Path) -> None:
    groups: dict[object, list[dict[str, object]]] = defaultdict(list)
    for row in suspects(fleet):
        groups[row["program"], row["fingerprint"]].append(row)
    totals = tables(fleet)["dumps"].filter(state="ready")["program"].value_counts()
    count_of = dict(totals.iter_rows())
    expected = {
        key: (
            len({row["dump_id"] for row in rows}),
            round(len({row["dump_id"] for row in rows}) / count_of[key[0]], 4),  # type: ignore[index]
            len({row["host"] for row in rows}),
            sorted({str(row["version"]) for row in rows}),
        )
        for key, rows in groups.items()
    }
    answer = Fleet(fleet).ask(question("leaks"), limit=1000)
    found = {
        (row["program"], row["fingerprint"]): (
            row["dumps"],
            row["share"],
            row["hosts"],
            row["versions"],
        )
        for row in answer.dicts()
    }
    assert found == expected
    assert len(found) >= sum(len(leaks) for leaks in PROGRAMS.values())


def test_what_a_version_brought_is_named(fleet: Path) -> None:
    def named(since: str | None) -> set[tuple[object, object]]:
        answer = Fleet(fleet).ask(question("new_since"), limit=1000, since=since)
        return {(row["program"], str(row["leak"]).split()[0]) for row in answer.dicts()}

    brought = {
        (program, leak.type.rpartition(".")[2], leak.since)
        for program, leaks in PROGRAMS.items()
        for leak in leaks
    }
    for since in (1, 2):
        expected = {(p, name) for p, name, version in brought if version >= since}
        assert {
            (p, n)
            for p, n in named(VERSIONS[since])
            if (p, n, 0) not in brought and n != "Worker"
        } == expected
    assert ("maps", "Tile") in named(None)
    assert ("auth", "Token") not in named(None)


def test_growth_is_a_regression_over_the_age(fleet: Path) -> None:
    rows = [row for row in suspects(fleet) if row["program"] == "mail"]
    first: dict[object, float] = {}
    for row in tables(fleet)["dumps"].filter(state="ready").iter_rows(named=True):
        key = row["program"], row["version"], row["host"]
        moment = row["taken_at"].timestamp()
        first[key] = min(moment, first.get(key, moment))
    ages: dict[object, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        key = row["program"], row["version"], row["host"]
        age = row["taken_at"].timestamp() - first[key]  # type: ignore[attr-defined]
        ages[row["fingerprint"]].append((age, float(str(row["retained_bytes"]))))
    for row in Fleet(fleet, "mail").ask(question("growing"), limit=99).dicts():
        points = ages[row["fingerprint"]]
        slope = linear_regression(*zip(*points, strict=True)).slope
        assert row["bytes_per_hour"] == pytest.approx(slope * 3600, abs=1)


def test_every_question_is_answered_with_old_and_new_files(
    fleet: Path, tmp_path: Path
) -> None:
    """An older writer had fewer columns, and none of some datasets."""
    for dataset in DATASETS:
        for path in FleetFolder(fleet).files(dataset):
            target = tmp_path / path.relative_to(fleet)
            target.parent.mkdir(parents=True, exist_ok=True)
            frame = pl.read_parquet(path)
            if dataset.name in ("dumps", "suspects") and "mail" in str(path):
                frame = frame.drop("host", "sentence", "error", strict=False)
            if dataset.name != "types" or "mail" in str(path):
                frame.write_parquet(target)
    old = Fleet(tmp_path)
    for name, asked in questions().items():
        rows = old.ask(asked, limit=5).dicts()
        assert rows or name in ("outliers", "growing"), name
        assert json.dumps(rows)


def test_a_newer_schema_is_refused(fleet: Path, tmp_path: Path) -> None:
    path = tmp_path / "dumps" / "program=x" / "part-1.parquet"
    path.parent.mkdir(parents=True)
    frame = pl.DataFrame(schema=DUMPS.schema)
    frame.write_parquet(path, metadata={VERSION_KEY: "99"})
    with pytest.raises(IngestError, match="newer version"):
        Fleet(tmp_path)


def test_sql_reads_nothing_but_the_fleet(fleet: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", "utf-8")
    asked = FleetQuestion("mine", "", "", f"SELECT * FROM read_csv('{secret}')")
    with pytest.raises(QueryError, match="mine"):
        Fleet(fleet).ask(asked)
    counted = FleetQuestion("mine", "", "", "SELECT count(*) AS n FROM ready")
    assert Fleet(fleet).ask(counted).rows == ((SIZE,),)


WRITES = (
    "COPY (SELECT 1) TO '{file}'",
    "COPY dumps FROM '{file}'",
    "COPY (SELECT 1 AS a) TO '{folder}/types/program=mail/part-1.parquet'",
    "WITH a AS (COPY (SELECT 1) TO '{file}') SELECT 1",
    "WITH a AS MATERIALIZED (COPY (SELECT 1) TO '{file}'), b AS (SELECT 2) FROM b",
    "WITH a AS (INSERT INTO dumps VALUES (1) RETURNING *) FROM a",
    "SELECT 1 UNION ALL (WITH a AS (COPY (SELECT 1) TO '{file}') FROM a)",
    "FROM query('COPY (SELECT 1) TO ''{file}''')",
    "FROM query($$WITH a AS (COPY (SELECT 1) TO '{file}') SELECT 1$$)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
    "PREPARE a AS COPY (SELECT 1) TO '{file}'",
    "ATTACH '{file}' AS other",
    "EXPORT DATABASE '{file}'",
    "IMPORT DATABASE '{folder}'",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '{file}'",
    "-- only a remark",
    "CREATE TABLE a AS SELECT 1",
    "CREATE OR REPLACE VIEW dumps AS SELECT 1",
    "CREATE TEMP TABLE a AS SELECT 1",
    "CREATE MACRO a() AS 1",
    "INSERT INTO dumps VALUES (1)",
    "DELETE FROM dumps",
    "DROP VIEW dumps",
    "UPDATE dumps SET name = 'x'",
    "SET memory_limit = '9GB'",
    "RESET memory_limit",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL enable_logging(storage = 'file', storage_path = '{file}')",
    "FROM enable_logging(storage = 'file', storage_path = '{file}')",
    "SELECT * FROM (FROM Enable_Logging(storage = 'file', storage_path = '{file}'))",
    "SELECT write_log('x')",
    "FROM checkpoint()",
    "INSTALL httpfs",
    "LOAD httpfs",
    "BEGIN",
    "USE memory",
    "VACUUM",
    "CHECKPOINT",
    "FROM read_text('/etc/hostname')",
    "FROM read_text('{folder}/../secret.csv')",
    "FROM '{folder}/../secret.csv'",
    "FROM glob('/etc/*')",
)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def copied(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of whose files all are known, beside another file."""
    folder = tmp_path_factory.mktemp("sql") / "fleet"
    shutil.copytree(fleet, folder)
    folder.with_name("secret.csv").write_text("a\n1\n", "utf-8")
    return folder


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("sql", WRITES)
def test_sql_only_reads(copied: Path, sql: str) -> None:
    before = contents(copied.parent)
    text = sql.format(folder=copied, file=copied / "new.csv")
    opened = Fleet(copied)

    with pytest.raises(QueryError, match="mine: "):
        opened.ask(FleetQuestion("mine", "", "", text))
    with pytest.raises(QueryError):
        opened.choose(where=f"true); {text}; SELECT (1")

    assert contents(copied.parent) == before
    assert opened.totals()["dumps"] == SIZE


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM ready; -- all of them",
        "FROM ready SELECT count(*)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9)"
        " SELECT count(*) FROM ready WHERE 9 = (SELECT max(i) FROM n)",
        "WITH a AS MATERIALIZED (FROM ready) SELECT count(*) FROM a",
        "SELECT count(*) FROM (SELECT * FROM ready UNION ALL FROM ready LIMIT {size})",
        "SELECT count(*) FROM ready WHERE 'COPY_QUERY_NODE' <> 'a; COPY'",
    ],
)
def test_sql_of_ones_own(fleet: Path, sql: str) -> None:
    asked = FleetQuestion("mine", "", "", sql.format(size=SIZE))
    assert Fleet(fleet).ask(asked).rows == ((SIZE,),)


@pytest.mark.parametrize("sql", ["SUMMARIZE ready", "DESCRIBE ready", "VALUES (1)"])
def test_other_words_for_select(fleet: Path, sql: str) -> None:
    assert Fleet(fleet).ask(FleetQuestion("mine", "", "", sql)).rows
