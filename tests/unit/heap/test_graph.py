"""The gate that every graph goes through, for the columns that not all have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ingest.errors import InvalidGraph
from ingest.heap.graph import Sampling, Segment
from tests.unit.graphs import graph_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRAPH = graph_of([1], [], roots=[0])


def int8(*values: int) -> NDArray[np.int8]:
    return np.array(values, np.int8)


def int32(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def sampling(types: int) -> Sampling:
    return Sampling(np.ones(types), np.ones(types), 1.0, 1.0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"generation": int8(0)}, "generation is int8"),
        ({"generation": int32(0, 0)}, "generation is int32"),
        ({"generation": int8(0, 5)}, r"generation\[1\] is 5"),
        ({"generation": int8(-2, 0)}, r"generation\[0\] is -2"),
        ({"segment_index": int32(0, 0)}, r"segment_index\[0\] is 0"),
        ({"segment_index": int32(-1, -2)}, r"segment_index\[1\] is -2"),
        ({"sampling": sampling(99)}, "sampling is not that of"),
    ],
)
def test_columns_that_contradict_the_graph(
    columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidGraph, match=message):
        replace(GRAPH, **columns)


def test_columns_that_a_graph_may_have() -> None:
    graph = replace(
        GRAPH,
        generation=int8(-1, 4),
        segment_index=int32(-1, 0),
        segments=(Segment(16, 32),),
        sampling=sampling(len(GRAPH.type_names)),
    )

    assert graph.generation is not None
    assert not graph.generation.flags.writeable
