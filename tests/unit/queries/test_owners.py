"""What owners-of-type takes for a collection, by the short name of its type."""

from __future__ import annotations

import re

import pytest

from ingest.queries.library import find

_SKIP = next(one for one in find("owners-of-type").parameters if one.name == "skip")


@pytest.mark.parametrize(
    ("name", "is_collection"),
    [
        ("Object[]", True), ("List`1[[Order]]", True), ("HashMap", True),
        ("dict", True), ("tuple", True), ("set", True),  # CPython
        ("Array", True), ("Map", True), ("Set", True),  # V8
        ("Store", False), ("Settings", False), ("Bitmap", False),
        ("Prediction", False), ("ArrayView", False),
    ],
)  # fmt: skip
def test_collections_are_no_owners(name: str, is_collection: bool) -> None:
    assert bool(re.fullmatch(str(_SKIP.default), name)) is is_collection
