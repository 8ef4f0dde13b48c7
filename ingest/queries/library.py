"""The query library: one ``.cypher`` file for each query, with a checked header.

A header is the run of ``//`` lines at the top of the file::

    // name: retained-objects
    // title: Objects with the largest retained sizes
    // group: Ownership
    // mode: read
    // param: dump       INTEGER            number of the dump
    // param: min_bytes  INTEGER = 1048576  smallest retained size to show, bytes
    // column: address   STRING   hexadecimal, as a debugger prints it
    //
    // A paragraph on how to read the answer.

``group`` is one of `GROUPS`. A query that not every dump can answer has a line such as
``// needs: v8, fields``; `ingest.database.needs` explains the words. A query that does
not search everything has a line ``// searched:`` that says what it searches, with
``$name`` for a parameter. Its ``// more:`` lines are a Cypher condition that is true if
dump ``d`` has more than that (see `ingest.queries.bounds`). A parameter without a
default is required, except ``dump``, which the tool sets. Values are sent to the server
only as parameters, never as text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import BadParameter, QueryError, UnknownQuery
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Value = str | int | float | bool | None
DUMP = "dump"
FLEET = "Fleet"
_TYPES: dict[str, type] = {
    "STRING": str,
    "INTEGER": int,
    "FLOAT": float,
    "BOOLEAN": bool,
}
_KEYS = (
    "name",
    "title",
    "group",
    "needs",
    "searched",
    "more",
    "mode",
    "param",
    "column",
)
GROUPS = (
    "Overview",
    "Leaks",
    "Roots and paths",
    "Ownership",
    "Types",
    "Objects and references",
    "Segments and generations",
    "JVM",
    ".NET",
    "Dart",
    "JavaScript",
    "Python",
    "Traces",
    "Comparison",
    FLEET,
)
"""Headings under which queries are listed, in their order."""

_PARAM = re.compile(
    r"(?P<name>\w+)\s+(?P<type>[A-Z]+)(?:\s+=\s+(?P<default>\"[^\"]*\"|\S+))?\s+(?P<text>.+)"
)
_COLUMN = re.compile(r"(?P<name>\w+)\s+(?P<type>[A-Z<>]+)\s+(?P<text>.+)")
_USED = re.compile(r"\$(\w+)")
QUOTED = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|//[^\r\n]*|/\*.*?\*/""",
    re.DOTALL,
)
"""A string, an escaped name or a comment: text without keywords and parameters."""
_TOKEN = re.compile(f"{QUOTED.pattern}|{_USED.pattern}", re.DOTALL)
"""Quoted text, a comment, or a parameter, whose name is group 1."""
_PRESET = re.compile(r":param\s+(?P<name>\w+)\s*=>\s*(?P<value>.+?);?")
_HEX = re.compile(r"[+-]?0[xX]")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query."""

    name: str
    type: str
    meaning: str
    required: bool
    default: Value = None

    def parse(self, text: str) -> Value:
        """Convert ``text`` to the type of this parameter.

        Raises:
            BadParameter: The text is not of that type.
        """
        try:
            if self.type == "INTEGER":
                value = int(text, 16 if _HEX.match(text) else 10)
                if not -(2**63) <= value < 2**63:
                    raise ValueError(text)
                return value
            if self.type == "FLOAT":
                return float(text)
            text.encode()
            if self.type == "BOOLEAN":
                return {"true": True, "false": False}[text.lower()]
        except (ValueError, KeyError) as error:
            raise BadParameter(
                f"parameter {self.name}: {text!r} is not of type {self.type}"
            ) from error
        return text


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One column of the answer of a query."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Query:
    """One query.

    Attributes:
        name: Name on the command line.
        title: One line that says what the query answers.
        text: The Cypher, without the header.
        parameters: In the order of the header.
        columns: In the order of the answer; empty for a query written by the user.
        notes: How to read the answer.
        place: File name, for error messages.
        preset_dump: Number of the dump in a file that ``--show`` printed.
        group: One of `GROUPS`; empty for a query written by the user.
        needs: What a dump must have for the query to have an answer.
        searched: What it searches, in words with ``$name`` for parameters; empty if
            that is everything.
        more: Cypher condition that is true if dump ``d`` has more than that. Empty if
            only an empty answer needs to say what was searched.
    """

    name: str
    title: str
    text: str
    parameters: tuple[Parameter, ...]
    columns: tuple[AnswerColumn, ...]
    notes: str
    place: str
    preset_dump: int | None = None
    group: str = ""
    needs: tuple[str, ...] = ()
    searched: str = ""
    more: str = ""

    @property
    def is_of_fleet(self) -> bool:
        """Whether it is about the graph of a fleet, not a loaded dump."""
        return self.group == FLEET

    @property
    def is_of_one_dump(self) -> bool:
        """Whether the answer depends on which dump is chosen."""
        return DUMP in _USED.findall(QUOTED.sub("", self.text))

    def bind(self, given: Mapping[str, str], dump: int) -> dict[str, Value]:
        """Return the value of every parameter.

        Args:
            given: Values as text, by name, from the command line.
            dump: Number of the dump.

        Raises:
            BadParameter: A parameter is missing, unknown or of the wrong type.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                names = ", ".join(p.name for p in self.parameters if p.name != DUMP)
                raise BadParameter(
                    f"{self.name} has no parameter {name}; it takes: {names or 'none'}"
                )
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            if parameter.name in given:
                values[parameter.name] = parameter.parse(given[parameter.name])
            elif parameter.name == DUMP:
                values[DUMP] = dump
            elif parameter.required:
                raise BadParameter(
                    f"{self.name} needs parameter {parameter.name} "
                    f"({parameter.meaning}): --param {parameter.name}=…"
                )
            else:
                values[parameter.name] = parameter.default
        return values

    def defaults(self, dump: int) -> dict[str, Value]:
        """Return the default of every parameter; ``None`` for a required one."""
        return {p.name: dump if p.name == DUMP else p.default for p in self.parameters}

    def with_literals(self, values: Mapping[str, Value]) -> str:
        """Return the query as one statement, parameters replaced by their values.

        For Neo4j Browser, which shows rows only for a single statement. For a script of
        ``:param`` lines and a query, it only reports that each was executed.
        """

        def literal(match: re.Match[str]) -> str:
            name = match[1]
            return _literal(values[name]) if name in values else match[0]

        return _TOKEN.sub(literal, self.text)

    def with_values(self, values: Mapping[str, Value]) -> str:
        """Return the query after ``:param`` lines, as a file that the user can edit."""
        lines = [
            f":param {name} => {_literal(value)};" for name, value in values.items()
        ]
        return "\n".join([*lines, self.text])


