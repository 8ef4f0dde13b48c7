"""The leak report as one self-contained HTML page.

Text from a dump never becomes markup: Jinja escapes it, JSON for the script contains
no ``<``, `printable` escapes control and right-to-left characters, and the content
security policy of the page allows only the scripts whose digests it lists.

Links of a page from the names of objects and types to their rows.

A link carries the name itself. So the script can also offer the tile of the object or
type, and the command that shows what keeps it alive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ingest.reports.contents import opened
from ingest.reports.drawing import Picture, paths_of_object, picture
from ingest.reports.growth import (
    by_growth,
    growth_facts,
    growth_lines,
    growth_title,
)
from ingest.reports.hierarchy import (
    MOST_TILES,
    Tile,
    dominator_tiles,
    grouped,
    links_text,
    listed_tiles,
    merged_tiles,
    runs,
    whole_heap,
)
from ingest.reports.html import QuerySource, render, script_json
from ingest.reports.leaks import next_of, notes_of, origin
from ingest.reports.panels import Cell, Panel, filled, short_of
from ingest.reports.paths import PathLine, path_lines, paths_text
from ingest.reports.report_panels import PANELS, retention
from ingest.reports.suspects import no_suspects, of_rows, reasons
from ingest.words.text import Captions, namespace_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from markupsafe import Markup

    from ingest.compare.dumps import ComparedDump
    from ingest.queries.answer import Answer
    from ingest.reports.about import About


PATHS = "k-shortest-root-paths"
TILES_SHOWN_FIRST = 12
"""Rows in the table of a chart before the script fills it."""

_BESIDE = 540.0
"""Pixels for a drawing beside the path of a suspect."""

_FIGURES = (
    ("objects", "object_count", "shallow_bytes"),
    ("reachable", "reachable_count", "reachable_bytes"),
    ("types", "type_count", None),
    ("references", "reference_count", None),
    ("roots", "root_count", None),
    ("weak roots", "weak_root_count", None),
    ("missing objects", "missing_count", None),
    ("warnings", "warning_count", None),
    ("softly reachable", "soft_only_count", "soft_only_bytes"),
    ("weakly reachable", "weak_only_count", "weak_only_bytes"),
    ("folded objects", "folded_count", None),
    ("external bytes", "external_bytes", None),
    ("estimated objects", "estimated_count", "estimated_bytes"),
)
_IF_ANY = {
    "softly reachable",
    "weakly reachable",
    "folded objects",
    "external bytes",
    "estimated objects",
}


def suspect_paths(suspects: Answer) -> list[dict[str, str]]:
    """Return the parameters of ``k-shortest-root-paths`` for each suspect."""
    return [{"address": str(row["address"]), "limit": "3"} for row in suspects.dicts()]


@dataclass(frozen=True, slots=True)
class SuspectSection:
    """A leak suspect on the page.

    Attributes:
        reasons: Why it is listed and what speaks against it, each with a label.
        suspect: As in `ingest.reports.suspects.of_rows`.
        contents: Types that have most of the bytes: count and type, and their size.
        path: Its path, with the place to cut.
        picture: The drawing of its root paths, if there are any.
        paths: The root paths as text.
        source: The query of the paths.
    """

    reasons: list[tuple[str, str]]
    suspect: dict[str, object]
    contents: list[tuple[str, str]]
    path: list[PathLine]
    picture: Picture | None
    paths: str
    source: QuerySource


def report_page(
    answers: Mapping[str, Answer],
    paths: Sequence[Answer],
    sources: Mapping[str, QuerySource],
    path_sources: Sequence[QuerySource],
    *,
    loaded_at: str,
    about: About,
    contents: Mapping[str, Answer],
    compared: Sequence[ComparedDump] = (),
) -> str:
    """Render the page.

    Args:
        answers: Answers of `report_queries`, by query. A part is left out with its
            query; ``dump`` is required.
        paths: Answers of `suspect_paths`, in the same order.
        sources: The queries of ``answers``, by name.
        path_sources: The queries of ``paths``.
        loaded_at: When the dump was loaded, in ISO 8601.
        about: The dump, among those that are loaded.
        contents: Answers of `ingest.reports.contents.CONTENTS`, by address.
        compared: An earlier dump of the program, and this one; empty if there is none.
    """
    (dump,) = answers["dump"].dicts()
    suspects = [
        _suspect(row, found, source, answers["dump"].captions)
        for row, found, source in zip(
            of_rows(_rows(answers, "leak-suspects")), paths, path_sources, strict=True
        )
    ]
    growth = None
    if compared:
        growth = growth_facts(compared)
        suspects = _by_growth(suspects, compared)
    panels = [
        filled(panel.of_runtime(str(dump["runtime"] or "")), answers[panel.query])
        for panel in PANELS
        if panel.limit
        and panel.query in answers
        and panel.is_shown(len(answers[panel.query].rows))
    ]
    panels = [
        (panel, _without_links(rows, answers)) if panel.query == OBJECTS else found
        for found in panels
        for panel, rows in (found,)
    ]
    return render(
        "report.html",
        title=f"Leak report of {printable(str(dump['name']))}",
        dump=dump,
        dump_name=str(dump["name"]),
        origin=origin(dump),
        notes=notes_of(dump),
        links=_links(panels),
        loaded_at=loaded_at,
        which=about.sentences(),
        figures=[
            (name, dump[count], dump[size] if size else None)
            for name, count, size in _FIGURES
            if dump[count] or name not in _IF_ANY
        ],
        policy=retention(dump["strength_policy"], dump["runtime"]),
        suspects=suspects,
        next_step=next_of(dump, growth, about.file),
        grown=None if growth is None else growth_lines(growth),
        grown_title="" if growth is None else growth_title(growth),
        no_suspects=no_suspects(cast("str | None", dump["incomplete"])),
        charts=_charts(answers, sources, contents),
        panels=panels,
        timeline=timeline(answers["gc-timeline"]) if "gc-timeline" in answers else "",
        has_suspects="leak-suspects" in answers,
        sources=sources,
        file=about.file,
    )


def _rows(answers: Mapping[str, Answer], query: str) -> list[dict[str, object]]:
    """The rows of a query; none if it was left out."""
    return answers[query].dicts() if query in answers else []


def _by_growth(
    sections: Sequence[SuspectSection], compared: Sequence[ComparedDump]
) -> list[SuspectSection]:
    """The suspects, sorted by growth, with what growth says about them."""
    places = {one.suspect["fingerprint"]: one for one in sections}
    return [
        replace(places[row["fingerprint"]], suspect=row, reasons=reasons(row))
        for row in by_growth([one.suspect for one in sections], compared)
    ]


def _suspect(
    suspect: dict[str, object],
    paths: Answer,
    source: QuerySource,
    captions: Captions,
) -> SuspectSection:
    found = paths.dicts()
    return SuspectSection(
        reasons(suspect),
        suspect,
        [
            (what, size)
            for what, _, size in (
                line.rpartition(", ") for line in cast("list[str]", suspect["contents"])
            )
        ],
        path_lines(
            cast("list[str]", suspect["path"]), cast("int | None", suspect["cut_step"])
        ),
        picture(paths_of_object(found, captions), _BESIDE) if found else None,
        paths_text(
            [[str(path["root"]), *cast("list[str]", path["steps"])] for path in found]
        ).lstrip("\n"),
        source,
    )


def _without_links(
    rows: list[list[Cell]], answers: Mapping[str, Answer]
) -> list[list[Cell]]:
    """Fold runs of one type in the rows of `OBJECTS` into their first objects."""
    tree = answers["dominator-treemap"].dicts()
    places = {row["object"]: place for place, row in enumerate(tree, start=1)}
    head, length = runs(
        [-1, *(places.get(row["dominator"], 0) for row in tree)],
        ["", *(str(row["type"]) for row in tree)],
    )
    of = {
        (row["address"], short_of(str(row["type"]))): place
        for place, row in enumerate(tree, start=1)
    }
    shown = []
    for cells in rows:
        named = {cell.kind: cell for cell in cells if cell.kind}
        place = of.get((named["object"].name, named["type"].name), 0)
        if head[place] != place:
            continue
        if length[place] > 1:
            cells = [
                replace(cell, text=links_text(cell.text, length[place]))
                if cell.kind == "type"
                else cell
                for cell in cells
            ]
        shown.append(cells)
    return shown


def _links(panels: Sequence[tuple[Panel, list[list[Cell]]]]) -> Links:
    """Return the links to the rows of the tables of objects and of types."""
    links = Links()
    for panel, rows in panels:
        kind = {OBJECTS: "object", TYPES: "type"}.get(panel.query)
        if kind and rows:
            names = [
                next((cell.name for cell in cells if cell.kind == kind), "")
                for cells in rows
            ]
            links.add_rows(kind, panel.query, names)
    return links


@dataclass(frozen=True, slots=True)
class Chart:
    """A tree to be drawn.

    Attributes:
        name: Id of its section.
        title: Heading.
        note: How to read it.
        form: ``treemap`` or ``icicle``.
        tiles: The tree, parents before children.
        source: The query of the tree.
        captions: Short names of the types.
    """

    name: str
    title: str
    note: str
    form: str
    tiles: list[Tile]
    source: QuerySource
    captions: Captions

    @property
    def first(self) -> list[Tile]:
        """The largest children of the top."""
        top = [tile for tile in self.tiles if tile.parent == 0]
        return sorted(top, key=lambda tile: -tile.total_bytes)[:TILES_SHOWN_FIRST]

    @property
    def has_addresses(self) -> bool:
        """Whether its tiles are objects."""
        return any(tile.address for tile in self.tiles)

    @property
    def has_counts(self) -> bool:
        """Whether the number of objects in a tile is known."""
        return any(tile.total_count is not None for tile in self.tiles)

    def data(self) -> str:
        """Return the tree as JSON for the script, by column, each type once."""
        types: dict[str, int] = {}
        for tile in self.tiles:
            types.setdefault(tile.type_name, len(types))
        short = {name: self.captions.of(name) for name in types}
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


def _charts(
    answers: Mapping[str, Answer],
    sources: Mapping[str, QuerySource],
    contents: Mapping[str, Answer],
) -> list[Chart]:
    """Return the charts that have something to draw."""
    (dump,) = answers["dump"].dicts()
    by_type = merged_tiles(answers["type-tree"]) if "type-tree" in answers else []
    top = by_type[0] if by_type else whole_heap(cast("int", dump["reachable_bytes"]))
    captions = answers["dump"].captions
    tiles: list[Tile] = []
    if "dominator-treemap" in answers:
        listed = listed_tiles(answers["dominator-treemap"], MOST_TILES)
        listed = opened(listed, contents, captions, top.total_bytes)
        tiles = grouped(dominator_tiles(listed, top, by_type), captions)
    charts = [
        Chart(name, title, note, form, drawn, sources[query], captions)
        for query, name, title, note, form, drawn in (
            (
                "dominator-treemap",
                "objects",
                "Dominator tree",
                "Area is retained size. Each object is inside its immediate dominator.",
                "treemap",
                tiles,
            ),
            (
                "type-tree",
                "types",
                "Dominator tree by type",
                "The dominator tree, objects merged if they and all their dominators "
                "have the same types. Shows many small objects that add up.",
                "treemap",
                by_type,
            ),
            (
                "root-path-tree",
                "root-paths",
                "Root paths",
                "The shortest path from a root to each object, merged by type, roots "
                "at the top. Width is the shallow size of all objects on paths through "
                "a box.",
                "icicle",
                merged_tiles(answers["root-path-tree"])
                if "root-path-tree" in answers
                else [],
            ),
        )
        if query in answers
    ]
    return [chart for chart in charts if len(chart.tiles) > 1]


LEAST = 2
"""Fewest collections for a chart."""


def timeline(collections: Answer) -> str:
    """Return the rows of ``gc-timeline`` as JSON for the script, by column.

    Empty if there is nothing to draw: too few collections, or none with a heap size.
    """
    rows = collections.dicts()
    if len(rows) < LEAST or all(row["heap_bytes"] is None for row in rows):
        return ""
    columns = (
        "number",
        "generation",
        "started_us",
        "duration_us",
        "heap_bytes",
        "promoted_bytes",
        "is_dump",
    )
    found: dict[str, list[object]] = {
        column: [row[column] for row in rows] for column in columns
    }
    for column in ("reason", "mode"):
        found[column] = [printable(str(row[column] or "")) for row in rows]
    return script_json(found)


OBJECTS, TYPES = "retained-objects", "type-histogram"
"""Queries of the tables to whose rows links lead."""

_PART = re.compile(r"(?<=[.$/+])(?=\w)")
"""Between the parts of a name, where a line may break."""
_ADDRESS = re.compile(r"(?<!\S)0x[0-9a-f]+\b")
"""An address after a space; other hexadecimal numbers are parts of names."""


@dataclass(frozen=True, slots=True)
class Links:
    """The places to which names on a page lead.

    Attributes:
        sections: Ids of sections for names without a row, by kind of name.
        rows: Ids of rows, by kind and name.
    """

    sections: dict[str, str] = field(default_factory=dict)
    rows: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_rows(self, kind: str, section: str, names: Iterable[str]) -> None:
        """Give ids to the rows of a table.

        Args:
            kind: ``object`` or ``type``.
            section: Id of the section of the table.
            names: An address or a full name of a type for each row.
        """
        self.sections[kind] = section
        for number, name in enumerate(names, start=1):
            self.rows.setdefault((kind, short_of(name)), f"{kind}-{number}")

    def link(self, kind: str, name: str, text: str) -> str | Markup:
        """Return ``text`` as a link; unchanged if the page has no such section."""
        from markupsafe import Markup, escape

        name = short_of(name)
        place = self.rows.get((kind, name)) or self.sections.get(kind)
        if not place or not name:
            return text
        shown = _PART.sub("<wbr>", escape(short_of(text)))
        return Markup(
            f'<a class="ref" href="#{place}" data-{kind}="{escape(name)}">{shown}</a>'
        )

    def linked(self, text: str) -> Markup:
        """Return ``text`` with a link at each address."""
        from markupsafe import Markup, escape

        made, at = Markup(""), 0
        for found in _ADDRESS.finditer(text):
            made += escape(text[at : found.start()])
            made += escape(self.link("object", found[0], found[0]))
            at = found.end()
        return made + escape(text[at:])
