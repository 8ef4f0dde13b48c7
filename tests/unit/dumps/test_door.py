"""The door: whatever is named as a dump is opened alike, and one heap at a time."""

from __future__ import annotations

import gc
import weakref
import zipfile
from typing import TYPE_CHECKING

import pytest

from ingest.compare.dumps import of_dump
from ingest.dumps import Opener, is_file
from ingest.dumps.dump import KeptDump
from ingest.errors import DumpError, IngestError, NotEnoughMemory, UnknownDump
from ingest.heap.read_options import (
    Fold,
    LayoutOption,
    ReadOptions,
    StrengthPolicy,
)
from ingest.readers.gclog.example import example_gclog
from ingest.tables.export import export
from ingest.tables.export_format import ExportFormat
from ingest.tables.parquet import StoredTables
from tests.dumps import hprof, nettrace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def gclog(tmp_path: Path) -> str:
    path = tmp_path / "level.gclog"
    path.write_text(example_gclog(4), encoding="utf-8")
    return str(path)


def exported(opener: Opener, dump: str, folder: Path) -> Path:
    opened = opener.open(dump)
    tables = opened.tables()
    assert opened.identity is not None
    about: dict[str, object] = {"sha256": opened.identity.sha256, "name": opened.name}
    export(tables, folder, ExportFormat.PARQUET, version="5", about=about)
    return folder


class Shelf:
    """Keeps the dump of one folder, under one name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.kept = KeptDump(name, "a.gclog", StoredTables(folder), "gclog", "dotnet")

    def find(self, what: str) -> KeptDump | None:
        if what != self.kept.name:
            raise UnknownDump(f"no dump is named {what!r}")
        return self.kept


def test_a_file_an_archive_an_export_and_a_kept_dump_are_one_heap(
    gclog: str, tmp_path: Path
) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.write(gclog, "inside.gclog")
    folder = exported(Opener(), gclog, tmp_path / "out")
    opener = Opener(keepers=[Shelf(folder, "monday")])
    named = [gclog, f"{archive}::inside.gclog", str(archive), str(folder), "monday"]

    first, *others = [opener.open(what) for what in named]

    assert [one.name for one in (first, *others)] == [
        "level", "inside", "all", "out", "monday",
    ]  # fmt: skip
    for other in others:
        assert other.graph.type_names == first.graph.type_names
        assert other.graph.runtime == first.graph.runtime
        assert (other.metrics.retained_bytes == first.metrics.retained_bytes).all()
        assert of_dump(other).totals == of_dump(first).totals


def test_nothing_is_read_before_it_is_needed_and_then_once(gclog: str) -> None:
    opened = Opener().open(gclog)

    assert opened.identity is None
    assert opened.graph is opened.graph
    assert opened.metrics is opened.metrics
    assert opened.identity is not None


def test_one_heap_is_in_memory_at_a_time(gclog: str) -> None:
    alive: list[weakref.ref[object]] = []
    for opened in Opener().open_all([gclog] * 3):
        gc.collect()
        assert all(one() is None for one in alive)
        alive.append(weakref.ref(opened.graph))
        assert opened.metrics.reachable_count


def test_the_policy_of_strengths_is_followed_everywhere(tmp_path: Path) -> None:
    """Of exports too: what was measured by another policy is measured again."""
    dump = tmp_path / "a.hprof"
    dump.write_bytes(hprof.program().bytes())
    strongest, mat = Opener(), Opener(options=ReadOptions(strength=StrengthPolicy.MAT))
    folder = exported(strongest, str(dump), tmp_path / "out")

    by_file = of_dump(mat.open(str(dump)))
    by_export = of_dump(mat.open(str(folder)))

    assert by_export.totals == by_file.totals
    assert mat.open(str(folder)).metrics.policy is StrengthPolicy.MAT


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (ReadOptions(part=3), "--part"),
        (ReadOptions(fold=Fold.NONE), "--fold none"),
        (ReadOptions(layout=LayoutOption(12, 4, 16)), "--layout"),
    ],
)
def test_what_only_reading_a_file_can_give_is_refused_of_a_kept_dump(
    gclog: str, tmp_path: Path, options: ReadOptions, option: str
) -> None:
    folder = exported(Opener(), gclog, tmp_path / "out")

    with pytest.raises(IngestError, match=option):
        Opener(options=options).open(str(folder))


def test_a_layout_is_refused_of_another_format(gclog: str) -> None:
    options = ReadOptions(layout=LayoutOption(12, 4, 16))

    with pytest.raises(DumpError, match="--layout"):
        _ = Opener(options=options).open(gclog).graph


def test_a_runtime_can_be_named(gclog: str, tmp_path: Path) -> None:
    folder = exported(Opener(), gclog, tmp_path / "out")
    opener = Opener(options=ReadOptions(runtime="dart"))

    assert opener.open(gclog).graph.runtime == "dart"
    assert opener.open(str(folder)).graph.runtime == "dart"


def test_the_memory_of_a_kept_heap_is_checked_too(gclog: str, tmp_path: Path) -> None:
    folder = exported(Opener(), gclog, tmp_path / "out")
    opener = Opener(options=ReadOptions(max_memory_bytes=1 << 20))

    with pytest.raises(NotEnoughMemory, match="--max-memory"):
        _ = opener.open(str(folder)).metrics


def test_all_dumps_of_a_file_that_is_named_alone(tmp_path: Path) -> None:
    trace = tmp_path / "a.nettrace"
    trace.write_bytes(nettrace.program().file())

    parts = [one.part for one in Opener().open_parts(str(trace))]

    assert parts
    for part in parts:
        assert part is not None
        options = ReadOptions(part=part.number)
        (one,) = Opener(options=options).open_all([str(trace)])
        assert one.graph.part is not None
        assert one.graph.part.number == part.number


@pytest.mark.parametrize(
    ("what", "is_one"),
    [
        ("-", True), ("missing.gclog", True), ("a/missing", True), ("monday", False),
        ("missing.glog", True), ("shop-1.2", False), ("shop.old", False),
        ("all.zip::a", True), (".", False), ("x" * 5000, True),
    ],
)  # fmt: skip
def test_what_is_meant_as_a_file(
    what: str, is_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert is_file(what) is is_one


def test_what_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="no such file"):
        _ = Opener().open(str(tmp_path / "missing.gclog")).graph
    (tmp_path / "example.gclog").touch()
    with pytest.raises(DumpError, match=r"no such file; did you mean .*example\.gclog"):
        _ = Opener().open(str(tmp_path / "exmple.glog")).graph
    with pytest.raises(UnknownDump, match="name the dump's file"):
        Opener().open("monday")
    with pytest.raises(DumpError, match=r"not an exported dump.*Name the file"):
        Opener().open(str(tmp_path))
