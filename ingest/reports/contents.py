"""Tiles of many small objects, divided by type instead of left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ingest.reports.hierarchy import Tile, listed_tiles
from ingest.words.text import namespace_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.queries.answer import Answer
    from ingest.words.text import Captions

CONTENTS = "dominated-types"
"""The query for what an object dominates, merged by type."""

_LEAST_SHARE = 0.005
"""A tile is opened if this share of the heap is left out below it."""

_MOST_OPENED = 12
_MOST_OBJECTS = 1_000_000
"""The most objects below all opened tiles; the query looks at each."""

_LARGE_SHARE = 0.02
"""An object with this share of the heap keeps its own tile among small ones."""


def to_open(answer: Answer, total_bytes: int, most: int) -> list[str]:
    """Addresses of the objects whose tiles are opened.

    Args:
        answer: Rows of ``dominator-treemap``.
        total_bytes: Bytes of the heap.
        most: The most tiles to draw.
    """
    tiles = listed_tiles(answer, most)
    missing = [tile.total_bytes - tile.own_bytes for tile in tiles]
    for tile in tiles:
        if tile.parent >= 0:
            missing[tile.parent] -= tile.total_bytes
    found: list[str] = []
    budget = _MOST_OBJECTS
    for place in sorted(range(1, len(tiles)), key=lambda at: -missing[at]):
        tile = tiles[place]
        if missing[place] < _LEAST_SHARE * total_bytes or len(found) == _MOST_OPENED:
            break
        # The tile of a linked list has the address of its first object only.
        if tile.own_count == 1 and (tile.total_count or 0) <= budget:
            found.append(tile.address)
            budget -= tile.total_count or 0
    return found


def opened(
    tiles: Sequence[Tile],
    contents: Mapping[str, Answer],
    captions: Captions,
    total_bytes: int,
) -> list[Tile]:
    """Replace the small children of some tiles by one tile for each type.

    Args:
        tiles: Objects, parents before children, the top first.
        contents: Answers of `CONTENTS` by address.
        captions: Short names of the types.
        total_bytes: Bytes of the heap.
    """
    children: list[list[int]] = [[] for _ in tiles]
    for place, tile in enumerate(tiles[1:], start=1):
        children[tile.parent].append(place)
    gone = [False] * len(tiles)
    large = _LARGE_SHARE * total_bytes
    grown: list[tuple[int, dict[tuple[str, ...], dict[str, object]]]] = []
    for place, tile in enumerate(tiles):
        answer = contents.get(tile.address) if tile.address else None
        if answer is None or tile.own_count != 1:
            continue
        if len({row["domain"] for row in answer.dicts()}) > 1:
            continue  # several objects have the address
        rows = {tuple(cast("list[str]", row["path"])): row for row in answer.dicts()}
        groups: dict[tuple[str, ...], dict[str, object]] = {}
        for path, row in rows.items():
            if len(path) > 1:
                continue
            alike = [at for at in children[place] if tiles[at].type_name == path[0]]
            listed = sum(tiles[at].own_count for at in alike)
            if listed >= cast("int", row["object_count"]):
                continue
            if any(tiles[at].total_bytes >= large for at in alike):
                continue
            groups |= {at: one for at, one in rows.items() if at[0] == path[0]}
            for at in alike:
                gone[at] = True
        if groups:
            grown.append((place, groups))
    for place, tile in enumerate(tiles[1:], start=1):
        gone[place] = gone[place] or (tile.parent > 0 and gone[tile.parent])
    moved: dict[int, int] = {-1: -1}
    kept: list[Tile] = []
    for place, tile in enumerate(tiles):
        if not gone[place]:
            moved[place] = len(kept)
            kept.append(replace(tile, parent=moved[tile.parent]))
    for place, groups in grown:
        if not gone[place]:
            kept += _groups(groups, moved[place], len(kept), captions)
    return kept


def _groups(
    rows: Mapping[tuple[str, ...], Mapping[str, object]],
    parent: int,
    first: int,
    captions: Captions,
) -> list[Tile]:
    """The tiles of the answer for one object, parents before children."""
    places: dict[tuple[str, ...], int] = {(): parent}
    made: list[Tile] = []
    for path in sorted(rows, key=len):
        if path[:-1] not in places:
            continue  # the step above is not among the rows
        row, name = rows[path], captions.of(path[-1])
        count = cast("int", row["object_count"])
        places[path] = first + len(made)
        made.append(
            Tile(
                places[path[:-1]],
                f"{count:,} {name}" if count > 1 else name,
                path[-1],
                namespace_of(path[-1]),
                cast("int", row["retained_bytes"]),
                cast("int", row["shallow_bytes"]),
                cast("int", row["retained_count"]),
                count,
                object_count=count,
            )
        )
    return made
