"""What cuts free, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ingest.queries.answer import Answer
from ingest.reports.render import folded, table_text
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.what_if.best_cuts import BestCut
    from ingest.what_if.freed import Cut, Freed, WhatIf
    from ingest.words.text import Captions


def facts(
    what_if: WhatIf,
    given: Sequence[tuple[str, Cut]],
    best: Sequence[BestCut],
    top: int,
) -> dict[str, object]:
    """What cuts free, as values for JSON.

    Args:
        what_if: The heap.
        given: Cuts that the user named, with their texts.
        best: Cuts that were chosen after them.
        top: How many types to list.
    """
    graph = what_if.graph
    cuts: list[dict[str, object]] = []
    for at, (text, cut) in enumerate(given):
        objects, references = what_if.size(cut)
        cuts.append(
            {
                "references": [text],
                "cut_objects": objects,
                "cut_references": references,
                "alone": _freed(what_if, what_if.freed([cut])),
                "so_far": _freed(
                    what_if, what_if.freed([cut for _, cut in given[: at + 1]])
                ),
            }
        )
    for choice in best:
        own = what_if.freed([choice.own])
        objects, references = what_if.size(choice.own)
        cuts.append(
            {
                "references": list(choice.names),
                "cut_objects": objects,
                "cut_references": references,
                "alone": _freed(what_if, own),
                "so_far": _freed(what_if, choice.freed),
            }
        )
    freed = best[-1].freed if best else what_if.freed([cut for _, cut in given])
    order = np.argsort(-freed.type_bytes, kind="stable")[:top].tolist()
    return {
        "reachable_objects": what_if.reachable_count,
        "reachable_bytes": what_if.reachable_bytes,
        "cuts": cuts,
        "freed": _freed(what_if, freed),
        "types": [
            {
                "type": graph.type_names[row],
                "objects": int(freed.type_count[row]),
                "bytes": int(freed.type_bytes[row]),
            }
            for row in order
            if freed.type_count[row]
        ],
    }


def _freed(what_if: WhatIf, freed: Freed) -> dict[str, object]:
    share = freed.shallow_bytes / max(what_if.reachable_bytes, 1)
    return {
        "objects": freed.object_count,
        "bytes": freed.shallow_bytes,
        "share": round(share, 4),
        "outside_bytes": freed.outside_bytes,
    }


def as_text(dump: str, found: Mapping[str, object], captions: Captions) -> str:
    """The same for a terminal."""
    freed = cast("dict[str, float]", found["freed"])
    text = (
        f"{printable(dump)}: {found['reachable_objects']:,} objects are reachable, "
        f"{human_bytes(cast('int', found['reachable_bytes']))}\n\n"
    )
    rows = [
        (
            " and ".join(cast("list[str]", cut["references"])),
            cut["cut_objects"] or None,
            cut["cut_references"] or None,
            human_bytes(int(cut["alone"]["bytes"])),
            f"{cut['alone']['share']:.1%}",
            f"{cut['so_far']['share']:.1%}",
        )
        for cut in cast("list[dict[str, dict[str, float]]]", found["cuts"])
    ]
    if not rows:
        return text + folded("Removing any single reference frees nothing.", "")
    heads = ("cut", "objects cut", "references cut", "frees alone", "share", "so far")
    shown = Answer(heads, tuple(rows)).without_empty_columns()
    text += table_text(shown.columns, shown.rows)
    outside = int(freed["outside_bytes"])
    more = f", and {human_bytes(outside)} outside the heap" if outside else ""
    text += "\n" + folded(
        f"Freed by all of them together: {counted(int(freed['objects']), 'objects')}, "
        f"{human_bytes(int(freed['bytes']))}, "
        f"{freed['share']:.1%} of the reachable heap{more}.",
        "",
    )
    types = cast("list[dict[str, object]]", found["types"])
    if types:
        listed = [
            (captions.of(str(row["type"])), row["objects"], row["bytes"])
            for row in types
        ]
        text += "\n" + table_text(("type", "objects", "bytes"), listed)
    return text
