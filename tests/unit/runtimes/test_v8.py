"""What is known of V8."""

from __future__ import annotations

import numpy as np
import pytest

from ingest.runtimes import V8
from ingest.runtimes.base import TypeColumns

NAMES = ["EventEmitter", "{change}", "Function", "Session"]


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([(0, 1, 4), (1, 2, 9)], [1]),
        ([(0, 1, 3), (3, 1, 1), (1, 2, 9)], [1]),
        ([(0, 1, 1), (3, 1, 3), (1, 2, 9)], []),  # mostly held by others
        ([(0, 1, 4), (1, 2, 9), (1, 3, 1)], []),  # has more than listeners
        ([(3, 1, 4), (1, 2, 9)], []),
    ],
)
def test_tables_of_listeners(
    pairs: list[tuple[int, int, int]], found: list[int]
) -> None:
    assert V8.delegate_types is not None
    source, target, count = (
        np.array(column, np.int32) for column in zip(*pairs, strict=True)
    )
    columns = TypeColumns(
        names=NAMES,
        classes=V8.type_classes(NAMES),
        instance_count=np.array([4, 4, 9, 4]),
        shallow_bytes=np.full(4, 100),
        pair_source=source,
        pair_target=target,
        pair_count=count.astype(np.int64),
    )
    assert V8.delegate_types(columns).tolist() == found
