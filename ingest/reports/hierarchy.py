"""Trees of sizes, ready to be drawn; one leaf stands for what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, cast

from ingest.reports.render import width
from ingest.words.text import printable, titled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.queries.answer import Answer
    from ingest.words.text import Captions


MOST_TILES = 3000
"""The most tiles of objects on a page."""

SHORTEST_RUN = 4
"""Fewest objects of a run: each is the only child of its type of the one before."""

FEWEST_ALIKE = 4
"""Fewest siblings of one type that become one tile."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One vertex of a tree.

    Attributes:
        parent: Index of its parent, which comes before it; -1 at the top.
        label: Name to show.
        type_name: Full type name; empty if it has none.
        namespace: Namespace of the type.
        total_bytes: Size of the tile and everything below it, bytes.
        own_bytes: Size of the tile alone, bytes.
        total_count: Objects in ``total_bytes``; ``None`` if unknown.
        own_count: Objects in ``own_bytes``.
        address: Address of the object, or of the first one of a run.
        is_rest: Whether it stands for everything left out below its parent.
        value: Start of the text or name stored in the object.
        generation: Generation of the object, if known.
        object_count: Objects that the tile stands for, without those below it.
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
    object_count: int = 1

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


def links_text(name: str, count: int) -> str:
    """Return the label of ``count`` objects, each dominated by the one before."""
    return f"{name} … {count - 1:,} more links"


def listed_tiles(answer: Answer, most: int) -> list[Tile]:
    """Tiles of the objects of ``dominator-treemap``, the largest first.

    Runs of one type are one tile each. The first tile is the heap, without a size.

    Args:
        answer: Rows of the query.
        most: The most objects; the largest stay.
    """
    places: dict[object, int] = {None: 0}
    tiles = [whole_heap(0)]
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
    return _without_runs(tiles)[: most + 1]


def dominator_tiles(
    tiles: Sequence[Tile], top: Tile, by_type: Sequence[Tile] = ()
) -> list[Tile]:
    """Make the tree of objects below ``top``.

    Leaves stand for what is left out below the tiles, so that bytes and objects add up.

    Args:
        tiles: As `listed_tiles` makes them.
        top: The root of the tree.
        by_type: The same tree merged by type. It names the types of what is left out
            where only one object has a path of types.
    """
    tiles = [top, *tiles[1:]]
    return with_rests([*tiles, *_left_out(tiles, by_type)])


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
        # Only groups of objects have types; kinds of roots have none.
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


def runs(parents: Sequence[int], types: Sequence[str]) -> tuple[list[int], list[int]]:
    """Find the runs of one type in a tree.

    Args:
        parents: The parent of each vertex, which comes before it; 0 is the top.
        types: Type of each vertex.

    Returns:
        For each vertex the first one of its run, and the length of the run; 1 if the
        run is shorter than `SHORTEST_RUN`.
    """
    alike: dict[tuple[int, str], int] = {}
    for parent, name in zip(parents[1:], types[1:], strict=True):
        alike[parent, name] = alike.get((parent, name), 0) + 1
    head = list(range(len(parents)))
    length = [1] * len(parents)
    for place in range(1, len(parents)):
        parent, name = parents[place], types[place]
        if parent and name == types[parent] and alike[parent, name] == 1:
            head[place] = head[parent]
            length[head[place]] += 1
    for place, first in enumerate(head):
        if length[first] < SHORTEST_RUN:
            head[place] = place
    return head, [
        length[first] if length[first] >= SHORTEST_RUN else 1 for first in head
    ]


def _without_runs(tiles: list[Tile]) -> list[Tile]:
    """Merge each run of one type into one tile with the children of all."""
    head, length = runs(
        [tile.parent for tile in tiles], [tile.type_name for tile in tiles]
    )
    own_bytes = [0] * len(tiles)
    for place, tile in enumerate(tiles):
        own_bytes[head[place]] += tile.own_bytes
    merged: list[Tile] = []
    at = [0] * len(tiles)
    for place, tile in enumerate(tiles):
        if head[place] != place:
            at[place] = at[head[place]]
            continue
        at[place] = len(merged)
        tile = replace(tile, parent=at[tile.parent] if place else -1)
        if length[place] > 1:
            tile = replace(
                tile,
                label=links_text(tile.label, length[place]),
                value="",
                own_bytes=own_bytes[place],
                own_count=length[place],
            )
        merged.append(tile)
    return merged


def _left_out(tiles: Sequence[Tile], by_type: Sequence[Tile]) -> list[Tile]:
    """Return leaves for the objects left out below tiles, one for each type.

    They are below the top, or below an object that alone has its path of types.
    """
    paths = {
        (tile.parent, tile.type_name): place
        for place, tile in enumerate(by_type)
        if tile.type_name
    }
    node: list[int | None] = [0 if by_type else None]
    for tile in tiles[1:]:
        above = node[tile.parent]
        found = None if above is None else paths.get((above, tile.type_name))
        alone = found is not None and by_type[found].own_count == tile.own_count == 1
        node.append(found if alone else None)
    # Consecutive objects of one type are one step of a path.
    alike = [tile.own_count for tile in tiles]
    listed: dict[tuple[int, str], list[int]] = {}
    for place in range(len(tiles) - 1, 0, -1):
        tile = tiles[place]
        if tile.type_name == tiles[tile.parent].type_name:
            alike[tile.parent] += alike[place]
        sums = listed.setdefault((tile.parent, tile.type_name), [0, 0, 0])
        sums[0] += tile.total_bytes
        sums[1] += tile.total_count or 0
        sums[2] += alike[place]
    at = {path: place for place, path in enumerate(node) if path is not None}
    leaves = []
    for merged in by_type[1:]:
        parent = at.get(merged.parent)
        if parent is None or not merged.type_name:
            continue
        key = (parent, merged.type_name)
        total_bytes, total_count, count = listed.get(key, (0, 0, 0))
        total_bytes = merged.total_bytes - total_bytes
        total_count = (merged.total_count or 0) - total_count
        count = merged.own_count - count
        if min(total_bytes, total_count, count) > 0:
            leaves.append(
                replace(
                    merged,
                    parent=parent,
                    label=f"{count:,} {merged.label}" if count > 1 else merged.label,
                    total_bytes=total_bytes,
                    own_bytes=total_bytes,
                    total_count=total_count,
                    own_count=total_count,
                    object_count=count,
                )
            )
    return leaves


