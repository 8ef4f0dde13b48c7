"""The leak report as one HTML page that needs nothing else: values in, text out.

Text out of a dump never becomes markup: Jinja escapes it, JSON for the script has no
``<``, `printable` takes control and right-to-left marks away, and the page's content
security policy runs no script but the ones whose digests it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.reports.drawing import Picture, paths_of_object, picture
from ingest.reports.hierarchy import (
    Tile,
    dominator_tiles,
    merged_tiles,
    whole_heap,
)
from ingest.reports.html import Source, render
from ingest.reports.leaks import POLICY, origin, sentence
from ingest.reports.panels import filled, short_of
from ingest.reports.report_panels import PANELS
from ingest.reports.script import script_json
from ingest.reports.timeline import timeline
from ingest.reports.why import path_tree
from ingest.text import caption_of, namespace_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.queries.answer import Answer

PATHS = "k-shortest-root-paths"
TILES_SHOWN_FIRST = 12
"""Rows of a chart's table before a script fills it."""


QUERIES: dict[str, dict[str, str]] = {
    "dump": {},
    "leak-suspects": {"limit": "10"},
    # A long list takes a row for each of its objects, and is one tile then.
    "dominator-treemap": {"limit": "10000"},
    "type-tree": {},
    "root-path-tree": {},
    **{panel.query: {"limit": str(panel.limit)} for panel in PANELS if panel.limit},
}
"""Queries of the page with their parameters; `suspect_queries` tells more of them."""

_FIGURES = (
    ("objects", "object_count", "shallow_bytes"),
    ("reachable", "reachable_count", "reachable_bytes"),
    ("types", "type_count", None),
    ("references", "reference_count", None),
    ("roots", "root_count", None),
    ("weak roots", "weak_root_count", None),
    ("missing", "missing_count", None),
    ("warnings", "warning_count", None),
    ("seen only weakly", "weak_only_count", "weak_only_bytes"),
    ("folded", "folded_count", None),
    ("bytes outside the heap", "external_bytes", None),
    ("in the heap, estimated", "estimated_count", "estimated_bytes"),
)
_IF_ANY = {
    "seen only weakly",
    "folded",
    "bytes outside the heap",
    "in the heap, estimated",
}


