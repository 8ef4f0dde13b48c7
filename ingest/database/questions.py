"""What is asked of a loaded dump: queries of the library, names, tables to compare.

Answers are plain Python values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ingest.errors import NotFound, UnknownDump
from ingest.progress import silent
from ingest.queries.answer import Answer
from ingest.queries.library import find
from ingest.text import Captions, printable
from ingest.type_names import find_type, guess_type, hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ingest.database.connection import Database
    from ingest.database.dump_list import DumpInfo
    from ingest.progress import Progress
    from ingest.queries.library import Query

_HEX = re.compile(r"(?:0[xX])?0*([0-9a-fA-F]{1,16})")


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


def ask_all(
    database: Database,
    queries: Mapping[str, Mapping[str, str]],
    dump: int,
    progress: Progress = silent,
) -> dict[str, Answer]:
    """Run several queries of the library for the dump of number ``dump``.

    Args:
        database: An open database.
        queries: Parameters as text, by name of the query.
        dump: Number of the dump.
        progress: Called before each query.

    Raises:
        UnknownDump: The query ``dump`` has no row: the dump is no longer there.
    """
    captions = captions_of(database, dump)
    answers = {}
    for done, (name, given) in enumerate(queries.items()):
        progress("ask", done, len(queries))
        answer = ask(database, find(name), given, dump)
        answers[name] = replace(answer, captions=captions)
    if "dump" in answers and not answers["dump"].rows:
        raise UnknownDump("the dump has just been dropped or replaced")
    return answers


def captions_of(database: Database, dump: int) -> Captions:
    """Read the captions of a dump that `caption_of` does not make.

    Those have a namespace, an assembly or a number; few others have these marks.
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
    """The same row by row, for answers of any length."""
    values = query.bind(given, dump)
    for columns, row in database.stream(query.text, values, on_notice):
        if row is not None:
            yield dict(zip(columns, map(plain, row), strict=True))


def plain(value: object) -> object:
    """A value as JSON can have it: nodes as their properties, paths as both."""
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
        return steps
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no other
    if value is None or isinstance(value, str | int | bool):
        return value
    return value.iso_format() if hasattr(value, "iso_format") else str(value)


def _mapping(values: dict[str, object]) -> dict[str, object]:
    return {key: plain(value) for key, value in values.items()}


@dataclass(frozen=True, slots=True)
class Subject:
    """An object's address, or a type's full name, as the dump spells it.

    Attributes:
        kind: ``object`` or ``type``.
        name: The address or the name.
        notice: What to tell the user if it is not what was written; else empty.
    """

    kind: str
    name: str
    notice: str = ""


def find_subject(
    database: Database, text: str, dump: DumpInfo, kind: str = ""
) -> Subject:
    """Find what ``text`` names: a type, as `find_type` finds it, or an address.

    Args:
        database: Where to look.
        text: What the user wrote.
        dump: The dump.
        kind: ``object`` or ``type`` where only that will do.

    Raises:
        NotFound: nothing in the dump is called that, or several types are; the
            message names what comes near.
    """
    which = f"dump {printable(dump.name)}"
    if kind != "type" and (address := _address(database, text, dump.number, which)):
        return Subject("object", address)
    if kind == "object":
        raise NotFound(f"{which} has no object {text!r}")
    counts = _instance_counts(database, dump.number)
    try:
        found = find_type(text, counts, captions_of(database, dump.number).of)
    except NotFound as error:
        raise NotFound(f"{which}: {error}") from None
    found = found or guess_type(text, counts)
    if found is None:
        what = "type" if kind else "type or object"
        raise NotFound(f"{which} has no {what} {text!r}{hint(text, counts)}")
    return Subject("type", found.name, found.notice)


def _address(database: Database, text: str, dump: int, which: str) -> str | None:
    match = _HEX.fullmatch(text.strip())
    if match is None:
        return None
    address = "0x" + match[1].lower()
    _, rows = database.read(
        """
        RETURN
          EXISTS { MATCH (o:Object) WHERE o.dump = $dump AND o.address = $address },
          EXISTS { MATCH (t:Type) WHERE t.dump = $dump AND t.name = $text }
        """,
        {"dump": dump, "address": address, "text": text},
    )
    is_object, is_type = rows[0]
    if is_type:  # such as a class Bad
        return None
    if is_object:
        return address
    if text.lower().startswith("0x"):
        raise NotFound(f"{which} has no object {address}")
    return None


def _instance_counts(database: Database, dump: int) -> dict[str, int]:
    """Read the instances of each type, by full name, those of all domains together."""
    _, rows = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump "
        "RETURN t.name AS name, sum(t.instance_count) ORDER BY name",
        {"dump": dump},
    )
    return {str(name): cast("int", count) for name, count in rows}
