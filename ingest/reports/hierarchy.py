"""Trees of sizes, ready to be drawn; one leaf stands for what is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ingest.text import titled

if TYPE_CHECKING:
    from ingest.queries.answer import Answer

MOST_TILES = 3000
"""Tiles of objects that a page carries."""

SHORTEST_RUN = 4
"""Fewest objects to fold, each the only child of its type of the one before."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One vertex of a tree.

    Attributes:
        parent: Index of its parent, which comes before it; -1 at the top.
        label: Name to show.
        type_name: Full type name; empty if it has none.
        namespace: Namespace of the type.
        total_bytes: Size of it and everything below it, bytes.
        own_bytes: Size of it alone, bytes.
        total_count: Objects in ``total_bytes``; ``None`` if unknown.
        own_count: Objects in ``own_bytes``.
        address: Address of the object, or of the first one of a run.
        is_rest: Whether it stands for everything left out below its parent.
        value: Start of the text or name stored in the object.
        generation: Generation of the object, if known.
    """

    parent: int
    label: str
    type_name: str
    namespace: str
    total_bytes: int
    own_bytes: int
    total_count: int | None
    own_count: int
    address: str = ""
    is_rest: bool = False
    value: str = ""
    generation: int | None = None

    @property
    def title(self) -> str:
        """Its label, and the value of the object."""
        return titled(self.label, self.value)


def whole_heap(total_bytes: int, total_count: int | None = None) -> Tile:
    """Make the root of a tree."""
    return Tile(-1, "Reachable heap", "", "", total_bytes, 0, total_count, 0)


def rest_of(parent: int, total_bytes: int, count: int | None) -> Tile:
    """Make a leaf for what is left out below ``parent``."""
    label = "others" if count is None else f"{count:,} other{'s' * (count != 1)}"
    return Tile(parent, label, "", "", total_bytes, 0, count, 0, is_rest=True)


def dominator_tiles(answer: Answer, top: Tile) -> list[Tile]:
    """Make the tree of ``dominator-treemap`` below ``top``.

    Runs of one type are one tile each. Only the `MOST_TILES` largest are used, and
    leaves stand for what is left out below them, so that bytes and objects add up.
    """
    places: dict[object, int] = {None: 0}
    tiles = [top]
    for row in answer.dicts():
        places[row["object"]] = len(tiles)
        name = str(row["type"])
        tiles.append(
            Tile(
                places[row["dominator"]],
                answer.captions.of(name),
                name,
                str(row["namespace"]),
                cast("int", row["retained_bytes"]),
                cast("int", row["shallow_bytes"]),
                cast("int", row["retained_count"]),
                1,
                str(row["address"]),
                value=str(row["value"]),
                generation=cast("int | None", row["generation"]),
            )
        )
    # Folding leaves them in order: the largest first, parents before children.
    return with_rests(_without_runs(tiles)[: MOST_TILES + 1])


def merged_tiles(answer: Answer) -> list[Tile]:
    """Make the tree of ``type-tree`` or ``root-path-tree``; empty without rows."""
    places: dict[object, int] = {}
    tiles: list[Tile] = []
    for row in answer.dicts():
        places[row["path"]] = len(tiles)
        total_bytes = cast("int", row["total_bytes"])
        total_count = cast("int", row["total_count"])
        if not tiles:
            tiles.append(whole_heap(total_bytes, total_count))
            continue
        name = str(row["type"])
        # Only objects have types, and only kinds of roots have none of those.
        is_type = cast("int", row["object_count"]) > 0
        tiles.append(
            Tile(
                places[row["parent"]],
                answer.captions.of(name)
                if is_type
                else f"{name.replace('_', ' ')} roots",
                name if is_type else "",
                str(row["namespace"]),
                total_bytes,
                cast("int", row["shallow_bytes"]),
                total_count,
                cast("int", row["object_count"]),
            )
        )
    return with_rests(tiles)


def _without_runs(tiles: list[Tile]) -> list[Tile]:
    """Merge each long run of one type into one tile with the children of all."""
    head = list(range(len(tiles)))
    members = [[place] for place in head]
    alike: dict[int, list[int]] = {}
    for place, tile in enumerate(tiles[1:], start=1):
        if tile.type_name == tiles[tile.parent].type_name:
            alike.setdefault(tile.parent, []).append(place)
    for place, tile in enumerate(tiles[1:], start=1):
        if alike.get(tile.parent) == [place]:
            head[place] = head[tile.parent]
            members[head[place]].append(place)
    merged: list[Tile] = []
    at = [0] * len(tiles)
    for place, tile in enumerate(tiles):
        run = members[head[place]]
        if head[place] != place and len(run) >= SHORTEST_RUN:
            at[place] = at[head[place]]
            continue
        at[place] = len(merged)
        tile = replace(tile, parent=at[tile.parent] if place else -1)
        if head[place] == place and len(run) >= SHORTEST_RUN:
            tile = replace(
                tile,
                label=f"{tile.label}, {len(run):,} in a row",
                value="",
                own_bytes=sum(tiles[member].own_bytes for member in run),
                own_count=len(run),
            )
        merged.append(tile)
    return merged


def with_rests(tiles: list[Tile]) -> list[Tile]:
    """Append a leaf for each tile whose children do not add up to its total."""
    missing_bytes = [tile.total_bytes - tile.own_bytes for tile in tiles]
    missing_count = [
        None if tile.total_count is None else tile.total_count - tile.own_count
        for tile in tiles
    ]
    for tile in tiles[1:]:
        missing_bytes[tile.parent] -= tile.total_bytes
        before = missing_count[tile.parent]
        if before is not None and tile.total_count is not None:
            missing_count[tile.parent] = before - tile.total_count
    return tiles + [
        rest_of(place, missing_bytes[place], missing_count[place])
        for place in range(len(tiles))
        if missing_bytes[place] or missing_count[place]
    ]
