"""What allocated most, as `ingest info` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.reports.sites import largest_sites, sites_text
from tests.dumps.v8 import program, tracked

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph


def heap(path: Path, content: bytes) -> HeapGraph:
    path.write_bytes(content)
    with open_source(str(path)) as source:
        return read(source, ReadOptions(), silent)


def test_sites_are_told_by_bytes_of_what_is_reachable(tmp_path: Path) -> None:
    graph = heap(tmp_path / "dump", tracked().bytes())
    found = largest_sites(graph, analyse(graph), 10)

    serve, inner = "serve app.js:7:3 (/srv)", "(anonymous) app.js:9:1 (/srv)"
    assert [(site["stack"], site["shallow_bytes"]) for site in found] == [
        ([], 16),
        ([inner, serve], 16),
        ([serve], 16),
        (["<function 8>", inner, serve], 16),
    ]
    assert {site["type"] for site in found} == {"Session"}
    text = sites_text({"allocation_sites": found})
    assert "(anonymous) app.js:9:1 < serve app.js:7:3" in text
    assert "unknown" in text
    assert "16 B" in text


def test_a_dump_without_sites_says_nothing(tmp_path: Path) -> None:
    graph = heap(tmp_path / "dump", program().bytes())

    found = largest_sites(graph, analyse(graph), 10)

    assert found == []
    assert sites_text({"allocation_sites": found}) == ""
