"""The registry of formats, and what the face of each offers."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ingest.readers
from ingest.errors import DumpError
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import FORMATS, check_whole, format_of, open_source, read, stem
from tests.fuzz.seeds import SEEDS

if TYPE_CHECKING:
    from ingest.readers.base import Format


@pytest.mark.parametrize("reader", FORMATS, ids=lambda reader: reader.name)
def test_a_format_claims_its_dumps_and_names_their_graphs(
    reader: Format, tmp_path: Path
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(SEEDS[reader.package.rpartition(".")[2]]()[0])
    with open_source(str(path)) as source:
        assert format_of(source) is reader
        graph = read(source, DEFAULTS, silent)

    assert graph.format_name == reader.name
    assert graph.object_count > 0


@pytest.mark.parametrize("name", ["dart", "hprof", "hrpy", "nettrace"])
def test_a_captured_dump_is_whole_or_refused(name: str, tmp_path: Path) -> None:
    path, data = tmp_path / "dump", SEEDS[name]()[0]
    path.write_bytes(data)
    check_whole(str(path), silent)

    path.write_bytes(gzip.compress(data))
    check_whole(str(path), silent)
    for part in (data[: len(data) // 2], gzip.compress(data)[:-9]):
        path.write_bytes(part)
        with pytest.raises(DumpError):
            check_whole(str(path), silent)


def test_every_package_of_a_format_is_in_the_registry() -> None:
    folder = Path(ingest.readers.__file__).parent
    names = {path.parent.name for path in folder.glob("*/reader.py")}
    packages = {f"ingest.readers.{name}" for name in names}

    assert packages == {one.package for one in FORMATS}
    for one in FORMATS:
        assert one.reader.__name__ == f"{one.package}.reader"  # type: ignore[attr-defined]


def test_names_and_suffixes_are_unambiguous() -> None:
    names = [reader.name for reader in FORMATS]
    suffixes = [suffix for reader in FORMATS for suffix in reader.suffixes]

    assert len(set(names)) == len(names)
    assert len(set(suffixes)) == len(suffixes)
    assert all(s.startswith(".") and s == s.lower() for s in suffixes)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/b.c/main.dartheap", "main"),
        ("app.GCLOG.txt.zst", "app"),
        ("trace.nettrace.gz", "trace"),
        ("v1.2.xml", "v1.2"),
        ("heap.log.1", "heap.log.1"),
        (".gclog", ""),
    ],
)
def test_the_stem_of_a_path(path: str, name: str) -> None:
    assert stem(path) == name


def test_the_registry_imports_nothing_heavy() -> None:
    code = (
        "import sys, ingest.readers; "
        "print(sorted({'numpy', 'numba', 'polars', 'neo4j'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
