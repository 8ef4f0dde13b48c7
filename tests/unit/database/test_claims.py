"""Where a dump may be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ingest.database.claims import Place, place_for
from ingest.database.dump_list import DumpInfo
from ingest.errors import StoreError
from ingest.heap.identity import Identity

A, B, C = (Identity(letter * 64) for letter in "abc")


def loaded(number: int, name: str, identity: Identity) -> DumpInfo:
    return DumpInfo(
        number, name, "f", "s", identity.sha256, None, None,
        1, 1, 0, 0, 0, 0, 0, [], 0, 0, False, "strongest", "2026-01-02T03:04:05Z",
    )  # fmt: skip


PRESENT = [loaded(2, "x-2", B), loaded(1, "x", A)]


@pytest.mark.parametrize(
    ("identity", "wished", "replace", "expected"),
    [
        (A, None, False, PRESENT[1]),
        (A, "x", False, PRESENT[1]),
        (A, "new", False, PRESENT[1]),
        (C, None, False, Place("x-3")),
        (C, "new", False, Place("new", is_exact=True)),
        (None, "new", False, Place("new", is_exact=True)),
        (B, None, True, Place("x-2", replaced=(PRESENT[0],))),
        (C, "x", True, Place("x", is_exact=True, replaced=(PRESENT[1],))),
        (B, "x", True, Place("x", is_exact=True, replaced=(*PRESENT,))),
        (C, None, True, Place("x-3")),
    ],
)
def test_the_place_of_a_dump(
    identity: Identity | None, wished: str | None, replace: bool, expected: object
) -> None:
    assert place_for(PRESENT, identity, wished, "x", replace=replace) == expected


@pytest.mark.parametrize("identity", [None, A, C])
def test_a_name_of_another_dump_is_taken(identity: Identity | None) -> None:
    with pytest.raises(StoreError, match="another dump is named 'x-2'"):
        place_for(PRESENT, identity, "x-2")


@pytest.mark.parametrize(("there", "now"), [("", "--fold none"), ("--fold none", "")])
def test_what_was_read_otherwise_is_not_there_already(there: str, now: str) -> None:
    present = [replace(PRESENT[1], read_options=there)]

    with pytest.raises(StoreError, match=r"already loaded as x, .*--replace"):
        place_for(present, A, None, "x", options=now)
    assert place_for(present, A, None, "x", options=there) == present[0]
    found = place_for(present, A, None, "x", options=now, replace=True)
    assert found == Place("x", replaced=(present[0],))
