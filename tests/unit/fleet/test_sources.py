"""Which dumps are added, and what their addresses say of them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from ingest.errors import IngestError
from ingest.fleet.datasets import partition
from ingest.fleet.sources import (
    LabelPattern,
    find_sources,
    program_of,
    seconds_of,
    time_of,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/1.0/x.gclog", "a/1.0/y.gcdump.gz", "a/notes.md", "a/.z.gclog"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"data")
    return tmp_path


def names(folder: Path, *given: str) -> list[str]:
    sources = find_sources([str(folder / name) for name in given])
    return [str(Path(s.address).relative_to(folder)) for s in sources]


def test_a_folder_has_the_files_with_suffixes_of_dumps(folder: Path) -> None:
    assert names(folder, "a") == ["a/1.0/x.gclog", "a/1.0/y.gcdump.gz"]


def test_a_named_file_needs_no_suffix_and_is_found_once(folder: Path) -> None:
    assert names(folder, "a/notes.md", "a/*.md", "a/1.0/x.gclog") == [
        "a/1.0/x.gclog",
        "a/notes.md",
    ]


def test_a_list_and_a_missing_file(folder: Path) -> None:
    (folder / "list").write_text(f"# dumps\n{folder}/a/1.0/x.gclog\n\n", "utf-8")
    assert len(find_sources([f"@{folder}/list"])) == 1
    with pytest.raises(IngestError, match="no such file or folder"):
        find_sources([str(folder / "b")])
    with pytest.raises(IngestError, match="list cannot be read"):
        find_sources([f"@{folder}/none"])


def test_labels_of_a_manifest_prevail(folder: Path) -> None:
    manifest = folder / "dumps.csv"
    manifest.write_text(
        f"source,program,version\n{folder}/a/1.0/x.gclog,shop,\n", "utf-8"
    )
    (found,) = find_sources([], LabelPattern("{program}/{version}/*"), manifest)
    assert (program_of(found.labels), found.labels["version"]) == ("shop", "1.0")


@pytest.mark.parametrize("text", ["path\n/x\n", "source\n\n,x\n", "source\na,b\n"])
def test_a_broken_manifest_is_refused_with_its_line(folder: Path, text: str) -> None:
    manifest = folder / "dumps.csv"
    manifest.write_text(text, "utf-8")
    with pytest.raises(IngestError, match="line 2"):
        find_sources([], None, manifest)


def test_labels_are_found_at_the_end_of_an_address() -> None:
    pattern = LabelPattern("{service}/{version}/{host}-{time}.hprof.gz")
    assert pattern.match("s3://dumps/eu/shop/2.3/web-7-20261122T101500.hprof.gz") == {
        "service": "shop",
        "version": "2.3",
        "host": "web",
        "time": "7-20261122T101500",
    }
    assert pattern.match("s3://dumps/shop.hprof.gz") == {}


@pytest.mark.parametrize("text", ["*.gclog", "{A}/*", "{a}/{a}", "{}"])
def test_a_pattern_without_proper_labels_is_refused(text: str) -> None:
    with pytest.raises(IngestError, match="--label"):
        LabelPattern(text)


@pytest.mark.parametrize(
    "text",
    ["20261122T101500", "2026-11-22T10:15:00Z", "2026-11-22T12:15:00+02:00",
     "2026-11-22_10-15-00", "1795342500", "1795342500000"],
)  # fmt: skip
def test_times_are_in_utc(text: str) -> None:
    assert time_of(text) == datetime(2026, 11, 22, 10, 15)


def test_what_is_no_time_or_duration_is_none() -> None:
    assert time_of("yesterday") is None
    assert time_of("12") is None
    assert [seconds_of(text) for text in ("90", "1.5h", "2d", "x", None)] == [
        90, 5400, 172800, None, None
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "folder"),
    [
        ("shop-2", "shop-2"),
        (None, "unknown"),
        ("a/b=ü", "a%2Fb%3D%C3%BC"),
        ("..", "%2E%2E"),
    ],
)
def test_a_program_is_one_folder_whatever_its_name(
    program: str | None, folder: str
) -> None:
    assert partition(program) == f"program={folder}"


@pytest.mark.parametrize("text", ["{version", "version}/{host}.hprof", "{a}}"])
def test_a_brace_alone_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(IngestError, match=r"brace has no other one; .*\{program\}/"):
        LabelPattern(text)


def test_a_pattern_that_matches_nothing_is_refused_with_one_that_does(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "shop" / "2.1"
    folder.mkdir(parents=True)
    for name in ("a.hprof.gz", "b.hprof.gz"):
        (folder / name).touch()
    with pytest.raises(IngestError) as caught:
        find_sources([str(tmp_path)], LabelPattern("{version}-{host}.hprof"))
    said = str(caught.value)
    assert "none of 2 files matches" in said
    example = said.rpartition("is '")[2].removesuffix("'")
    (first, _) = find_sources([str(tmp_path)], LabelPattern(example))
    assert first.labels == {"program": "shop", "version": "2.1", "host": "a"}
