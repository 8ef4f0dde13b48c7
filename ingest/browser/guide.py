"""The guide: a tour of one dump inside Neo4j Browser, with its own numbers.

Browser's guides are HTML fragments of slides; a ``pre.runnable`` is typed into the
editor when it is clicked. Each query stands there as one statement, for Browser
shows no rows of a script.

What comes from the dump is escaped twice over: as HTML, and ``=`` as well. Browser
5.24.0 cleans a guide with regular expressions over its source, which would cut
what looks like an event handler out of a query's text.

Source: Neo4j Browser 5.24.0, cleanHtml, Directives and resolveGuide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.queries.library import Value, find, own_query
from ingest.reports.leaks import origin
from ingest.reports.render import cell
from ingest.text import caption_of, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ingest.queries.answer import Answer
    from ingest.queries.library import Query

    Ask = Callable[[Query, Mapping[str, str]], Answer]

TEMPLATE = "guide.html"
_ROWS = 5
_STEPS = 12
_PATHS_DRAWN = """\
MATCH p = shortestPath((:Dump {number: $dump})-[:HAS_ROOT|REFERENCES*..1000]->
  (:Object {dump: $dump, address: $address}))
RETURN p
"""
_TREE_DRAWN = """\
MATCH p = (:Object {dump: $dump, address: $address})-[:DOMINATES]->(a:Object)
WITH p, a
ORDER BY a.retained_bytes DESC, a.key
LIMIT 12
CALL (a) {
  OPTIONAL MATCH q = (a)-[:DOMINATES]->(b:Object)
  RETURN q
  ORDER BY b.retained_bytes DESC, b.key
  LIMIT 3
}
RETURN p, q
"""
_TYPES_DRAWN = """\
MATCH (t:Type {dump: $dump})
WITH t
ORDER BY t.retained_bytes DESC
LIMIT 12
WITH collect(t) AS largest
UNWIND largest AS a
MATCH p = (a)-[:REFERENCES_TYPE]->(b:Type)
WHERE b IN largest
RETURN p
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, and the query to ask for it again.

    Attributes:
        name: The query's name in the library.
        title: Its title.
        text: One statement, its values written in.
        heads: Columns.
        rows: Cells as a person reads them.
        is_number: For each column, whether it stands to the right.
    """

    name: str
    title: str
    text: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_number: tuple[bool, ...]


def guide(ask: Ask, dump: int, style_url: str | None = None) -> str:
    """The guide to a dump.

    Args:
        ask: Runs a query of the library with those parameters, for that dump.
        dump: Its number.
        style_url: Where Browser finds the style; without it, no word of it.
    """
    facts = ask(find("dump"), {}).dicts()[0]
    suspects = ask(find("leak-suspects"), {"limit": str(_ROWS)}).dicts()
    largest = ask(find("retained-objects"), {"limit": "1"}).dicts()
    holder = _holder(suspects, largest)
    pages: dict[str, object] = {
        "style_url": style_url,
        "facts": facts,
        "origin": origin(facts),
        "suspects": [_sentence(row) for row in suspects],
        "garbage_bytes": cast("int", facts["shallow_bytes"])
        - cast("int", facts["reachable_bytes"]),
        "holder": holder,
        "dump_query": _statement("dump", {}, dump),
        "suspects_query": _statement("leak-suspects", {}, dump),
        "types_drawn": _drawn(_TYPES_DRAWN, dump),
        "objects": _shown(
            ask,
            "retained-objects",
            ("type", "address", "retained_bytes", "retained_count"),
            dump,
        ),
        "types": _shown(
            ask, "retained-types", ("type", "reachable_count", "retained_bytes"), dump
        ),
        "statics": _shown(
            ask, "static-roots", ("type", "root_count", "retained_bytes"), dump
        ),
        "garbage": _shown(
            ask,
            "unreachable-types",
            ("type", "unreachable_count", "unreachable_bytes"),
            dump,
        ),
    }
    if holder is not None:
        address = holder["address"]
        given = {"address": address}
        path = _shown(
            ask,
            "shortest-root-path",
            ("what", "type", "address"),
            dump,
            given,
            rows=_STEPS,
        )
        pages |= {
            "path": path,
            "path_is_cut": len(path.rows) == _STEPS,
            "path_drawn": _drawn(_PATHS_DRAWN, dump, address=address),
            "pile": _shown(
                ask, "dominated-by", ("type", "address", "retained_bytes"), dump, given
            ),
            "pile_drawn": _drawn(_TREE_DRAWN, dump, address=address),
        }
    return _render(pages)


def _holder(
    suspects: Sequence[Mapping[str, object]], largest: Sequence[Mapping[str, object]]
) -> dict[str, str] | None:
    """The object to follow: where a suspect's bytes pile up, or what retains most."""
    if suspects:
        first = suspects[0]
        owner = f"{caption_of(str(first['type']))} {first['address']}"
        is_pile = first["pile_address"] == first["address"]
        return {
            "address": str(first["pile_address"]),
            "type": caption_of(str(first["pile_type"])),
            "owner": "" if is_pile else owner,
        }
    if largest:
        (first,) = largest
        kind = caption_of(str(first["type"]))
        return {"address": str(first["address"]), "type": kind, "owner": ""}
    return None


def _sentence(suspect: Mapping[str, object]) -> str:
    """Why it is a suspect, with short names of types."""
    text = str(suspect["why"])
    for column in ("type", "pile_type"):
        text = text.replace(str(suspect[column]), caption_of(str(suspect[column])))
    return text


def _shown(
    ask: Ask,
    name: str,
    columns: tuple[str, ...],
    dump: int,
    given: Mapping[str, str] | None = None,
    *,
    rows: int = _ROWS,
) -> Shown:
    """Ask a query of the library, and show some columns of its first rows."""
    query, given = find(name), given or {}
    told = ask(query, {**given, "limit": str(rows)}).dicts()
    kinds = {column.name: column.type for column in query.columns}
    return Shown(
        name,
        query.title,
        _statement(name, given, dump),
        tuple(column.replace("_", " ") for column in columns),
        tuple(tuple(_cell(column, row[column]) for column in columns) for row in told),
        tuple(kinds[column] in ("INTEGER", "FLOAT") for column in columns),
    )


def _cell(column: str, value: object) -> str:
    is_type = column == "type" and isinstance(value, str)
    return cell(caption_of(str(value)) if is_type else value)


def _statement(name: str, given: Mapping[str, str], dump: int) -> str:
    """A query of the library with these values and otherwise its defaults."""
    query = find(name)
    return query.with_literals(query.bind(given, dump))


def _drawn(text: str, dump: int, **values: Value) -> str:
    """A query that answers with a picture."""
    query = own_query(text, "guide", {name: "" for name in values})
    return query.with_literals({**values, "dump": dump})


def _render(pages: Mapping[str, object]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def escaped(value: object) -> Markup:
        if isinstance(value, Markup):
            return value
        text = value if isinstance(value, str) else cell(value)
        return Markup(str(escape(printable_lines(text))).replace("=", "&#61;"))

    environment = Environment(
        loader=PackageLoader("ingest.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=escaped,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(pages)
