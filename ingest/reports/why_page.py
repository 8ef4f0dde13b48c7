"""Why something is alive, as one HTML page: its root paths drawn, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.queries.answer import Answer
from ingest.reports.drawing import paths_of_object, paths_of_type, picture
from ingest.reports.html import render
from ingest.reports.leaks import POLICY
from ingest.reports.panels import Panel, filled
from ingest.reports.why import path_tree
from ingest.text import caption_of, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.reports.html import Source

_PATHS, _CHAIN = "k-shortest-root-paths", "dominator-chain"
_IF_TOLD = {
    "generation": "generation",
    "collections_survived": "collections that it outlived",
}
"""Of an object, what only some formats tell."""
_MOST = 1000

OBJECT_PANELS: tuple[Panel, ...] = (
    Panel(
        _CHAIN,
        "Dominators",
        _MOST,
        ("type", "address", "shallow_bytes", "retained_bytes", "retained_count"),
        "retained_bytes",
        "Every way from a root leads through all of these, the object itself first. "
        "Let go of any of them and it goes.",
        "none but the roots: all that hold it must let go",
    ),
    Panel(
        "referrers-of",
        "Sharing",
        200,
        (
            "what",
            "type",
            "field",
            "address",
            "weak",
            "retained_bytes",
            "root_distance",
        ),
        "",
        "All that refers to it.",
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
        "The nearest dominators that are no collection.",
        "it has no instances that a root reaches",
        is_long=True,
    ),
    Panel(
        "objects-of-type",
        "Instances that retain most",
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
    """Rows to ask for, by query."""
    return {panel.query: str(panel.limit) for panel in panels}


def object_page(
    address: str, answers: Mapping[str, Answer], sources: Mapping[str, Source]
) -> str:
    """The page of one address.

    It can be an object in each of several domains: then the one that retains most.
    """
    found = answers["object"].dicts()
    row = max(found, key=lambda r: cast("int", r["retained_bytes"]))
    mine = {name: _of_domain(answer, row["domain"]) for name, answer in answers.items()}
    paths = mine[_PATHS].dicts()
    dominators = [str(value) for value in mine[_CHAIN].column("address")]
    nothing = (
        "No strong root reaches it: it is garbage, and goes at the next collection "
        "that looks at it."
        if row["root_distance"] is None
        else "No way was found that is short enough."
    )
    figures = [
        ("retains", human_bytes(cast("int", row["retained_bytes"]))),
        ("objects that go with it", f"{row['retained_count']:,}"),
        ("its own bytes", f"{row['shallow_bytes']:,}"),
        (
            "steps from a root",
            "none" if row["root_distance"] is None else f"{row['root_distance']:,}",
        ),
        *(
            (words, f"{row[name]:,}")
            for name, words in _IF_TOLD.items()
            if row[name] is not None
        ),
    ]
    about = str(row["type"])
    if row["missing"]:
        about, figures = "an object that is referred to, but not in the dump", []
    elif len(found) > 1:
        about += f" · the largest of {len(found)} objects of that address"
    return render(
        "why.html",
        title=f"Why {address} is alive",
        heading="What keeps alive",
        subject=f"{caption_of(str(row['type']))} {address}",
        about=about,
        figures=figures,
        policy=POLICY,
        head_source=sources["object"],
        paths_title="Shortest ways from a root",
        note="Each way leads through another holder; what several share stands once.",
        picture=picture(paths_of_object(paths, set(dominators[1:]))) if paths else None,
        has_dominators=len(dominators) > 1,
        subject_key="the object",
        paths="\n".join(
            path_tree([str(path["root"]), *cast("list[str]", path["steps"])])
            for path in paths
        ),
        nothing=nothing,
        paths_source=sources[_PATHS],
        panels=[filled(panel, mine[panel.query]) for panel in OBJECT_PANELS],
        sources=sources,
        charts=[],
        timeline="",
    )


def _of_domain(answer: Answer, domain: object) -> Answer:
    at = answer.columns.index("domain")
    return Answer(answer.columns, tuple(r for r in answer.rows if r[at] == domain))


def type_page(
    name: str, answers: Mapping[str, Answer], sources: Mapping[str, Source]
) -> str:
    """The page of one type."""
    paths = answers["root-paths-of-type"].dicts()
    texts = []
    for row in paths:
        steps = cast("list[str]", row["path"])
        texts.append(
            f"{row['instance_count']:,} of them, retaining {row['retained_bytes']:,} "
            "bytes\n" + path_tree([steps[0], *map(caption_of, steps[1:])])
        )
    return render(
        "why.html",
        title=f"Why {printable(caption_of(name))} is alive",
        heading="What keeps alive",
        subject=caption_of(name),
        about=name,
        figures=[],
        policy=POLICY,
        head_source=None,
        paths_title="Shortest ways from a root, merged by type",
        note="The numbers say how many of the instances that retain most are reached "
        "on that way.",
        picture=picture(paths_of_type(paths)) if paths else None,
        has_dominators=False,
        subject_key="the type",
        paths="\n".join(texts),
        nothing="No instance is reached by a strong root.",
        paths_source=sources["root-paths-of-type"],
        panels=[filled(panel, answers[panel.query]) for panel in TYPE_PANELS],
        sources=sources,
        charts=[],
        timeline="",
    )
