"""What queries need but not every dump has: the words of their ``needs:`` lines.

One place decides which queries are listed for a dump, and why an answer is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ingest.database.dump_list import warning_counts
from ingest.runtimes import RUNTIMES
from ingest.tables.schema import KEY_BITS
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingest.database.connection import Database
    from ingest.queries.library import Query


class Need(NamedTuple):
    """One thing that a dump has or lacks.

    Attributes:
        pattern: Cypher after ``MATCH``; a dump ``d`` that has the thing matches it.
        without: What to say about a dump that lacks it.
        remedy: Given the properties of the dump, returns what the user can do about it;
            may be empty.
    """

    pattern: str
    without: str
    remedy: Callable[[Mapping[str, object]], str] = lambda _: ""


def _root(condition: str) -> str:
    return f"(d)-[:HAS_ROOT]->(r:Root) WHERE {condition}"


def _type(condition: str) -> str:
    return f"(t:Type) WHERE t.dump = d.number AND {condition}"


def _load_again(dump: Mapping[str, object]) -> str:
    return f": {command('load', _file(dump), '--replace')}"


def _load_all(dump: Mapping[str, object]) -> str:
    """How to load the other dumps of the file, if it has others."""
    counts = warning_counts(cast("list[str]", dump.get("warnings") or []))
    if not counts.get("other_heap_dump"):
        return ""
    return f"; to load all: {command('load', _file(dump), '--all-dumps')}"


def _file(dump: Mapping[str, object]) -> str:
    source = str(dump.get("source") or "")
    is_named = source and not dump.get("redacted") and not source.startswith("<")
    return source if is_named else "FILE"


NEEDS: dict[str, Need] = {
    **{
        runtime.name: Need(
            f"(d) WHERE d.runtime = '{runtime.name}'",
            f"this dump is not of {runtime.program}",
        )
        for runtime in RUNTIMES
    },
    **{
        platform.name: Need(
            _type(f"t.name STARTS WITH '{platform.type_prefix}'"),
            f"this dump is not of {platform.program}",
        )
        for runtime in RUNTIMES
        for platform in runtime.platforms
    },
    "captions": Need(
        _type("t.caption IS NOT NULL"),
        "this dump was loaded by an earlier version",
        _load_again,
    ),
    "fields": Need(_type("t.fields IS NOT NULL"), "this dump has no field names"),
    "texts": Need(
        _type("t.value_kind = 'string'"), "this dump has no contents of strings"
    ),
    "numbers": Need(
        _type("t.value_kind IN ['integer', 'double', 'boolean']"),
        "this dump has no numbers that are objects",
    ),
    "supertypes": Need(
        "(t:Type)-[:EXTENDS]->() WHERE t.dump = d.number",
        "this dump does not record what its types extend",
    ),
    "values": Need(
        "(d) WHERE d.field_value_count > 0",
        "this dump was loaded without values of fields",
        lambda dump: (
            f": {command('load', _file(dump), '--replace', '--values', 'TYPE')}"
        ),
    ),
    "loaders": Need(
        _type("t.loader_address IS NOT NULL"), "this dump names no class loaders"
    ),
    "threads": Need(_root("r.kind = 'thread'"), "this dump has no thread objects"),
    "strengths": Need(
        "(o:Object) WHERE o.dump = d.number AND o.strength IS NOT NULL",
        "this dump has no objects that only a soft, weak or other weaker reference "
        "holds",
    ),
    "spaces": Need(
        "(o:Object) WHERE o.dump = d.number AND o.space IS NOT NULL",
        "this dump does not record parts of the heap",
    ),
    "external": Need(
        "(d) WHERE d.external_bytes > 0", "this dump records no memory outside the heap"
    ),
    "segments": Need("(d)-[:HAS_SEGMENT]->()", "this dump has no segments"),
    "generations": Need("(d)-[:HAS_GENERATION]->()", "this dump has no generations"),
    "statics": Need(
        _root("r.kind = 'static'"), "this dump does not name static fields"
    ),
    "thread-statics": Need(
        _root("r.kind = 'thread_static' AND r.field IS NOT NULL"),
        "this dump does not name thread-static fields",
    ),
    "handles": Need(_root("r.kind = 'handle'"), "this dump has no GC handles"),
    "finalizers": Need(
        _root("r.kind = 'finalizer_queue'"), "this dump has no finalizer queue"
    ),
    "pinned": Need(_root("r.pinned"), "this dump has no pinned objects"),
    "owners": Need(
        _root("r.owner IS NOT NULL"), "this dump names no isolates or threads"
    ),
    "sites": Need(
        "(d)-[:HAS_ALLOCATION_SITE]->()",
        "this dump does not record where objects were allocated",
    ),
    "collections": Need(
        "(d)-[:HAS_COLLECTION]->()",
        "this dump is not from a trace or log that records collections",
    ),
    "lifetimes": Need(
        "(o:Object) WHERE o.dump = d.number AND o.collections_survived >= 0",
        "this dump does not record how long its objects have lived",
    ),
    "fingerprints": Need(
        f"(top:TypePath {{key: d.number * {1 << KEY_BITS}}}) WHERE NOT EXISTS {{ "
        "MATCH (n:TypePath) WHERE n.depth = 0 AND n.tree = top.tree "
        "AND n.fingerprint <> top.fingerprint }",
        "not all dumps have fingerprints of one rule; load those of an earlier version "
        f"again: {command('load', 'FILE', '--replace')}",
    ),
    "earlier": Need(
        "(:Dump {state: 'ready'})-[:NEXT]->(d)",
        "no earlier dump of this program is loaded; name another one with earlier",
    ),
    "fleet": Need(
        "(:FleetDump)",
        "no fleet is in this database; to write one: "
        f"{command('fleet', 'graph', 'DIR')}",
    ),
    "siblings": Need(
        "(d)-[:CONTINUED_AS]-(:Dump {state: 'ready'})",
        "no other dump of this process is loaded",
        _load_all,
    ),
}
"""Needs by the word in a header."""


def unmet(database: Database, words: list[str], dump: int) -> set[str]:
    """Which of the needs a dump does not meet.

    Args:
        database: An open database.
        words: Keys of `NEEDS`.
        dump: Number of the dump; 0 for none.
    """
    if not words:
        return set()
    checks = ", ".join(
        f"EXISTS {{ MATCH {NEEDS[word].pattern} }} AS `{word}`" for word in words
    )
    text = f"OPTIONAL MATCH (d:Dump {{number: $dump}}) RETURN {checks}"
    columns, rows = database.read(text, {"dump": dump})
    return {
        word
        for row in rows
        for word, is_met in zip(columns, row, strict=True)
        if not is_met
    }


def why_empty(database: Database, query: Query, dump: int) -> str | None:
    """What the dump lacks for a query of the library; ``None`` if nothing.

    Args:
        database: An open database.
        query: The query, whose answer is empty.
        dump: Number of the dump.
    """
    lacking = unmet(database, list(query.needs), dump)
    need = next((NEEDS[word] for word in query.needs if word in lacking), None)
    if need is None:
        return None
    _, rows = database.read(
        "OPTIONAL MATCH (d:Dump {number: $dump}) "
        "RETURN d {.source, .redacted, .warnings}",
        {"dump": dump},
    )
    return need.without + need.remedy(cast("dict[str, object]", rows[0][0] or {}))
