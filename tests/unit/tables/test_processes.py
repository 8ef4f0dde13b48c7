"""What identifies objects of two dumps, for each kind of evidence."""

from __future__ import annotations

import pytest

from ingest.tables.processes import Moment, Shared, SharedIds

HISTORY, ADDRESS, NUMBER = (
    ("known_at", "known_since_gc"),
    ("address",),
    ("identity_hash",),
)


def moment(runtime: str, file: str = "a", **more: int | str) -> Moment:
    values = {"trace": None, "collection_number": None, "last_object_id": None}
    return Moment(runtime, file, **(values | {"number": 1} | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        # Two moments of a trace that records collections; the same moment.
        (moment("dotnet", trace="t", collection_number=3),
         moment("dotnet", trace="t", collection_number=5), Shared(HISTORY)),
        (moment("dotnet", trace="t", collection_number=3),
         moment("dotnet", trace="t", collection_number=3), None),
        # Of Mono, a log that numbers its objects; another log, which is to be proved.
        (moment("dotnet", trace="t", last_object_id=9),
         moment("dotnet", trace="t", last_object_id=9, number=2), Shared(NUMBER)),
        (moment("dotnet", last_object_id=9), moment("dotnet", "b", last_object_id=12),
         Shared(NUMBER, is_proved=False)),
        # V8 and Ruby: files of their own.
        (moment("v8", last_object_id=9), moment("v8", "b", last_object_id=12),
         Shared(ADDRESS, is_proved=False)),
        (moment("ruby", last_object_id=9), moment("ruby", "b", last_object_id=12),
         Shared(NUMBER, is_proved=False)),
        # The same file; other runtimes; nothing that lasts, as in Perfetto and Dart.
        (moment("ruby", last_object_id=9), moment("ruby", last_object_id=9), None),
        (moment("ruby", last_object_id=9), moment("v8", "b", last_object_id=9), None),
        (moment("ruby"), moment("ruby", "b", last_object_id=9), None),
        (moment("jvm", trace="t"), moment("jvm", trace="t", number=2), None),
        (moment("dart", last_object_id=9), moment("dart", "b", last_object_id=9), None),
    ],
)  # fmt: skip
def test_dumps_share_what_identifies_objects_in_both(
    one: Moment, other: Moment, shared: Shared | None
) -> None:
    assert one.shares_with(other) == other.shares_with(one) == shared


def test_types_and_texts_decide_whether_ids_are_of_one_numbering() -> None:
    assert SharedIds(100, 91, 50, 50).is_of_one_numbering
    assert not SharedIds(100, 90, 50, 50).is_of_one_numbering
    assert not SharedIds(100, 100, 50, 49).is_of_one_numbering
    assert not SharedIds(100, 100, 0, 0).is_of_one_numbering
