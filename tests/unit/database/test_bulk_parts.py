"""The parts of a bulk load that need no server."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock
from urllib.parse import quote

import polars as pl
import psutil
import pytest

from ingest.analysis.metrics import analyse
from ingest.database import bulk
from ingest.database.bulk import check_disk, stored_dumps, storing
from ingest.database.importer import ImportMeter, StartedImport, _failure
from ingest.errors import DumpError, EmbeddedError, IngestError, StoreError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer
from ingest.server.home import Home
from ingest.server.launch import for_import
from ingest.system.process_names import this_process
from ingest.system.settings import settings
from ingest.tables.export import export
from ingest.tables.export_format import ExportFormat
from ingest.tables.heap_tables import HeapTables
from ingest.tables.import_files import DumpToImport, write_import_files
from ingest.tables.mapping import Counts, counts
from ingest.tables.parquet import (
    LIST_SEPARATOR,
    StoredDumps,
    StoredTables,
    write_spreadsheet_csv,
)
from tests.cypher.heap import main_heap, two_domains
from tests.heaps import stored_tables
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.progress import Progress

IMPORTER_SAYS = """\
Neo4j version: 5.26.31
  Max worker threads: 2
(1/4) Node import 2026-11-21 16:47:28.166+0000
  Estimated number of nodes: 1.04 M