def _literal(value: Value) -> str:
    """Return ``value`` as a Cypher literal; the escapes of JSON are valid Cypher."""
    text = json.dumps(value)
    return text.replace("e+", "e") if isinstance(value, float) else text


def own_query(text: str, place: str, given: Mapping[str, str]) -> Query:
    """Make a query of Cypher written by the user.

    The type of each value in ``given`` is inferred from its text.

    Raises:
        BadParameter: A parameter has no value.
        QueryError: The query reads files or other hosts, with the rights of the server.
    """
    text, preset = _without_preset(text)
    if has_load_csv(text):
        raise QueryError(
            f"{place} has LOAD CSV, which reads files and other hosts: only queries on "
            "loaded dumps are sent"
        )
    parameters = [Parameter(DUMP, "INTEGER", "number of the dump", required=False)]
    for name, value in given.items():
        parameters.append(
            Parameter(name, _inferred_type(value), "given", required=True)
        )
    for name, default in preset.items():
        if name not in given and name != DUMP:
            parameters.append(Parameter(name, "STRING", "preset", False, default))
    used = set(_USED.findall(QUOTED.sub("", text)))
    for name in sorted(used - {parameter.name for parameter in parameters}):
        raise BadParameter(f"{place} uses ${name}: give it with --param {name}=…")
    dump = preset.get(DUMP)
    if dump is not None and type(dump) is not int:
        raise BadParameter(f"{place}: :param {DUMP}: not the number of a dump")
    return Query(place, place, text, tuple(parameters), (), "", place, dump)


