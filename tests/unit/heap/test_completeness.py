"""Why a dump is incomplete: each reason, and what is no reason."""

from __future__ import annotations

import pytest

from ingest.heap.completeness import Irregularity, why_incomplete

WHOLE = {
    "object_count": 1000,
    "missing_count": 0,
    "reference_count": 2000,
    "root_count": 10,
}


@pytest.mark.parametrize(
    ("kind", "count", "changed", "why"),
    [
        ("truncated_record", 1, {},
            "the file ends too early (truncated record, byte 77)"),
        ("unclosed_domain", 1, {},
            "the file ends too early (unclosed domain, byte 77)"),
        ("truncated_references", 12, {},
            "12 references were announced by the events and not recorded"),
        ("lost_event", 1, {}, "1 event was lost while the dump was written"),
        ("sampled_one_in", 12, {}, "it is a sample of the heap"),
        ("malformed_record", 4, {}, "4 of 3,014 records could not be read"),
        ("malformed_record", 3, {}, ""),
        ("unread_bytes", 4096, {},
            "4.0 KiB of 2.0 MiB could not be read, first at byte 77"),
        ("unread_bytes", 1024, {}, ""),
        ("repeated_object", 500, {}, ""),
        ("unknown_root_kind", 500, {}, ""),
        ("", 0, {"object_count": 0}, "it has no objects"),
        ("", 0, {"root_count": 0},
            "it has no roots, so it does not tell what is alive"),
        ("missing_object", 747, {"missing_count": 100}, ""),
        ("missing_object", 747, {"missing_count": 112},
            "it refers to 112 objects that it does not contain"),
        ("", 0, {}, ""),
    ],
)  # fmt: skip
def test_each_reason(kind: str, count: int, changed: dict[str, int], why: str) -> None:
    found = (Irregularity(kind, count, None, 77, 1 << 21),) if kind else ()

    assert why_incomplete(found, is_sample=False, **(WHOLE | changed)) == why


def test_a_sample_is_one_however_it_is_told() -> None:
    assert why_incomplete((), is_sample=True, **WHOLE) == "it is a sample of the heap"
