"""The guide: a tour of one dump inside Neo4j Browser, with the numbers of the dump.

A guide is an HTML fragment of slides; clicking a ``pre.runnable`` copies it into the
editor. Each query is one statement, because Browser shows no rows for a script.

Text from the dump is escaped as HTML, and ``=`` as well: Browser 5.24.0 cleans the
source of a guide with regular expressions, which would remove all text of a query that
looks like an event handler.

Source: Neo4j Browser 5.24.0, cleanHtml, Directives and resolveGuide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ingest.queries.library import Value, find, own_query
from ingest.reports.leaks import next_of, notes_of, origin
from ingest.reports.render import cell
from ingest.reports.suspects import SMALLER, no_suspects
from ingest.runtimes import named
from ingest.runtimes.base import TypeClass
from ingest.words.command_line import command
from ingest.words.text import printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingest.queries.answer import Answer
    from ingest.words.text import Captions

    Ask = Callable[[Mapping[str, Mapping[str, str]]], dict[str, Answer]]

TEMPLATE = "guide.html"
_ROWS, _LOOKED_AT = 5, 100
_LARGEST = "retained-objects"
_STEPS = 12
_QUERIES = (
    "leak-suspects",
    "retained-objects",
    "retained-types",
    "static-roots",
    "unreachable-types",
)
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
class GuideTable:
    """A table of a slide, and its query.

    Attributes:
        name: Name of the query in the library.
        title: Title of the query.
        text: The query as one statement with its values.
        heads: Column headings.
        rows: Formatted cells.
        is_number: For each column, whether it is aligned to the right.
    """

    name: str
    title: str
    text: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_number: tuple[bool, ...]


def guide(ask: Ask, dump: int, style_url: str | None = None) -> str:
    """Render the guide to a dump.

    Args:
        ask: Runs queries of the library for the dump; takes their parameters by name.
        dump: Number of the dump.
        style_url: Address of the style; without it the guide does not mention one.
    """
    answers = ask(
        {name: {"limit": str(_ROWS)} for name in ("dump", *_QUERIES)}
        | {_LARGEST: {"limit": str(_LOOKED_AT)}}
    )
    facts = answers["dump"].dicts()[0]
    suspects = answers["leak-suspects"].dicts()
    largest = answers[_LARGEST]
    followed = _followed(answers["leak-suspects"], facts, largest, ask)
    answers[_LARGEST] = replace(largest, rows=largest.rows[:_ROWS])

    def table(name: str, *columns: str) -> GuideTable:
        return _table(name, columns, answers[name], _statement(name, {}, dump))

    values: dict[str, object] = {
        "style_url": style_url,
        "facts": facts,
        "origin": origin(facts),
        "suspects": [(row["sentence"], row["contents"]) for row in suspects],
        "smaller": facts["smaller_groups"] or [],
        "pile": suspects[0]["contents"] if suspects else [],
        "smaller_title": SMALLER,
        "no_suspects": no_suspects(cast("str | None", facts["incomplete"])),
        "incomplete": facts["incomplete"],
        "notes": notes_of(facts),
        "next_step": next_of(facts),
        "garbage_bytes": cast("int", facts["shallow_bytes"])
        - cast("int", facts["reachable_bytes"]),
        "followed": followed,
        "dump_query": _statement("dump", {}, dump),
        "suspects_query": _statement("leak-suspects", {}, dump),
        "types_drawn": _drawn(_TYPES_DRAWN, dump),
        "objects": table(
            "retained-objects", "type", "address", "retained_bytes", "retained_count"
        ),
        "types": table("retained-types", "type", "reachable_count", "retained_bytes"),
        "statics": table("static-roots", "type", "root_count", "retained_bytes"),
        "garbage": table(
            "unreachable-types", "type", "unreachable_count", "unreachable_bytes"
        ),
    }
    if followed is not None:
        values |= _slides_of(followed["address"], followed["holder"], ask, dump)
    return _render(values)


def _slides_of(address: str, holder: str, ask: Ask, dump: int) -> dict[str, object]:
    """Return the values for the slides about a path and what its holder dominates."""
    given, of_holder = {"address": address}, {"address": holder}
    path, children = "shortest-root-path", "dominated-by"
    answers = ask(
        {
            path: {**given, "limit": str(_STEPS)},
            children: {**of_holder, "limit": str(_ROWS)},
        }
    )
    return {
        "path": _table(
            path,
            ("what", "field", "type", "address"),
            answers[path],
            _statement(path, given, dump),
        ),
        "path_is_cut": len(answers[path].rows) == _STEPS,
        "path_drawn": _drawn(_PATHS_DRAWN, dump, address=address),
        "children": _table(
            children,
            ("type", "address", "retained_bytes"),
            answers[children],
            _statement(children, of_holder, dump),
        ),
        "children_drawn": _drawn(_TREE_DRAWN, dump, address=holder),
    }


def _followed(
    suspects: Answer, facts: Mapping[str, object], largest: Answer, ask: Ask
) -> dict[str, str] | None:
    """Choose the object to follow through the guide, and its holder.

    The object that retains most of the first suspect, and the holder in which it
    accumulates. Without suspects, both are the object of the first smaller group, or
    the largest object of the program's own types: a collection of the runtime explains
    nothing.
    """
    caption = suspects.captions.of
    if suspects.rows:
        first = suspects.dicts()[0]
        owner = f"{cell(first['object_count'])} {caption(str(first['type']))}"
        return {
            "address": str(first["address"]),
            "type": caption(str(first["type"])),
            "owner": owner if cast("int", first["object_count"]) > 1 else "",
            "sentence": str(first["sentence"] or ""),
            "holder": str(first["container_address"]),
            "holder_type": caption(str(first["container_type"])),
        }
    sentence = ""
    own = _of_program(largest, str(facts["runtime"] or ""))
    if groups := cast("list[str] | None", facts["smaller_groups"]):
        sentence = groups[0]
        address = cast("list[str]", facts["smaller_addresses"])[0]
        found = ask({"object": {"address": address}})["object"].dicts()
        own = [row | {"address": address} for row in found]
    if not own:
        return None
    kind, address = caption(str(own[0]["type"])), str(own[0]["address"])
    return {
        "address": address,
        "type": kind,
        "owner": "",
        "sentence": sentence,
        "holder": address,
        "holder_type": kind,
    }


def _of_program(answer: Answer, runtime: str) -> list[dict[str, object]]:
    """The rows about the program's own types."""
    rows = answer.dicts()
    classes = named(runtime).type_classes([str(row["type"]) for row in rows])
    return [
        row
        for row, of in zip(rows, classes.tolist(), strict=True)
        if of == TypeClass.PROGRAM
    ]


