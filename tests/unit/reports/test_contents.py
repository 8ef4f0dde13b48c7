"""Small objects below a tile are opened by type, and the sums stay right."""

from __future__ import annotations

from ingest.queries.answer import Answer
from ingest.reports.contents import opened, to_open
from ingest.reports.hierarchy import Tile, dominator_tiles, listed_tiles, whole_heap
from ingest.words.text import Captions
from tests.unit.reports.test_hierarchy import answer

COLUMNS = (
    "domain",
    "path",
    "object_count",
    "shallow_bytes",
    "retained_count",
    "retained_bytes",
)
ENTRIES = 500
PARENTS: list[int | None] = [
    None,
    *[0] * ENTRIES,
    *range(1, ENTRIES + 1),
]
"""A table of entries, each of which dominates a session."""

TYPES = [0, *[1] * ENTRIES, *[2] * ENTRIES]
SIZES = [40, *[10] * ENTRIES, *[70] * ENTRIES]
TOTAL = sum(SIZES)
CONTENTS = Answer(
    COLUMNS,
    (
        (None, ["N.T1"], 500, 5000, 1000, 40000),
        (None, ["N.T1", "N.T2"], 500, 35000, 500, 35000),
    ),
)


def tree(limit: int) -> list[Tile]:
    found, total = answer(PARENTS, TYPES, SIZES, limit)
    tiles = opened(listed_tiles(found, 3000), {"0x0": CONTENTS}, Captions(), total)
    return dominator_tiles(tiles, whole_heap(total, len(PARENTS)))


def test_what_has_much_in_small_objects_is_asked_for() -> None:
    found, total = answer(PARENTS, TYPES, SIZES, 11)
    assert to_open(found, total, 3000) == ["0x0"]
    everything, total = answer(PARENTS, TYPES, SIZES, len(PARENTS))
    assert to_open(everything, total, 3000) == []
    assert to_open(everything, total, 11) == ["0x0"]


def test_small_children_are_one_tile_of_their_type_with_what_is_in_them() -> None:
    tiles = tree(11)
    assert [(tile.label, tile.total_bytes) for tile in tiles] == [
        ("Reachable heap", TOTAL),
        ("T0", TOTAL),
        ("500 T1", 40000),
        ("500 T2", 35000),
    ]
    assert [tile.parent for tile in tiles] == [-1, 0, 1, 2]
    for place, tile in enumerate(tiles):
        below = [one.total_bytes for one in tiles if one.parent == place]
        assert tile.total_bytes == tile.own_bytes + sum(below)


def test_all_objects_stay_where_all_are_listed() -> None:
    found, total = answer(PARENTS, TYPES, SIZES, len(PARENTS))
    listed = listed_tiles(found, 3000)
    assert opened(listed, {"0x0": CONTENTS}, Captions(), total) == listed


def test_a_large_object_among_small_ones_stays_a_tile() -> None:
    sizes = [*SIZES]
    sizes[600] = 5000
    found, total = answer(PARENTS, TYPES, sizes, 11)
    listed = listed_tiles(found, 3000)
    assert opened(listed, {"0x0": CONTENTS}, Captions(), total) == listed


def test_an_address_that_several_objects_have_is_not_opened() -> None:
    found, total = answer(PARENTS, TYPES, SIZES, 11)
    rows = tuple((at, *row[1:]) for at, row in enumerate(CONTENTS.rows))
    listed = listed_tiles(found, 3000)
    several = {"0x0": Answer(COLUMNS, rows)}
    assert opened(listed, several, Captions(), total) == listed
