"""What a sample stands for, in the tables and in ``info``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.metrics import analyse
from ingest.heap.graph import Sampling
from ingest.tables.estimates import MOST, of_heap
from ingest.tables.heap_tables import HeapTables
from tests.cypher.heap import two_domains
from tests.dumps.gcdump import program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

COLUMNS = ["estimated_count", "estimated_bytes"]


def sampled(count: float, size: float) -> HeapTables:
    graph = two_domains()
    many = len(graph.type_names)
    sampling = Sampling(np.full(many, count), np.full(many, size), count, size)
    graph = replace(graph, sampling=sampling)
    return HeapTables(graph, analyse(graph))


def test_a_dump_that_has_all_tells_no_estimate() -> None:
    graph = two_domains()
    tables = HeapTables(graph, analyse(graph))

    assert set(COLUMNS) <= tables.absent("types")
    assert tables.part("types", 1, 3)[COLUMNS].null_count().row(0) == (2, 2)
    assert [tables.dump()[name] for name in COLUMNS] == [None, None]


def test_a_part_of_the_types_is_estimated_like_all_of_them() -> None:
    tables = sampled(2.5, 1.25)
    types = tables.rows("types")
    every = tables.part("types", 0, types)

    assert not set(COLUMNS) & tables.absent("types")
    assert every["estimated_count"].to_list() == [
        round(2.5 * n) for n in every["instance_count"]
    ]
    assert every["estimated_bytes"].to_list() == [
        round(1.25 * n) for n in every["shallow_bytes"]
    ]
    assert tables.part("types", 1, types).equals(every[1:])


def test_no_multiplier_is_too_large() -> None:
    assert of_heap(sampled(3e38, 1.0).graph)["estimated_count"] == MOST


def test_info_tells_what_a_sample_stands_for(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    whole, sample = program(), program()
    sample.average = (4.0, 3.0)
    for name, dump in (("whole", whole), ("sample", sample)):
        (tmp_path / name).write_bytes(dump.file())

    told = json.loads(ingest("info", str(tmp_path / "sample"), "--json")[1])
    untold = json.loads(ingest("info", str(tmp_path / "whole"), "--json")[1])
    _, text, _ = ingest("info", str(tmp_path / "sample"))

    assert (told["estimated_objects"], told["estimated_bytes"]) == (20, 60408)
    assert max(row["estimated_bytes"] for row in told["top_types"]) == 60144
    assert (untold["estimated_objects"], untold["estimated_bytes"]) == (None, None)
    assert "estimated_count" not in untold["top_types"][0]
    assert "estimated objects              20" in text
