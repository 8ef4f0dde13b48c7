"""Trees of sizes: totals add up, and runs of one type are one tile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.queries.answer import Answer
from ingest.reports.hierarchy import (
    MOST_TILES,
    Tile,
    dominator_tiles,
    grouped,
    listed_tiles,
    merged_tiles,
    whole_heap,
)
from ingest.words.text import Captions

COLUMNS = (
    "object",
    "dominator",
    "type",
    "namespace",
    "address",
    "value",
    "shallow_bytes",
    "retained_bytes",
    "retained_count",
    "root_distance",
    "generation",
)


def answer(
    parents: list[int | None], types: list[int], sizes: list[int], limit: int
) -> tuple[Answer, int]:
    """Return the rows of the query for a tree, and its total bytes."""
    retained, count = list(sizes), [1] * len(parents)
    for i in range(len(parents) - 1, -1, -1):
        if (p := parents[i]) is not None:
            retained[p] += retained[i]
            count[p] += count[i]
    rows = [
        (
            i,
            p,
            f"N.T{types[i]}",
            "N",
            hex(i),
            "",
            sizes[i],
            retained[i],
            count[i],
            1,
            None,
        )
        for i, p in enumerate(parents)
        if retained[i]
    ]
    rows.sort(key=lambda row: (-row[7], -row[8], row[0]))
    return Answer(COLUMNS, tuple(rows[:limit])), sum(sizes)


def tiles_of(found: Answer) -> list[Tile]:
    return listed_tiles(found, MOST_TILES)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int | None], list[int], list[int], int]:
    n = draw(st.integers(0, 12))
    parents = [draw(st.none() | st.integers(0, i - 1)) if i else None for i in range(n)]
    types = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    sizes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return parents, types, sizes, draw(st.integers(0, 12))


@given(trees())
def test_bytes_and_objects_add_up_below_every_tile(
    tree: tuple[list[int | None], list[int], list[int], int],
) -> None:
    parents, types, sizes, limit = tree
    found, total = answer(parents, types, sizes, limit)

    tiles = dominator_tiles(tiles_of(found), whole_heap(total, len(parents)))

    for place, tile in enumerate(tiles):
        assert tile.parent < place
        below = [other for other in tiles if other.parent == place]
        if not tile.is_rest:
            bytes_below = sum(other.total_bytes for other in below)
            assert tile.total_bytes == tile.own_bytes + bytes_below
            counted = sum(other.total_count or 0 for other in below)
            assert tile.total_count == tile.own_count + counted
        assert sum(other.is_rest for other in below) <= 1


def labels(tiles: list[Tile]) -> list[tuple[str, int]]:
    return [(tile.label, tile.parent) for tile in tiles]


def test_a_linked_list_is_one_tile_with_the_children_of_all() -> None:
    #  0 -> 1 -> 2 -> 3 of one type, and 4 below 2
    found, total = answer([None, 0, 1, 2, 2], [0, 0, 0, 0, 1], [1, 1, 1, 1, 8], 9)

    tiles = dominator_tiles(tiles_of(found), whole_heap(total, 5))

    assert labels(tiles) == [
        ("Reachable heap", -1),
        ("T0 … 3 more links", 0),
        ("T1", 1),
    ]
    assert (tiles[1].own_bytes, tiles[1].own_count) == (4, 4)


def test_a_tree_of_one_type_and_a_short_run_stay() -> None:
    found, total = answer([None, 0, 0, 1, 1], [0] * 5, [1] * 5, 9)
    assert len(dominator_tiles(tiles_of(found), whole_heap(total, 5))) == 6
    found, total = answer([None, 0, 1], [0] * 3, [1] * 3, 9)
    assert len(dominator_tiles(tiles_of(found), whole_heap(total, 3))) == 4


def test_what_is_left_out_is_one_leaf() -> None:
    found, total = answer([None, 0, 0, 0], [0, 1, 2, 3], [1, 5, 4, 3], 2)

    tiles = dominator_tiles(tiles_of(found), whole_heap(total, 4))

    assert labels(tiles)[3:] == [("2 others", 1)]
    assert (tiles[3].total_bytes, tiles[3].is_rest) == (7, True)
    # Without knowing how many objects there are:
    found, total = answer([None, None], [0, 1], [5, 4], 1)
    assert dominator_tiles(tiles_of(found), whole_heap(total))[2].label == "others"


def merged(*rows: tuple[int, int | None, str, int, int, int]) -> list[Tile]:
    """Path, parent, type, objects, objects with those below, bytes with those below."""
    columns = (
        "path parent type object_count total_count total_bytes namespace shallow_bytes"
    )
    return merged_tiles(
        Answer(tuple(columns.split()), tuple((*row, "N", 0) for row in rows))
    )


def test_what_is_left_out_is_told_by_type_where_one_object_has_it() -> None:
    #  0 dominates four objects of T1 and two of T2, of which three are listed
    parents = [None, 0, 0, 0, 0, 0, 0]
    found, total = answer(parents, [0, 1, 1, 1, 1, 2, 2], [1, 9, 2, 2, 2, 8, 1], 3)
    by_type = merged(
        (0, None, "", 0, 7, total),
        (1, 0, "N.T0", 1, 7, total),
        (2, 1, "N.T1", 4, 4, 15),
        (3, 1, "N.T2", 2, 2, 9),
    )

    tiles = dominator_tiles(tiles_of(found), by_type[0], by_type)

    assert labels(tiles)[4:] == [("3 T1", 1), ("T2", 1)]
    assert [(t.total_bytes, t.total_count) for t in tiles[4:]] == [(6, 3), (1, 1)]
    inside = grouped(tiles, Captions())
    assert [(t.label, inside[t.parent].label) for t in inside[2:]] == [
        ("4 T1", "T0"),
        ("T1", "4 T1"),
        ("3 T1", "4 T1"),
        ("T2", "T0"),
        ("T2", "T0"),
    ]


@given(trees())
def test_groups_change_no_sum(
    tree: tuple[list[int | None], list[int], list[int], int],
) -> None:
    parents, types, sizes, limit = tree
    found, total = answer(parents, types, sizes, limit)
    tiles = dominator_tiles(tiles_of(found), whole_heap(total, len(parents)))

    made = grouped(tiles, Captions())

    assert len(made) >= len(tiles)
    for place, tile in enumerate(made):
        assert tile.parent < place
        below = [other for other in made if other.parent == place]
        if below:
            bytes_below = sum(other.total_bytes for other in below)
            assert tile.total_bytes == tile.own_bytes + bytes_below
