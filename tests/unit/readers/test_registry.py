"""The registry of formats, and what the face of each offers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ingest.readers
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import READERS, open_source, read, reader_for, stem
from tests.dumps import clrprofiler, dartheap, gcdump, hprof, nettrace
from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from ingest.readers.base import Reader

DUMPS = {
    "dartheap": dartheap.program().bytes(),
    "hprof": hprof.program().bytes(),
    "gcdump": gcdump.program().file(),
    "nettrace": nettrace.program().file(),
    "traverseheap": clrprofiler.sos_heap().sos_xml(),
    "clrprofiler": clrprofiler.program().bytes(),
    "gclog": Gclog().domain("x").type(1, "A").object(16, 1, 8).root(16).bytes(),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.NAME)
def test_a_format_claims_its_dumps_and_names_their_graphs(
    reader: Reader, tmp_path: Path
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(DUMPS[reader.NAME])
    with open_source(str(path)) as source:
        assert reader_for(source) is reader
        graph = read(source, DEFAULTS, silent)

    assert graph.format_name == reader.NAME
    assert graph.object_count > 0


def test_every_package_of_a_format_is_in_the_registry() -> None:
    folder = Path(ingest.readers.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/signature.py")}

    assert packages == {reader.__name__.split(".")[-1] for reader in READERS}  # type: ignore[attr-defined]


def test_names_and_suffixes_are_unambiguous() -> None:
    names = [reader.NAME for reader in READERS]
    suffixes = [suffix for reader in READERS for suffix in reader.SUFFIXES]

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
