"""A tree of sizes on a terminal."""

from __future__ import annotations

from ingest.reports.hierarchy import MOST_LINES, Tile, tree_text, whole_heap, with_rests


def tile(parent: int, name: str, total: int, own: int = 1) -> Tile:
    return Tile(parent, name, f"N.{name}", "N", total, own, None, 1, f"0x{total:x}")


def test_the_largest_come_first_and_siblings_of_one_type_are_merged() -> None:
    tiles = [
        whole_heap(1000),
        tile(0, "Cache", 600),
        tile(1, "Array", 599),
        tile(2, "Item", 150, 150),
        *[tile(2, "Item", 100, 100) for _ in range(4)],
        tile(0, "Other", 300, 300),
    ]

    assert tree_text(with_rests(tiles)).splitlines() == [
        "   60.0% ██████     Cache 0x258",
        "   59.9% ██████     └ Array 0x257",
        "   40.0% ████         └ … 4 more Item",
        "   15.0% █▌           └ Item 0x96",
        "    4.8% ▌            └ others",
        "   30.0% ███        Other 0x12c",
        "   10.0% █          others",
    ]


def test_it_is_one_screen() -> None:
    tiles = [whole_heap(10**6)]
    for at in range(300):
        long = "long" * 40 + str(at)
        tiles.append(tile(max(at - at % 7, 0), long, 10**6 - at, 0))

    lines = tree_text(tiles).splitlines()

    assert len(lines) == MOST_LINES
    assert max(map(len, lines)) <= 80


def test_an_empty_heap_has_no_tree() -> None:
    assert tree_text([whole_heap(0)]) == ""


def test_names_are_printable() -> None:
    tiles = [whole_heap(10), tile(0, "\x1b[31m", 10, 10)]

    assert "\x1b" not in tree_text(tiles)