def _without_preset(text: str) -> tuple[str, dict[str, Value]]:
    """Split the leading ``:param name => value;`` lines from ``text``."""
    preset: dict[str, Value] = {}
    lines = text.splitlines(keepends=True)
    while lines and (match := _PRESET.fullmatch(lines[0].strip())):
        try:
            preset[match["name"]] = _plain(json.loads(match["value"]))
        except (ValueError, RecursionError):
            raise BadParameter(f":param {match['name']}: not a plain value") from None
        del lines[0]
    return "".join(lines), preset


def _plain(value: Value) -> Value:
    """A value of JSON, if the server accepts it.

    Raises:
        ValueError: it has a number of more than 64 bits, or a text that is not Unicode.
    """
    todo: list[object] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            todo += [*one, *one.values()]
        elif isinstance(one, list):
            todo += one
        elif isinstance(one, str):
            one.encode()
        elif isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise ValueError(one)
    return value


def _inferred_type(text: str) -> str:
    """Return the Cypher type of a value, inferred from its text."""
    if re.fullmatch(r"[+-]?\d+", text):
        return "INTEGER"
    if re.fullmatch(r"[+-]?\d+\.\d*(?:[eE][+-]?\d+)?", text):
        return "FLOAT"
    return "BOOLEAN" if text.lower() in ("true", "false") else "STRING"


def parse(text: str, place: str) -> Query:
    """Parse one ``.cypher`` file.

    Raises:
        QueryError: The header is invalid; the message has file and line.
    """
    entries: dict[str, list[tuple[int, str]]] = {key: [] for key in _KEYS}
    notes: list[str] = []
    lines = text.splitlines()
    body = 0
    for body, line in enumerate(lines):
        if not line.startswith("//"):
            break
        content = line[2:].strip()
        key, colon, rest = content.partition(":")
        if colon and key in entries and not notes:
            entries[key].append((body + 1, rest.strip()))
        elif content or notes:
            notes.append(content)

    def one(key: str) -> str:
        if len(entries[key]) != 1:
            raise QueryError(f"{place}: the header needs one '{key}:' line")
        return entries[key][0][1]

    if one("mode") != "read":
        raise QueryError(f"{place}: line {entries['mode'][0][0]}: mode must be 'read'")
    if one("group") not in GROUPS:
        raise QueryError(
            f"{place}: line {entries['group'][0][0]}: group must be one of: "
            + ", ".join(GROUPS)
        )
    needs = [word for _, value in entries["needs"] for word in value.split(", ")]
    parameters = tuple(
        _parameter(value, f"{place}: line {number}")
        for number, value in entries["param"]
    )
    columns = []
    for number, value in entries["column"]:
        if not (match := _COLUMN.fullmatch(value)):
            raise QueryError(f"{place}: line {number}: not 'name TYPE meaning'")
        columns.append(AnswerColumn(match["name"], match["type"], match["text"]))
    cypher = "\n".join(lines[body:]).strip() + "\n"
    declared = {parameter.name for parameter in parameters}
    if declared != (used := set(_USED.findall(QUOTED.sub("", cypher)))):
        different = ", ".join(sorted(declared ^ used))
        raise QueryError(f"{place}: declared and used parameters differ: {different}")
    return Query(
        one("name"),
        one("title"),
        cypher,
        parameters,
        tuple(columns),
        "\n".join(notes).strip(),
        place,
        group=one("group"),
        needs=tuple(needs),
        searched=" ".join(value for _, value in entries["searched"]),
        more=" ".join(value for _, value in entries["more"]),
    )


