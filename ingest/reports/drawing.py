"""Root paths as a layered graph, in which shared parts are drawn once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from ingest.reports.layers import layers, layout
from ingest.words.text import Captions, caption_of, human_bytes, printable, titled

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

BOX_WIDTH, BOX_HEIGHT = 216.0, 42.0
_USUAL_WIDTH = 300.0
_ROW_GAP, _GAP, _PASSING = 34.0, 18.0, 14.0
_MARGIN = 8.0
_CHARACTER_WIDTH = 7.3
MOST_LAYERS = 16
_VISIBLE_ENDS = 3


@dataclass(frozen=True, slots=True)
class Box:
    """One vertex of a drawing.

    Attributes:
        title: First line.
        detail: Second line.
        kind: ``root``, ``object``, ``dominator``, ``subject`` or ``gap``.
        full: Full text, for the tooltip.
        run: Adjacent boxes with equal ``run`` can be folded into one.
        address: Address of the object; empty for other boxes.
    """

    title: str
    detail: str
    kind: str
    full: str
    run: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """Boxes, and the labels of arrows between them, which may be empty."""

    boxes: list[Box]
    arrows: dict[tuple[int, int], str]


def paths_of_object(
    rows: Iterable[Mapping[str, object]],
    captions: Captions,
    dominators: Container[str] = (),
) -> Network:
    """Merge the rows of ``k-shortest-root-paths`` into one graph.

    Args:
        rows: Rows for one object.
        captions: Short names of the types.
        dominators: Addresses of its dominators.
    """
    boxes: list[Box] = []
    places: dict[object, int] = {}
    arrows: dict[tuple[int, int], str] = {}
    for row in rows:
        types = cast("list[str]", row["types"])
        addresses = cast("list[str]", row["addresses"])
        retained = cast("list[int]", row["retained_bytes"])
        key: object = (row["root"], addresses[0])
        if key not in places:
            places[key] = len(boxes)
            boxes.append(_root(str(row["root"])))
        before = places[key]
        for name, address, bytes_, field, value in zip(
            types,
            addresses,
            retained,
            cast("list[str]", row["fields"]),
            cast("list[str]", row["values"]),
            strict=True,
        ):
            if address not in places:
                places[address] = len(boxes)
                kind = "dominator" if address in dominators else "object"
                if address == addresses[-1]:
                    kind = "subject"
                title = titled(captions.of(name), value)
                boxes.append(_object(title, name, address, bytes_, value, kind))
            arrows.setdefault((before, places[address]), field)
            before = places[address]
    return folded(Network(boxes, arrows))


def paths_of_type(rows: Iterable[Mapping[str, object]], captions: Captions) -> Network:
    """Merge the rows of ``root-paths-of-type`` by their common prefixes."""
    boxes: list[Box] = []
    places: dict[object, int] = {}
    counts: dict[tuple[int, int], int] = {}
    for row in rows:
        path = cast("list[str]", row["path"])
        before = -1
        for depth, step in enumerate(path):
            last = depth == len(path) - 1
            key: object = step if last else tuple(path[: depth + 1])
            if key not in places:
                places[key] = len(boxes)
                kind = "subject" if last else "object"
                title = captions.of(step)
                boxes.append(
                    Box(title, "", kind, printable(step), step)
                    if depth
                    else _root(step)
                )
            if before >= 0:
                arrow = (before, places[key])
                many = cast("int", row["instance_count"])
                counts[arrow] = counts.get(arrow, 0) + many
            before = places[key]
    return folded(Network(boxes, {at: f"{many:,}" for at, many in counts.items()}))


def _root(name: str) -> Box:
    """Make the box of a root: its static field, if any, above its kind."""
    kind, _, static = name.partition(" root ")
    if not static:
        return Box(name, "root", "root", printable(name))
    # The declaring type is short already; a field alone may name its library.
    in_type = static.removeprefix("in ")
    title = in_type if in_type != static else caption_of(static)
    return Box(title, f"{kind} root", "root", printable(name))


def _object(
    title: str, name: str, address: str, retained_bytes: int, value: str, kind: str
) -> Box:
    detail = f"{address} · {human_bytes(retained_bytes)}"
    full = f"{printable(titled(name, value))} {address}, "
    full += f"retains {retained_bytes:,} bytes"
    return Box(title, detail, kind, full, name, address)


def folded(network: Network) -> Network:
    """Fold long runs of one type, then of any types if the network is too deep."""
    network = _fold(network, lambda box: box.run, ends=1)
    depth = max(layers(len(network.boxes), list(network.arrows)), default=0)
    if depth >= MOST_LAYERS:
        network = _fold(network, lambda _box: "any", ends=_VISIBLE_ENDS)
    return network


def _fold(network: Network, alike: Callable[[Box], str], *, ends: int) -> Network:
    """Replace the middle of each unbranched run of equal boxes by one box.

    The first and last ``ends`` boxes remain; a run with fewer than two boxes between
    them is not folded.
    """
    boxes, arrows = list(network.boxes), dict(network.arrows)
    removed: set[int] = set()
    for run in _runs(network, alike):
        hidden = run[ends:-ends]
        if len(hidden) < 2:
            continue
        titles = {boxes[at].title for at in hidden}
        title = f"… {len(hidden):,} more"
        detail = titles.pop() if len(titles) == 1 else "objects of several types"
        boxes[hidden[0]] = Box(title, detail, "gap", f"{title}: {printable(detail)}")
        for one, other in pairwise(run[ends - 1 : len(run) - ends + 1]):
            del arrows[one, other]
        arrows[run[ends - 1], hidden[0]] = ""
        arrows[hidden[0], run[-ends]] = ""
        removed |= set(hidden[1:])
    left = [at for at in range(len(boxes)) if at not in removed]
    number = {at: place for place, at in enumerate(left)}
    return Network(
        [boxes[at] for at in left],
        {(number[a], number[b]): label for (a, b), label in arrows.items()},
    )


def _runs(network: Network, alike: Callable[[Box], str]) -> Iterator[list[int]]:
    """Yield the unbranched paths of boxes that are alike."""
    count = len(network.boxes)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for start, end in network.arrows:
        after[start].append(end)
        before[end].append(start)
    following: dict[int, int] = {}
    for place, ends in enumerate(after):
        if len(ends) == 1 and len(before[ends[0]]) == 1:
            one, other = network.boxes[place], network.boxes[ends[0]]
            if one.kind != "root" and alike(one) == alike(other):
                following[place] = ends[0]
    inside = set(following.values())
    for place in following:
        if place not in inside:
            run = [place]
            while run[-1] in following:
                run.append(following[run[-1]])
            yield run


@dataclass(frozen=True, slots=True)
class Shape:
    """A box with its position in pixels; ``x``, ``y`` is the upper left corner."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class Line:
    """An arrow: its SVG path, its end, and its label with the label's position."""

    path: str
    end_x: float
    end_y: float
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes and lines of a drawing, in pixels."""

    width: float
    height: float
    shapes: list[Shape]
    lines: list[Line]


def picture(network: Network, width: float = 1040.0) -> Picture:
    """Lay out a network, roots at the top.

    Args:
        network: What to draw.
        width: Pixels to use. Boxes become wider for long texts as far as there is
            room, but never narrower than `BOX_WIDTH`: a drawing can be wider.
    """
    count = len(network.boxes)
    box_width = _box_width(network, width)
    found = layout(
        count, list(network.arrows), width=box_width, passing=_PASSING, gap=_GAP
    )
    longest = int((box_width - 2 * _MARGIN) / _CHARACTER_WIDTH)
    top: dict[int, float] = {}
    for row, members in enumerate(found.rows):
        top |= dict.fromkeys(members, _MARGIN + row * (BOX_HEIGHT + _ROW_GAP))
    x = [round(at + _MARGIN, 1) for at in found.x]
    shapes = [
        Shape(
            box,
            round(x[place] - box_width / 2, 1),
            top[place],
            box_width,
            BOX_HEIGHT,
            _cut(box.title, longest),
            _cut(box.detail, longest),
        )
        for place, box in enumerate(network.boxes)
    ]
    lines = []
    for path, label in zip(found.paths, network.arrows.values(), strict=True):
        points = [(x[path[0]], top[path[0]] + BOX_HEIGHT)]
        for at in path[1:-1]:
            points += [(x[at], top[at]), (x[at], top[at] + BOX_HEIGHT)]
        points.append((x[path[-1]], top[path[-1]]))
        (x0, y0), (x1, y1) = points[0], points[1]
        middle = (round((x0 + x1) / 2, 1), round((y0 + y1) / 2 + 4, 1))
        lines.append(Line(_curve(points), *points[-1], label, *middle))
    rows = len(found.rows)
    height = rows * BOX_HEIGHT + max(rows - 1, 0) * _ROW_GAP + 2 * _MARGIN
    return Picture(round(found.width + 2 * _MARGIN, 1), height, shapes, lines)


def _box_width(network: Network, width: float) -> float:
    """Return the width that the longest text needs, if the widest row has room."""
    rows = Counter(layers(len(network.boxes), list(network.arrows)))
    widest = max(rows.values(), default=1)
    room = (width - 2 * _MARGIN - (widest - 1) * _GAP) / widest
    longest = max(
        (max(len(box.title), len(box.detail)) for box in network.boxes), default=0
    )
    needed = longest * _CHARACTER_WIDTH + 2 * _MARGIN
    return round(max(BOX_WIDTH, min(room, max(needed, _USUAL_WIDTH))), 1)


def _cut(text: str, longest: int) -> str:
    text = printable(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _curve(points: list[tuple[float, float]]) -> str:
    """Return an SVG path: curves between layers, straight lines through them."""
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 == x1:
            path += f"V{y1:g}"
        else:
            half = (y0 + y1) / 2
            path += f"C{x0:g} {half:g} {x1:g} {half:g} {x1:g} {y1:g}"
    return path
