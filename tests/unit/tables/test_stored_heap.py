"""A heap made again from its tables is the heap that they were made of."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import IngestError
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import read
from ingest.readers.gclog.example import example_gclog
from ingest.readers.source import Source
from ingest.tables.export import export
from ingest.tables.export_format import ExportFormat
from ingest.tables.heap_tables import HeapTables
from ingest.tables.parquet import StoredTables
from ingest.tables.stored_heap import is_export, stored_heap
from tests.cypher.dart_heap import dart_heap

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph


def stored(graph: HeapGraph, folder: Path) -> HeapGraph:
    tables = HeapTables(graph, analyse(graph))
    export(tables, folder, ExportFormat.PARQUET, version="", about={})
    assert is_export(folder)
    return stored_heap(StoredTables(folder), graph.format_name)


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
        stored_heap(StoredTables(tmp_path))