.......... .......... .......... .......... ..........   5% \u22062s 268ms [2s 268ms]
.......... .......... .......... .......... ..........  50% \u2206200ms [3s 696ms]
.......... .......... .......... .......... .......... 100% \u22060ms [4s 174ms]
Node import COMPLETED in 4s 187ms
(2/4) Relationship import 2026-11-21 16:47:32.354+0000
.......... .......... .......... .......... .......... 100% \u22060ms [1s 213ms]
(3/4) Relationship linking 2026-11-21 16:47:33.569+0000
-......... .......... .......... .......... ..........   5% \u22061s 702ms [1s 702ms]
(4/4) Post processing 2026-11-21 16:47:49.720+0000
.......... .......... .......... .......... .......... 100% \u22060ms [1s 213ms]
IMPORT DONE in 11s 764ms.
"""


def csv_full(*_: object, **__: object) -> None:
    raise OSError("No space left on device (os error 28)")  # as polars says it


def parquet_full(*_: object, **__: object) -> None:
    raise pl.exceptions.ComputeError(
        "parquet: underlying IO error: No space left on device (os error 28)"
    )


@pytest.fixture
def tables() -> HeapTables:
    graph = two_domains()
    return HeapTables(graph, analyse(graph))


def test_the_meter_rises_from_nothing_to_all() -> None:
    meter = ImportMeter()
    shares = [meter.read(line) for line in IMPORTER_SAYS.splitlines()]
    assert shares == sorted(shares)
    assert shares[3] == 0
    assert shares[4] > 0
    assert shares[-1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("code", "output", "message"),
    [
        (2, "ok\nERROR no input\n", "failed (exit code 2): ERROR no input"),
        (1, "", "failed (exit code 1)"),
        (-9, "", "failed (killed by SIGKILL, perhaps for lack of memory)"),
    ],
)
def test_a_failed_import_is_explained(code: int, output: str, message: str) -> None:
    assert _failure(code, output) == f"neo4j-admin import {message}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the test needs a shell")
@pytest.mark.parametrize("has_pipes", [True, False])
def test_an_import_waits_for_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_pipes: bool
) -> None:
    if not has_pipes:
        monkeypatch.setattr(os, "mkfifo", Mock(side_effect=PermissionError))
    echo = ["/bin/sh", "-c", "echo begun > begun; tr '\\n' ' ' < arguments; exit 7"]
    started = StartedImport(tmp_path, tmp_path, echo, dict(os.environ))
    try:
        with pytest.raises(EmbeddedError, match=r"exit code 7.*--nodes=A --force"):
            started.run(["--nodes=A", "--force"], lambda _: None)
    finally:
        started.end()
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]


def test_an_import_that_ends_before_its_arguments_is_no_reason_to_wait(
    tmp_path: Path,
) -> None:
    command = ["/bin/sh", "-c", "echo no such collector; exit 1"]
    started = StartedImport(tmp_path, tmp_path, command, dict(os.environ))
    with pytest.raises(EmbeddedError, match="no such collector"):
        started.run(["--force"], lambda _: None)
    started.end()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the test needs a shell")
def test_an_import_is_over_when_its_store_is_closed(tmp_path: Path) -> None:
    says = "echo '(4/4) Post'; echo 'IMPORT DONE in 1s.'; cat < go; echo late; exit 3"
    os.mkfifo(tmp_path / "go")
    command = ["/bin/sh", "-c", f"cat < arguments > given; {says}"]
    started = StartedImport(tmp_path, tmp_path, command, dict(os.environ))
    started.run(["--force"], lambda _: None)
    (tmp_path / "go").write_text("go")
    with pytest.raises(EmbeddedError, match=r"exit code 3.*late"):
        started.finish()
    started.end()


def test_the_importer_gets_its_share_of_any_machine() -> None:
    assert for_import(total_mib=1024).heap_mib == 256
    large = for_import(total_mib=1 << 20)
    assert large.heap_mib == 2048
    assert large.page_cache_mib <= 64 << 10


def test_the_current_data_folder_is_what_the_file_names(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    assert home.data == tmp_path / "data"
    new = home.new_data()
    new.mkdir()
    assert home.stale_data() == [new]
    home.use_data(new)
    assert Home(tmp_path).data == new
    assert home.stale_data() == [tmp_path / "data"]


@pytest.mark.parametrize("text", ["", "../elsewhere", "data-xyz", "/"])
def test_a_damaged_name_of_a_data_folder_is_no_other_store(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "store").write_text(text)
    with pytest.raises(EmbeddedError, match="does not name a data folder"):
        _ = Home(tmp_path).data


def test_stored_tables_are_those_of_the_heap(
    tables: HeapTables, tmp_path: Path
) -> None:
    stored = StoredDumps(tmp_path)
    stored_tables(tmp_path, tables, 3, "ab" * 32)
    found = stored.find(3, "ab" * 32)
    assert found is not None
    assert found.counts() == counts(tables) == counts(found)
    for name in ("objects", "references", "dominator_tree", "suspects"):
        whole = tables.lazy(name).collect()
        assert found.lazy(name).collect().equals(whole)
        assert found.part(name, 1, 3).equals(whole[1:3])
        assert found.absent(name) == tables.absent(name)
    assert found.part("objects", 2, 5, ["value", "type"]).columns == ["value", "type"]
    assert "value" in found.absent("objects")
    assert "value" not in pl.read_parquet_schema(found.folder / "objects.parquet")
    assert stored.find(4, "ab" * 32) is None
    assert stored.find(3, "ac" * 32) is None


def test_columns_that_came_later_than_the_files_are_null(
    tables: HeapTables, tmp_path: Path
) -> None:
    found = stored_tables(tmp_path, tables)
    path = found.folder / "types.parquet"
    pl.read_parquet(path).drop("top_address").write_parquet(path)
    types = found.lazy("types").collect()
    assert types["top_address"].null_count() == len(types)
    arguments = write_import_files(
        tmp_path, [DumpToImport(1, {"reachable_bytes": 8}, found)]
    )
    assert any(argument.startswith("--nodes=Type=") for argument in arguments)


LAST = {"version": None, "rows": None}
"""What `counts.json` of the last version does not have: there was no number."""


def retell(found: StoredTables, **changed: object) -> None:
    """Change what is told of stored tables; ``None`` leaves it out."""
    path = found.folder / "counts.json"
    about = json.loads(path.read_text("utf-8")) | changed
    about = {name: value for name, value in about.items() if value is not None}
    path.write_text(json.dumps(about), encoding="utf-8")


def test_stored_tables_of_the_last_version_are_read(
    tables: HeapTables, tmp_path: Path
) -> None:
    found = stored_tables(tmp_path, tables)
    retell(found, **LAST)

    assert found.fault() is None
    assert found.counts() == counts(tables)
    assert found.lazy("types").collect().equals(tables.lazy("types").collect())


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("objects", "retained_bytes"), ("references", "holds"), ("types", "name"),
        ("dominator_tree", "dominator"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("told", [{}, LAST])
def test_a_required_column_is_never_null_instead(
    tables: HeapTables, tmp_path: Path, name: str, column: str, told: dict[str, object]
) -> None:
    found = stored_tables(tmp_path, tables)
    retell(found, **told)
    path = found.folder / f"{name}.parquet"
    pl.read_parquet(path).drop(column).write_parquet(path)

    assert found.fault() == f"the table {name} has no column {column}, as by another " \
        "version of heaproots"  # fmt: skip
    for read in (found.lazy, found.absent):
        with pytest.raises(DumpError, match=f"{name} has no column {column}"):
            read(name)
    for reread in (StoredTables(found.folder).lazy, StoredTables(found.folder).absent):
        with pytest.raises(DumpError, match=f"{name} has no column {column}"):
            reread(name)


def test_faults_of_stored_tables(tables: HeapTables, tmp_path: Path) -> None:
    def fault(name: str, change: Callable[[Path], object]) -> str:
        found = stored_tables(tmp_path, tables)
        change(found.folder / name)
        return StoredTables(found.folder).fault() or ""

    def cut(path: Path) -> None:
        pl.read_parquet(path).head(1).write_parquet(path)

    def retype(path: Path) -> None:
        number = pl.col("shallow_bytes").cast(pl.String)
        pl.read_parquet(path).with_columns(number).write_parquet(path)

    def renew(path: Path) -> None:
        retell(StoredTables(path.parent), version=2)

    def written(text: bytes, path: Path) -> None:
        path.write_bytes(text)

    assert "is missing" in fault("roots.parquet", Path.unlink)
    assert "roots.parquet is cut" in fault("roots.parquet", cut)
    assert fault("objects.parquet", lambda path: path.write_bytes(b"PAR1"))
    assert "shallow_bytes is String, not Int64" in fault("objects.parquet", retype)
    assert "newer version" in fault("counts.json", renew)
    for text in (b"{", b"[]", b"{}", b'{"nodes": 1, "relationships": 2}'):
        assert "cannot be read" in fault("counts.json", partial(written, text))
    assert stored_tables(tmp_path, tables).fault() is None


def test_pruning_leaves_what_is_loaded_and_what_came_later(
    tables: HeapTables, tmp_path: Path
) -> None:
    stored = StoredDumps(tmp_path)
    stored_tables(tmp_path, tables)
    stored_tables(tmp_path, tables, 2, "b" * 64)
    (tmp_path / "5-dddddddddddddddd.part").mkdir()
    listed = stored.listed()
    stored_tables(tmp_path, tables, 3, "c" * 64)
    stored.prune(listed, [(1, "a" * 64)])
    assert stored.listed() == ["1-aaaaaaaaaaaaaaaa", "3-cccccccccccccccc"]


def staged_by(folder: Path, owner: str) -> Path:
    """A folder that a process has begun to write."""
    made = folder / f"staged-01234567-{quote(owner, safe='')}.part"
    made.mkdir()
    (made / "objects.parquet").touch()
    return made


def test_what_is_being_stored_is_removed_only_if_its_process_has_ended(
    tmp_path: Path,
) -> None:
    stored = StoredDumps(tmp_path)
    machine, pid, start = this_process().rsplit(":", 2)
    ended = staged_by(tmp_path, f"{machine}:{pid}:{start}0")
    running, elsewhere = staged_by(tmp_path, this_process()), "another machine:1:1"
    recent = staged_by(tmp_path, elsewhere)

    stored.prune(stored.listed(), [])
    assert sorted(stored.listed()) == sorted([running.name, recent.name])

    for path in (recent, recent / "objects.parquet"):
        os.utime(path, (0, 0))
    ended = staged_by(tmp_path, f"{machine}:{pid}:{start}0")
    with stored.staged() as folder:
        assert not recent.exists()
        assert not ended.exists()
        stored.prune(stored.listed(), [])
        assert folder.exists()
    assert stored.listed() == [running.name]


def test_what_is_being_stored_is_given_up_when_no_place_is_found(
    tables: HeapTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load that the server refuses does not wait until all is stored."""
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    server, reports = EmbeddedServer(settings()), list[int]()
    server.home.mkdir(parents=True)

    def slow(folder: Path, tables: HeapTables, report: Progress) -> None:
        for done in range(50):
            report("store", done, 50)
            reports.append(done)
            time.sleep(0.2)

    def refused() -> None:
        with storing(server, tables, silent):
            wait_until(lambda: bool(reports))
            raise StoreError("refused")

    with monkeypatch.context() as patched:
        patched.setattr(bulk, "write_tables", slow)
        with pytest.raises(StoreError, match="refused"):
            refused()
    assert len(reports) == 1
    assert stored_dumps(server).listed() == []
    with storing(server, tables, silent) as put:
        assert put(7, "e" * 64).fault() is None
    assert stored_dumps(server).listed() == ["7-" + "e" * 16]


