"""Questions to a loaded dump: queries of the library, names, captions.

Answers are plain Python values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ingest.queries.answer import Answer, GraphPath
from ingest.words import type_names
from ingest.words.command_line import quoted
from ingest.words.text import Captions, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ingest.database.connection import Database
    from ingest.database.dump_list import DumpInfo
    from ingest.queries.library import Query, Value
    from ingest.words.type_names import Subject


def ask(
    database: Database,
    query: Query,
    given: Mapping[str, str],
    dump: int,
    on_notice: Callable[[str], None] | None = None,
) -> Answer:
    """Run ``query`` for the dump of number ``dump``, for reading only.

    ``on_notice`` is called with each of the server's notices on the query.

    Raises:
        BadParameter: a parameter is missing, unknown or mistyped.
        QueryError: the server does not accept the query.
    """
    columns, rows = database.read(query.text, query.bind(given, dump), on_notice)
    return Answer(columns, tuple(tuple(map(plain, row)) for row in rows))


def captions_of(database: Database, dump: int) -> Captions:
    """Read those captions of a dump that `caption_of` cannot make.

    They contain a namespace, an assembly or a number; few others have such marks.
    """
    _, rows = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump "
        "AND any(mark IN ['.', ':', ',', '#'] WHERE t.caption CONTAINS mark) "
        "RETURN t.name, t.caption",
        {"dump": dump},
    )
    return Captions({str(name): str(caption) for name, caption in rows})


def ask_rows(
    database: Database,
    query: Query,
    given: Mapping[str, str],
    dump: int,
    on_notice: Callable[[str], None] | None = None,
) -> Iterator[dict[str, object]]:
    """Like `ask`, but row by row, for answers of any length."""
    values = query.bind(given, dump)
    for columns, row in database.stream(query.text, values, on_notice):
        if row is not None:
            yield dict(zip(columns, map(plain, row), strict=True))


def has_more(database: Database, query: Query, values: Mapping[str, Value]) -> bool:
    """Whether a loaded dump has objects or rows that ``query`` does not search."""
    if not query.more:
        return False
    text = f"MATCH (d:Dump {{number: $dump}}) RETURN {query.more} AS has_more"
    _, rows = database.read(text, dict(values))
    return bool(rows and rows[0][0])


def plain(value: object) -> object:
    """A value for JSON: nodes become their properties, paths their nodes and names."""
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node):
        return {"labels": sorted(value.labels), **_mapping(dict(value))}
    if isinstance(value, Relationship):
        return {"type": value.type, **_mapping(dict(value))}
    if isinstance(value, Path):
        steps: list[object] = [plain(value.nodes[0])]
        for relationship, node in zip(
            value.relationships, value.nodes[1:], strict=True
        ):
            steps += [plain(relationship), plain(node)]
        return GraphPath(
            steps,
            [
                relationship.start_node == node
                for relationship, node in zip(
                    value.relationships, value.nodes, strict=False
                )
            ],
        )
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no others
    if value is None or isinstance(value, str | int | bool):
        return value
    return value.iso_format() if hasattr(value, "iso_format") else str(value)


def _mapping(values: dict[str, object]) -> dict[str, object]:
    return {key: plain(value) for key, value in values.items()}


def find_subject(
    database: Database, text: str, dump: DumpInfo, kind: str = ""
) -> Subject:
    """Find what ``text`` names in a loaded dump.

    Raises:
        NotFound: nothing in the dump has that name, or several types have.
    """
    which = f"dump {printable(dump.name)}"
    return type_names.find_subject(text, which, _LoadedNames(database, dump), kind)


@dataclass(frozen=True)
class _LoadedNames:
    """The names of objects and types in a loaded dump."""

    database: Database
    dump: DumpInfo

    def known(self, address: str, name: str) -> tuple[bool, bool]:
        _, rows = self.database.read(
            """
            RETURN
              EXISTS { MATCH (o:Object) WHERE o.dump = $dump AND o.address = $address },
              EXISTS { MATCH (t:Type) WHERE t.dump = $dump AND t.name = $name }
            """,
            {"dump": self.dump.number, "address": address, "name": name},
        )
        is_object, is_type = rows[0]
        return bool(is_object), bool(is_type)

    def instance_counts(self) -> dict[str, int]:
        _, rows = self.database.read(
            "MATCH (t:Type) WHERE t.dump = $dump "
            "RETURN t.name AS name, sum(t.instance_count) ORDER BY name",
            {"dump": self.dump.number},
        )
        return {str(name): cast("int", count) for name, count in rows}

    def caption(self, name: str) -> str:
        return self._captions.of(name)

    def elsewhere(self, text: str, address: str = "") -> str:
        _, rows = self.database.read(
            """
            MATCH (d:Dump {state: 'ready'})
            WHERE EXISTS {
              MATCH (t:Type)
              WHERE t.dump = d.number AND t.instance_count > 0
                AND toLower($text) IN [toLower(t.name), toLower(t.caption)]
            } OR EXISTS {
              MATCH (o:Object) WHERE o.dump = d.number AND o.address = $address
            }
            RETURN d.name ORDER BY d.loaded_at DESC, d.number DESC LIMIT 3
            """,
            {"text": text, "address": address},
        )
        if not rows:
            return ""
        options = " or ".join(f"--dump {quoted(str(name))}" for (name,) in rows)
        return f"; another loaded dump has it: {options}"

    @cached_property
    def _captions(self) -> Captions:
        return captions_of(self.database, self.dump.number)