def _parameter(text: str, place: str) -> Parameter:
    match = _PARAM.fullmatch(text)
    if not match or match["type"] not in _TYPES:
        raise QueryError(f"{place}: not 'name TYPE [= default] meaning'")
    bare = Parameter(match["name"], match["type"], match["text"], required=True)
    if (default := match["default"]) is None:
        return bare
    try:
        value = None if default == "null" else bare.parse(default.strip('"'))
    except BadParameter as error:
        raise QueryError(f"{place}: {error}") from error
    return Parameter(bare.name, bare.type, bare.meaning, False, value)


def library_files() -> list[Path]:
    """Files of the queries: in the wheel, or beside the package in a checkout."""
    folder = Path(str(resources.files("ingest"))) / "cypher"
    if not folder.is_dir():
        folder = Path(__file__).parents[2] / "cypher"
    return sorted(folder.glob("*/*.cypher"))


@cache
def library() -> dict[str, Query]:
    """Return all queries by name, sorted by name."""
    queries = (
        parse(path.read_text(encoding="utf-8"), path.name) for path in library_files()
    )
    return {query.name: query for query in sorted(queries, key=lambda q: q.name)}


def same_in_library(query: Query) -> str | None:
    """The name of the library's query with the same text, if there is one."""
    return next((q.name for q in library().values() if q.text == query.text), None)


def find(name: str) -> Query:
    """Return the query of that name.

    Raises:
        UnknownQuery: There is none; the message suggests similar names.
    """
    from difflib import get_close_matches

    queries = library()
    if name in queries:
        return queries[name]
    near = get_close_matches(name, queries)
    hint = f"; did you mean {', '.join(near)}" if near else ""
    raise UnknownQuery(
        f"no query is named {name!r}{hint}; to list all: {command('queries')}"
    )


_ESCAPE = re.compile(r"\\u+([0-9a-fA-F]{4})")
# Cypher has more kinds of white space than Python, and allows comments between words.
_LOAD_CSV = re.compile(r"LOAD[^!-~]+CSV", re.IGNORECASE)


def has_load_csv(text: str) -> bool:
    r"""Whether a query has the clause LOAD CSV; true if in doubt.

    Some servers read ``\uXXXX`` as a character everywhere, others only in strings. A
    query has the clause if it has it in either reading.
    """

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16))

    readings = (text, _ESCAPE.sub(character, text))
    return any(_LOAD_CSV.search(QUOTED.sub(" ", reading)) for reading in readings)


_SHORTEST_PLURAL = 4
_IN_NAME, _IN_TITLE, _IN_REST = 4, 3, 1


def search(
    queries: Iterable[Query], words: Sequence[str]
) -> tuple[list[Query], list[Query]]:
    """Return the queries in which ``words`` occur, the best first.

    A query is found if its name, title or group has one of the words, or its header has
    all of them: upper or lower case, singular or plural. A word may be a phrase. A word
    counts most in the name, less in the title or group, least in the rest. Queries with
    equal scores keep their order, those of fleets last.

    Returns:
        Queries with a word in their name, title or group, and the other queries.
    """
    ranked = []
    for query in queries:
        scores = [_score(query, _stem(word.lower())) for word in words]
        if min(scores) > 0 or max(scores) >= _IN_TITLE:
            is_named = max(scores) >= _IN_TITLE
            ranked.append((-sum(scores), query.is_of_fleet, query, is_named))
    ranked.sort(key=lambda entry: entry[:2])
    return (
        [query for *_, query, is_named in ranked if is_named],
        [query for *_, query, is_named in ranked if not is_named],
    )


def _stem(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST_PLURAL and word.endswith("s") else word


def _score(query: Query, word: str) -> int:
    """How well a query matches a word: 0 if the word is not in its header."""
    word = " ".join(word.split())
    if word in query.name or word in query.name.replace("-", " "):
        return _IN_NAME
    if word in f"{query.title} {query.group}".lower():
        return _IN_TITLE
    rest = [query.notes]
    rest += [f"{column.name} {column.meaning}" for column in query.columns]
    rest += [f"{entry.name} {entry.meaning}" for entry in query.parameters]
    return _IN_REST if word in " ".join("\n".join(rest).lower().split()) else 0