def test_what_cannot_be_kept_whole_is_not_kept(
    tables: HeapTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", parquet_full)
    with pytest.raises(OSError, match="No space") as raised:
        stored_tables(tmp_path, tables)
    assert raised.value.errno == errno.ENOSPC
    assert StoredDumps(tmp_path).listed() == []


def test_node_ids_have_no_gap_over_all_dumps(
    tables: HeapTables, tmp_path: Path
) -> None:
    main = main_heap()
    at_last = HeapTables(main, analyse(main))
    dumps = [
        DumpToImport(2, {"name": "a,b", "reachable_bytes": 8}, tables),
        DumpToImport(7, {"name": "\n", "reachable_bytes": 8}, at_last),
    ]
    arguments = write_import_files(tmp_path, dumps)
    ids: list[int] = []
    for argument in arguments:
        if argument.startswith("--nodes="):
            header, *parts = argument.split("=")[2].split(",")
            assert (tmp_path / header).read_text().startswith(":ID,")
            for part in parts:
                with (tmp_path / part).open(newline="", encoding="utf-8") as file:
                    ids += [int(row[0]) for row in csv.reader(file)]
    both = counts(dumps[0].tables) + counts(dumps[1].tables)
    assert sorted(ids) == list(range(sum(both.nodes.values())))
    assert "--multiline-fields=Dump-7-lines.csv" in arguments, "a name has a line end"


@pytest.mark.parametrize(("quotes", "least"), [(1, 4 << 20), (3 << 20, 6 << 20)])
def test_the_importer_has_room_for_the_longest_row(
    tables: HeapTables, tmp_path: Path, quotes: int, least: int
) -> None:
    dump = DumpToImport(1, {"name": quotes * '"', "reachable_bytes": 8}, tables)
    arguments = dict(
        one.split("=", 1) for one in write_import_files(tmp_path, [dump]) if "=" in one
    )
    longest = max(map(len, (tmp_path / "Dump-1.csv").read_text("utf-8").splitlines()))
    room = int(arguments["--read-buffer-size"])
    assert longest <= room
    assert least <= room <= 2 * least, "the importer reads so much of each file twice"


def test_nothing_counted_is_nothing_said() -> None:
    assert Counts({"A": 1}) + Counts({"A": -1}, {"R": 0}) == Counts()


def test_a_spreadsheet_computes_nothing_of_a_table(tmp_path: Path) -> None:
    texts = ["=1+1", "+A1", "-2+3", "@SUM(A1)", "-7.5e3", "a=b", "\t=1", "\r=1", None]
    frame = pl.LazyFrame({"at": range(9), "name": texts, "list": [["=1", "2"]] * 9})
    write_spreadsheet_csv(frame, tmp_path / "a.csv")
    found = pl.read_csv(tmp_path / "a.csv")
    assert found["name"].to_list() == [
        "'=1+1", "'+A1", "'-2+3", "'@SUM(A1)", "-7.5e3", "a=b", "'\t=1", "'\r=1", None,
    ]  # fmt: skip
    assert found["list"][0] == f"'=1{LIST_SEPARATOR}2"
    write_spreadsheet_csv(pl.LazyFrame({"at": [1]}), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "at\n1\n"


STARTER = """
import subprocess, time
from ingest.database.importer import _ended_with_us
child = subprocess.Popen(_ended_with_us(["/bin/sleep", "60"]), start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own way")
def test_an_import_ends_with_the_command_that_started_it() -> None:
    """Even if that is killed, and cannot end it itself."""
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    started = psutil.Process(int(parent.stdout.readline()))
    deadline = time.monotonic() + 20
    while started.name() != "sleep" and time.monotonic() < deadline:
        time.sleep(0.05)  # it keeps its number
    parent.kill()
    parent.communicate()
    started.wait(10)


def test_an_export_is_whole_or_not_there(
    tables: HeapTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(folder: Path, *, force: bool = False) -> dict[str, int]:
        return export(
            tables, folder, ExportFormat.CSV, version="5.26.31", about={}, force=force
        )

    folder = tmp_path / "out"
    assert "objects.csv" in put(folder)
    mine = folder / "mine.txt"
    mine.write_text("mine")
    with pytest.raises(IngestError, match="has files in it"):
        put(folder)
    (folder / "types.csv").write_text("old")
    put(folder, force=True)
    assert mine.read_text() == "mine"
    assert (folder / "types.csv").read_text().startswith("type,name")

    monkeypatch.setattr(pl.LazyFrame, "sink_csv", csv_full)
    with pytest.raises(IngestError, match="No space left"):
        put(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_dump_for_which_the_disk_is_too_small_is_refused_before_it_is_written(
    home: Path,
) -> None:
    home.mkdir()
    server = EmbeddedServer(settings())
    server.home.mkdir(parents=True)
    check_disk(server, 1)

    with pytest.raises(EmbeddedError, match="free some space") as refused:
        check_disk(server, shutil.disk_usage(home).total)

    said = str(refused.value)
    assert said.startswith(f"the disk of {server.home} is too full for this dump")
    assert "\n" not in said
    assert refused.value.exit_code == 8
