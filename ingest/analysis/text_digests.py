"""Numbers that are equal for equal texts, to compare the texts of two heaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.hashing import FNV_OFFSET, fnv1a
from ingest.heap.values import ValueKind

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs
    from ingest.heap.values import ObjectValues

_UTF16 = int(ValueKind.UTF16)


@kernel
def _digest(row: Ints, kind: Bytes, start: Longs, content: Bytes, digest: Ids) -> None:
    """Fill ``digest`` where the value is a text, never with 0."""
    for i in range(len(row)):
        if kind[i] > _UTF16:
            continue
        found = fnv1a(content, start[i], start[i + 1], FNV_OFFSET)
        digest[row[i]] = found | np.uint64(1)


def text_digests(values: ObjectValues | None, object_count: int) -> Ids:
    """uint64 (N,): a digest of each object that is a text; 0 for others."""
    digest = np.zeros(object_count, np.uint64)
    if values is not None:
        _digest(values.object_index, values.kind, values.start, values.content, digest)
    return digest
