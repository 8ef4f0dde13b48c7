"""The query library as text: a list by group, and one query in full."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import TYPE_CHECKING

from ingest.queries.library import GROUPS
from ingest.reports.render import width
from ingest.words.colours import bold, dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.queries.library import Query

_NARROWEST_TITLE = 20


def by_group(queries: Sequence[Query]) -> str:
    """List queries under the headings of their groups."""
    groups = {
        group: [query for query in queries if query.group == group] for group in GROUPS
    }
    return "\n".join(
        bold(group, sys.stdout) + "\n" + _list(members, queries)
        for group, members in groups.items()
        if members
    )


def by_rank(queries: Sequence[Query]) -> str:
    """List queries in their order, each with its group."""
    return _list(queries, queries, with_group=True)


def _list(
    queries: Sequence[Query], aligned: Sequence[Query], *, with_group: bool = False
) -> str:
    """Names, titles and required parameters; names are as wide as in ``aligned``."""
    widest = max(len(query.name) for query in aligned)
    room = max(width() - widest - 4, _NARROWEST_TITLE)
    lines = []
    for query in queries:
        needed = [p.name for p in query.parameters if p.required and p.name != "dump"]
        text = query.title + (f" ({', '.join(needed)})" if needed else "")
        text += f" [{query.group}]" if with_group else ""
        first, *rest = textwrap.wrap(text, room)
        lines.append(f"  {query.name:<{widest}}  {first}")
        lines += [" " * (widest + 4) + line for line in rest]
    return "\n".join(lines) + "\n"


def describe(query: Query) -> str:
    """Describe a query: notes, parameters, columns and Cypher."""
    lines = [f"{bold(query.name, sys.stdout)}: {query.title}", ""]
    lines += [f"  {line}" if line else "" for line in query.notes.splitlines()]
    lines += ["", bold("Parameters", sys.stdout)]
    for parameter in query.parameters:
        if parameter.name == "dump":
            continue
        default = "required" if parameter.required else json.dumps(parameter.default)
        lines.append(f"  {parameter.name} ({parameter.type}, {default})")
        lines.append(f"      {parameter.meaning}")
    lines += ["", bold("Columns", sys.stdout)]
    for column in query.columns:
        lines.append(f"  {column.name} ({column.type})")
        lines.append(f"      {column.meaning}")
    text = textwrap.indent(query.text.rstrip(), "  ")
    lines += ["", bold("Cypher", sys.stdout), dim(text, sys.stdout)]
    return "\n".join(lines)