def suspect_paths(suspects: Answer) -> list[dict[str, str]]:
    """What to ask ``k-shortest-root-paths`` for, for each suspect."""
    return [{"address": str(row["address"]), "limit": "3"} for row in suspects.dicts()]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A leak suspect as the page shows it.

    Attributes:
        why: A sentence.
        type_name, address: Of the object, or of the largest of the group.
        pile: Type and address of the accumulation point; empty where that is it.
        picture: Its root paths, if any was found.
        paths: The same as text.
        source: The query of the paths.
    """

    why: str
    type_name: str
    address: str
    retained_bytes: int
    share: float
    pile: str
    picture: Picture | None
    paths: str
    source: Source


def report_page(
    answers: Mapping[str, Answer],
    paths: Sequence[Answer],
    sources: Mapping[str, Source],
    path_sources: Sequence[Source],
    *,
    loaded_at: str,
) -> str:
    """The page.

    Args:
        answers: Of every one of `QUERIES`.
        paths: Of `suspect_paths`, one each.
        sources: Where each number comes from, by query.
        path_sources: The same for ``paths``.
        loaded_at: When the dump was loaded, as text.
    """
    (dump,) = answers["dump"].dicts()
    reachable = cast("int", dump["reachable_bytes"])
    suspects = [
        _suspect(row, found, source)
        for row, found, source in zip(
            answers["leak-suspects"].dicts(), paths, path_sources, strict=True
        )
    ]
    by_type = merged_tiles(answers["type-tree"])
    top = by_type[0] if by_type else whole_heap(reachable)
    tiles = dominator_tiles(answers["dominator-treemap"], top)
    charts = [
        Chart(
            "objects",
            "Dominator tree",
            "Area is retained bytes: what goes if the object goes. Each object lies in "
            "the one that alone keeps it alive.",
            "treemap",
            tiles,
            sources["dominator-treemap"],
        ),
        Chart(
            "types",
            "The same by type",
            "The dominator tree, its objects merged where they and all above them are "
            "of the same types. Many small things that add up show here.",
            "treemap",
            by_type,
            sources["type-tree"],
        ),
        Chart(
            "root-paths",
            "Root paths",
            "The shortest way from a root to each object, merged by type, roots at "
            "the top. Width is the bytes of all objects that hang there.",
            "icicle",
            merged_tiles(answers["root-path-tree"]),
            sources["root-path-tree"],
        ),
    ]
    panels = [
        filled(panel, answers[panel.query])
        for panel in PANELS
        if panel.limit and (answers[panel.query].rows or panel.empty)
    ]
    return render(
        "report.html",
        title=f"Leak report of {printable(str(dump['name']))}",
        dump=dump,
        origin=origin(dump),
        loaded_at=loaded_at,
        figures=[
            (name, dump[count], dump[size] if size else None)
            for name, count, size in _FIGURES
            if dump[count] or name not in _IF_ANY
        ],
        policy=POLICY,
        suspects=suspects,
        charts=[chart for chart in charts if len(chart.tiles) > 1],
        panels=panels,
        timeline=timeline(answers["gc-timeline"]),
        sources=sources,
    )


def _suspect(row: dict[str, object], paths: Answer, source: Source) -> Suspect:
    is_pile = row["address"] == row["pile_address"]
    found = paths.dicts()
    texts = [
        path_tree([str(path["root"]), *cast("list[str]", path["steps"])])
        for path in found
    ]
    return Suspect(
        sentence(row),
        str(row["type"]),
        str(row["address"]),
        cast("int", row["retained_bytes"]),
        cast("float", row["share"]),
        "" if is_pile else f"{caption_of(str(row['pile_type']))} {row['pile_address']}",
        picture(paths_of_object(found)) if found else None,
        "\n".join(texts),
        source,
    )


@dataclass(frozen=True, slots=True)
class Chart:
    """A tree to be drawn.

    Attributes:
        name: Its name among the page's parts.
        title: Heading.
        note: How to read it.
        form: ``treemap`` or ``icicle``.
        tiles: The tree.
        source: Where it comes from.
    """

    name: str
    title: str
    note: str
    form: str
    tiles: list[Tile]
    source: Source

    @property
    def first(self) -> list[Tile]:
        """The largest tiles of the first level."""
        top = [tile for tile in self.tiles if tile.parent == 0]
        return sorted(top, key=lambda tile: -tile.total_bytes)[:TILES_SHOWN_FIRST]

    @property
    def has_addresses(self) -> bool:
        """Whether its tiles are objects."""
        return any(tile.address for tile in self.tiles)

    def data(self) -> str:
        """Its tree for the script, column by column; each type stands there once."""
        types: dict[str, int] = {}
        for tile in self.tiles:
            types.setdefault(tile.type_name, len(types))
        short = {name: caption_of(name) for name in types}
        labels = {
            place: printable(tile.title)
            for place, tile in enumerate(self.tiles)
            if tile.title != short[tile.type_name]
        }
        return script_json(
            {
                "form": self.form,
                "types": [
                    [
                        printable(short[name]),
                        short_of(name),
                        short_of(namespace_of(name)),
                    ]
                    for name in types
                ],
                "parent": [tile.parent for tile in self.tiles],
                "type": [types[tile.type_name] for tile in self.tiles],
                "labels": labels,
                "generation": [tile.generation for tile in self.tiles]
                if any(tile.generation is not None for tile in self.tiles)
                else None,
                "bytes": [tile.total_bytes for tile in self.tiles],
                "own": [tile.own_bytes for tile in self.tiles],
                "count": [tile.total_count for tile in self.tiles],
                "address": [tile.address for tile in self.tiles],
                "rest": [
                    place for place, tile in enumerate(self.tiles) if tile.is_rest
                ],
            }
        )
