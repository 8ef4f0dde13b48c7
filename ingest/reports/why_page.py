"""Why something is alive, as one HTML page: a drawing of root paths, and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ingest.reports.drawing import paths_of_object, paths_of_type, picture
from ingest.reports.html import render
from ingest.reports.panels import Panel, filled
from ingest.reports.paths import path_text, paths_text
from ingest.reports.report_panels import OF_SUSPECTS, RETENTION, UNREACHABLE
from ingest.reports.why import type_figures
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.queries.answer import Answer
    from ingest.reports.about import About
    from ingest.reports.html import QuerySource

_PATHS, _CHAIN = "k-shortest-root-paths", "dominator-chain"
_IF_RECORDED = {
    "generation": "generation",
    "collections_survived": "collections survived",
}
"""Figures of an object that only some formats record."""
_MOST = 1000

OBJECT_PANELS: tuple[Panel, ...] = (
    Panel(
        _CHAIN,
        "Dominators",
        _MOST,
        ("type", "address", "shallow_bytes", "retained_bytes", "retained_count"),
        "retained_bytes",
        "Every path from a root passes through all of these; the first is the object "
        "itself. Freeing any of them frees the object.",
        "none: only roots dominate it; to free it, all its referrers must release it",
    ),
    Panel(
        "referrers-of",
        "Referrers",
        200,
        (
            "what",
            "type",
            "field",
            "address",
            "strength",
            "retained_bytes",
            "root_distance",
        ),
        "",
        "Roots and objects that refer to it.",
        "nothing refers to it",
        is_long=True,
    ),
)
TYPE_PANELS: tuple[Panel, ...] = (
    Panel(
        "owners-of-type",
        "Owners",
        100,
        ("owner_type", "owner_count", "instance_count", "shallow_bytes"),
        "shallow_bytes",
        "The nearest dominators that are not collections.",
        "none of its instances is reachable",
        is_long=True,
    ),
    Panel(
        "objects-of-type",
        "Instances by retained size",
        100,
        (
            "address",
            "shallow_bytes",
            "retained_bytes",
            "retained_count",
            "root_distance",
            "value",
        ),
        "retained_bytes",
        "",
        "it has no instances",
        is_long=True,
    ),
)


def limits(panels: tuple[Panel, ...]) -> dict[str, str]:
    """Return the limit of each panel, by query."""
    return {panel.query: str(panel.limit) for panel in panels}


def object_page(
    address: str,
    answers: Mapping[str, Answer],
    sources: Mapping[str, QuerySource],
    which: About,
) -> str:
    """Render the page of one address.

    If several domains have an object with it, the one that retains most is shown.
    """
    found = answers["object"].dicts()
    row = max(found, key=lambda r: cast("int", r["retained_bytes"]))
    mine = {name: _of_domain(answer, row["domain"]) for name, answer in answers.items()}
    paths, captions = mine[_PATHS].dicts(), answers["object"].captions
    dominators = [str(value) for value in mine[_CHAIN].column("address")]
    nothing = (
        UNREACHABLE
        if row["root_distance"] is None
        else "No path of at most 10,000 steps was found."
    )
    figures = [
        ("retained size", human_bytes(cast("int", row["retained_bytes"]))),
        ("retained objects", f"{row['retained_count']:,}"),
        ("shallow size", f"{row['shallow_bytes']:,} B"),
        (
            "distance from a root",
            "none" if row["root_distance"] is None else f"{row['root_distance']:,}",
        ),
        *(
            (words, f"{row[name]:,}")
            for name, words in _IF_RECORDED.items()
            if row[name] is not None
        ),
    ]
    about = str(row["type"])
    if row["missing"]:
        about, figures = "an object that is referred to, but not in the dump", []
    elif len(found) > 1:
        about += f" · the largest of {len(found)} objects with that address"
    return render(
        "why.html",
        title=f"Root paths of {address}",
        heading="Root paths of",
        subject=f"{captions.of(str(row['type']))} {address}",
        about=about,
        which=which.sentences(),
        figures=figures,
        policy=RETENTION,
        head_source=sources["object"],
        paths_title="Shortest paths from GC roots",
        note="Each path has a different referrer; shared parts are drawn once.",
        picture=picture(paths_of_object(paths, captions, set(dominators[1:])))
        if paths
        else None,
        has_dominators=len(dominators) > 1,
        subject_key="the object",
        paths=paths_text(
            [[str(path["root"]), *cast("list[str]", path["steps"])] for path in paths]
        ).lstrip("\n"),
        nothing=nothing,
        paths_source=sources[_PATHS],
        panels=[filled(panel, mine[panel.query]) for panel in OBJECT_PANELS],
        sources=sources,
        dump_name=which.dump or "",
        file=which.file,
    )


def _of_domain(answer: Answer, domain: object) -> Answer:
    at = answer.columns.index("domain")
    return replace(answer, rows=tuple(r for r in answer.rows if r[at] == domain))


_SAMPLE = " Only the 500 instances that retain most are followed."


def type_page(
    name: str,
    answers: Mapping[str, Answer],
    sources: Mapping[str, QuerySource],
    which: About,
) -> str:
    """Render the page of one type."""
    query = "instances-by-root-path"
    if not answers[query].rows:  # loaded by an earlier version
        query = "root-paths-of-type"
    answer = answers[query]
    paths, caption = answer.dicts(), answer.captions.of
    texts = []
    for row in paths:
        steps = cast("list[str]", row["path"])
        texts.append(
            f"{counted(cast('int', row['instance_count']), 'instances')}\n"
            + path_text([steps[0], *map(caption, steps[1:])])
        )
    return render(
        "why.html",
        title=f"Root paths of {printable(caption(name))}",
        heading="Root paths of",
        subject=caption(name),
        about=name,
        which=which.sentences(),
        figures=type_figures(answers),
        policy=f"{RETENTION} {OF_SUSPECTS}",
        head_source=sources["type-totals"],
        paths_title="Shortest paths from GC roots, merged by type",
        note="Numbers count the instances on a path."
        + (_SAMPLE if query == "root-paths-of-type" else ""),
        picture=picture(paths_of_type(paths, answer.captions)) if paths else None,
        has_dominators=False,
        subject_key="the type",
        paths="\n".join(texts),
        nothing="No instance is reachable.",
        paths_source=sources[query],
        panels=[filled(panel, answers[panel.query]) for panel in TYPE_PANELS],
        sources=sources,
        dump_name=which.dump or "",
        file=which.file,
    )