def grouped(tiles: Sequence[Tile], captions: Captions) -> list[Tile]:
    """Put siblings of one type inside a tile of their own, if there are many.

    Args:
        tiles: The tree.
        captions: Short names of the types.
    """
    children: list[list[int]] = [[] for _ in tiles]
    for place, tile in enumerate(tiles[1:], start=1):
        children[tile.parent].append(place)
    made: list[Tile] = []
    waiting = [(0, -1)]
    for place, above in waiting:
        here = len(made)
        made.append(replace(tiles[place], parent=above))
        by_type: dict[str, list[int]] = {}
        for child in children[place]:
            tile = tiles[child]
            name = "" if tile.is_rest else tile.type_name
            by_type.setdefault(name, []).append(child)
        for name, alike in by_type.items():
            many = sum(tiles[child].object_count for child in alike)
            if not name or many < FEWEST_ALIKE or len(alike) == 1:
                waiting += [(child, here) for child in alike]
                continue
            waiting += [(child, len(made)) for child in alike]
            label = f"{many:,} {captions.of(name)}"
            made.append(_group([tiles[child] for child in alike], here, label, many))
    return made


def _group(alike: Sequence[Tile], parent: int, label: str, many: int) -> Tile:
    """Make the tile around siblings of one type."""
    first = alike[0]
    counts = [tile.total_count for tile in alike if tile.total_count is not None]
    ages = {tile.generation for tile in alike}
    return Tile(
        parent,
        label,
        first.type_name,
        first.namespace,
        sum(tile.total_bytes for tile in alike),
        0,
        sum(counts) if len(counts) == len(alike) else None,
        0,
        generation=ages.pop() if len(ages) == 1 else None,
        object_count=many,
    )


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


MOST_LINES = 20
_LEAST_SHARE = 0.005
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_DEEPEST_INDENT = 12


@dataclass(slots=True)
class _Line:
    """A tile, or siblings of one type, and the lines below it."""

    text: str
    total_bytes: int
    tile: int | None
    below: list[_Line] = field(default_factory=list)


def tree_text(tiles: Sequence[Tile], indent: str = "  ") -> str:
    """Draw the largest tiles of a tree; bars and percentages are shares of the root.

    If more than two siblings have one type, the others share a line after the largest.
    """
    total = tiles[0].total_bytes
    children: list[list[int]] = [[] for _ in tiles]
    for place, tile in enumerate(tiles[1:], start=1):
        children[tile.parent].append(place)
    top = _Line("", total, 0)
    waiting: list[tuple[int, int, _Line, _Line]] = []

    def open_(line: _Line) -> None:
        inside = [] if line.tile is None else _lines(tiles, children[line.tile])
        for below in inside:
            if below.total_bytes >= _LEAST_SHARE * total:
                heappush(waiting, (-below.total_bytes, len(order), below, line))
                order.append(below)

    order: list[_Line] = []
    open_(top)
    for _ in range(MOST_LINES):
        if not waiting:
            break
        _, _, line, above = heappop(waiting)
        above.below.append(line)
        open_(line)
    return "".join(
        f"{indent}{text}"[: width()].rstrip() + "\n" for text in _drawn(top, total, 0)
    )


def _lines(tiles: Sequence[Tile], places: Sequence[int]) -> list[_Line]:
    """Return lines for siblings, the largest first."""
    by_type: dict[tuple[str, bool], list[int]] = {}
    for place in sorted(places, key=lambda at: -tiles[at].total_bytes):
        tile = tiles[place]
        by_type.setdefault((tile.type_name, tile.is_rest), []).append(place)
    found = []
    for alike in by_type.values():
        alone = alike if len(alike) <= 2 else alike[:1]
        for place in alone:
            tile = tiles[place]
            text = f"{tile.title} {tile.address}".rstrip()
            found.append(_Line(text, tile.total_bytes, place))
        if rest := alike[len(alone) :]:
            text = f"… {len(rest):,} more {tiles[rest[0]].label}"
            found.append(_Line(text, sum(tiles[at].total_bytes for at in rest), None))
    return found


def _drawn(line: _Line, total: int, depth: int) -> Iterator[str]:
    """Yield the lines below ``line``."""
    # Sorted again, since a line for siblings can be larger than the line before it.
    for below in sorted(line.below, key=lambda entry: -entry.total_bytes):
        share = below.total_bytes / total
        step = "  " * min(depth - 1, _DEEPEST_INDENT) + "└ " if depth else ""
        yield f"{share:>6.1%} {_bar(share)} {step}{printable(below.text)}"
        yield from _drawn(below, total, depth + 1)


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return f"{bar:<{_BAR}}"
