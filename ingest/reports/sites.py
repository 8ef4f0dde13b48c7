"""The sites that allocated most of a dump's objects, if it records them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np

from ingest.analysis.tracking import allocation_at
from ingest.reports.render import table_text
from ingest.words.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_SITES, _CALLERS = 5, 3
"""Sites that are shown, and innermost functions of each one's stack."""

_LEAST_SHARE = 0.01
_FOLDER = re.compile(r" \([^()]*\)$")


def largest_sites(
    graph: HeapGraph, metrics: HeapMetrics, top: int
) -> list[dict[str, object]]:
    """The sites with most bytes of reachable objects; empty if none are recorded.

    Objects that collections have moved are not traced back for this.
    """
    made = None if graph.history is None else graph.history.allocations
    if made is None or graph.history is None or graph.history.collections:
        return []
    count = graph.object_count
    of = allocation_at(graph.object_id[:count], made)
    rows = np.flatnonzero((of >= 0) & (metrics.root_distance[:count] >= 0))
    site, size = made.site[of[rows]], graph.shallow_bytes[rows]
    total = np.bincount(site, size, minlength=len(made.sites)).astype(np.int64)
    objects = np.bincount(site, minlength=len(made.sites))
    types = len(graph.type_names)
    found = []
    for at in np.argsort(-total, kind="stable")[:top].tolist():
        if not total[at]:
            break
        own = rows[site == at]
        of_type = np.bincount(
            graph.type_index[own], graph.shallow_bytes[own], minlength=types
        )
        found.append(
            {
                "stack": list(made.sites[at]),
                "type": graph.type_names[int(of_type.argmax())],
                "objects": int(objects[at]),
                "shallow_bytes": int(total[at]),
            }
        )
    return found


def sites_text(found: Mapping[str, object]) -> str:
    """The sites as a table with a title; empty if none are recorded."""
    sites = cast("list[dict[str, object]]", found["allocation_sites"])
    if not sites:
        return ""
    least = _LEAST_SHARE * cast("int", sites[0]["shallow_bytes"])
    rows = [
        (
            " < ".join(
                printable(_FOLDER.sub("", name))
                for name in cast("list[str]", site["stack"])[:_CALLERS]
            )
            or "unknown",
            printable(str(site["type"])),
            site["objects"],
            human_bytes(cast("int", site["shallow_bytes"])),
        )
        for site in sites[:_SITES]
        if cast("int", site["shallow_bytes"]) >= least
    ]
    columns = ("allocated by", "most are", "objects", "size")
    return "\nAllocation sites of what is reachable\n" + table_text(columns, rows)