def _table(
    name: str, columns: tuple[str, ...], answer: Answer, statement: str
) -> GuideTable:
    """Make a table of some columns of an answer."""
    query = find(name)
    types = {column.name: column.type for column in query.columns}
    return GuideTable(
        name,
        query.title,
        statement,
        tuple(column.replace("_", " ") for column in columns),
        tuple(
            tuple(_cell(answer.captions, column, row[column]) for column in columns)
            for row in answer.dicts()
        ),
        tuple(types[column] in ("INTEGER", "FLOAT") for column in columns),
    )


def _cell(captions: Captions, column: str, value: object) -> str:
    is_type = column == "type" and isinstance(value, str)
    return cell(captions.of(str(value)) if is_type else value)


def _statement(name: str, given: Mapping[str, str], dump: int) -> str:
    """Return a query of the library with these values, and defaults for the rest."""
    query = find(name)
    return query.with_literals(query.bind(given, dump))


def _drawn(text: str, dump: int, **values: Value) -> str:
    """Return a query whose answer Browser draws as a graph."""
    query = own_query(text, "guide", {name: "" for name in values})
    return query.with_literals({**values, "dump": dump})


def _render(values: Mapping[str, object]) -> str:
    """Render the template, with text from the dump escaped."""
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
    return environment.get_template(TEMPLATE).render(values, command=command)
