"""A heap made again from its tables is the heap that they were made of."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, IngestError
from ingest.heap.identity import Identity
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import read
from ingest.readers.gclog.example import example_gclog
from ingest.readers.source import Source
from ingest.tables.export import export
from ingest.tables.export_format import ExportFormat
from ingest.tables.heap_tables import HeapTables
from ingest.tables.parquet import StoredTables
from ingest.tables.stored_heap import StoredAbout, about_export, stored_heap
from tests.cypher.dart_heap import dart_heap

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

ABOUT = {
    "name": "a", "source": "a.log", "sha256": "ab12", "trace": "ab12/1", "part": 2,
    "tool_version": "1",
}  # fmt: skip
WHOLE: dict[str, list[object]] = {
    "format": ["gclog"], "runtime": ["dotnet"], "sha256": ["ab12"], "trace": [None],
    "part": [None], "name": ["a"], "source": ["a.log"],
    "strength_policy": ["strongest"], "redacted": [None],
}  # fmt: skip


def stored(graph: HeapGraph, folder: Path) -> HeapGraph:
    tables = HeapTables(graph, analyse(graph))
    export(tables, folder, ExportFormat.PARQUET, version="", about=ABOUT)
    about = about_export(folder)
    assert about == StoredAbout(
        graph.format_name, graph.runtime, Identity("ab12", "ab12/1", 2), "a", "a.log",
        "strongest", is_redacted=False, incomplete=graph.incomplete,
    )  # fmt: skip
    heap = stored_heap(
        StoredTables(folder), about.format, about.runtime, about.incomplete
    )
    assert heap.incomplete == graph.incomplete
    return heap


def gclog_heap() -> HeapGraph:
    text = example_gclog().encode()
    return read(Source("test", BytesIO(text), len(text)), DEFAULTS, silent)


@pytest.mark.parametrize("graph", [gclog_heap(), dart_heap()], ids=["gclog", "dart"])
def test_it_is_the_same(graph: HeapGraph, tmp_path: Path) -> None:
    again = stored(graph, tmp_path / "tables")

    for name in (
        "object_id", "type_index", "shallow_bytes", "ref_start", "ref_target",
        "root_object", "root_kind", "root_type",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))
    assert again.type_names == graph.type_names
    assert again.object_count == graph.object_count
    references = range(graph.reference_count)
    assert list(map(again.field_name, references)) == list(
        map(graph.field_name, references)
    )
    assert again.ref_kind is not None
    weak = 0 if graph.ref_kind is None else graph.ref_kind
    np.testing.assert_array_equal(again.ref_kind, weak)


def test_a_broken_table_is_said(tmp_path: Path) -> None:
    for name in ("objects", "types", "roots", "references"):
        (tmp_path / f"{name}.parquet").write_bytes(b"no table")

    with pytest.raises(IngestError, match="the tables of the dump cannot be read"):
        stored_heap(StoredTables(tmp_path), "gclog", "dotnet")


def test_an_export_of_an_earlier_version_does_not_tell_its_dump(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"no dump.parquet.*export it again"):
        about_export(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no table", "dump.parquet cannot be read"),
        ({"format": ["gclog"]}, "dump.parquet cannot be read"),
        ({**WHOLE, "part": ["two"]}, "dump.parquet cannot be read"),
        ({name: [] for name in WHOLE}, "dump.parquet cannot be read"),
        ({name: 2 * value for name, value in WHOLE.items()}, "cannot be read"),
        ({**WHOLE, "sha256": [None]}, "tells no format or no digest"),
        ({**WHOLE, "runtime": ["cobol"]}, "tells an unknown runtime: cobol"),
    ],
)
def test_a_damaged_row_of_the_dump_is_said(
    content: bytes | dict[str, list[object]], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "dump.parquet"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pl.DataFrame(content).write_parquet(path)

    with pytest.raises(DumpError, match=said):
        about_export(tmp_path)


def test_an_unknown_runtime_is_no_damage(tmp_path: Path) -> None:
    pl.DataFrame(WHOLE | {"runtime": [None]}).write_parquet(tmp_path / "dump.parquet")

    assert about_export(tmp_path).runtime == ""
