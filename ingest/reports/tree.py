"""The top of a tree of sizes as text: indented, with bars, at most one screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from ingest.reports.render import width
from ingest.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.reports.hierarchy import Tile

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

    Of more than two siblings of one type the largest is a line, the others another.
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
    # Sorted again: a line for siblings can be larger than one found before it.
    for below in sorted(line.below, key=lambda entry: -entry.total_bytes):
        share = below.total_bytes / total
        step = "  " * min(depth - 1, _DEEPEST_INDENT) + "└ " if depth else ""
        yield f"{share:>6.1%} {_bar(share)} {step}{printable(below.text)}"
        yield from _drawn(below, total, depth + 1)


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return f"{bar:<{_BAR}}"
