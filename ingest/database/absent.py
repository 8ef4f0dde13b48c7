"""Why a query of the library has no rows: what the dump does not record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ingest.database.connection import Database


class Need(NamedTuple):
    """What queries need that not every dump has.

    Attributes:
        check: Cypher with a row if the dump has it.
        without: What is said of a dump that does not.
    """

    check: str
    without: str


def _any(pattern: str) -> str:
    return f"MATCH {pattern} RETURN 1 LIMIT 1"


_DUMP = "(:Dump {number: $dump})"
_FIELDS = Need(
    _any("(t:Type {dump: $dump}) WHERE t.fields IS NOT NULL"),
    "this dump has no field names",
)
_VALUES = Need(
    _any("(t:Type {dump: $dump}) WHERE t.value_kind IS NOT NULL"),
    "this dump has no contents of strings",
)
_SEGMENTS = Need(_any(f"{_DUMP}-[:HAS_SEGMENT]->()"), "this dump has no segments")
_GENERATIONS = Need(
    _any(f"{_DUMP}-[:HAS_GENERATION]->()"), "this dump has no generations"
)
_COLLECTIONS = Need(
    _any(f"{_DUMP}-[:HAS_COLLECTION]->()"),
    "this dump is not from a trace or log that records collections",
)
_SITES = Need(
    _any(f"{_DUMP}-[:HAS_ALLOCATION_SITE]->()"),
    "this dump does not record where objects were allocated",
)
_STATICS = Need(
    _any(f"{_DUMP}-[:HAS_ROOT]->(r:Root)-[:STATIC_IN]->()"),
    "this dump does not name static fields",
)
_EXTERNAL = Need(
    _any("(o:Object {dump: $dump}) WHERE o.external_bytes > 0"),
    "this dump records no memory outside the heap",
)
_TRACE = Need(
    _any("(d:Dump {number: $dump}) WHERE d.trace IS NOT NULL"),
    "this dump is not from a trace",
)
_SIBLING = Need(
    _any(
        "(d:Dump {number: $dump}), (e:Dump {trace: d.trace, state: 'ready'}) "
        "WHERE e.number <> d.number"
    ),
    "no other dump of this trace is loaded; ingest load FILE --all-dumps loads them",
)

NEEDS: dict[str, tuple[Need, ...]] = {
    "across-generations": (_GENERATIONS,),
    "allocation-sites": (_SITES,),
    "born-between": (_TRACE, _SIBLING),
    "by-field": (_FIELDS,),
    "closures": (_FIELDS,),
    "dependent-handles": (_FIELDS,),
    "died-between": (_TRACE, _SIBLING),
    "external-bytes": (_EXTERNAL,),
    "free-space": (_SEGMENTS,),
    "gc-timeline": (_COLLECTIONS,),
    "generation-histogram": (_GENERATIONS,),
    "oldest-objects": (_COLLECTIONS,),
    "pinned-fragmentation": (_SEGMENTS,),
    "promoted-to-gen2": (_COLLECTIONS,),
    "segments": (_SEGMENTS,),
    "static-roots": (_STATICS,),
    "string-duplicates": (_VALUES,),
    "strings": (_VALUES,),
    "survivors-of-dump": (_TRACE, _SIBLING),
    "thread-statics": (_STATICS,),
}
"""By query; the first need that is not met is the reason."""


def why_empty(database: Database, query: str, dump: int) -> str | None:
    """What the dump lacks for a query of the library; ``None`` if nothing.

    Args:
        database: An open database.
        query: Name of the query, whose answer is empty.
        dump: Number of the dump.
    """
    for need in NEEDS.get(query, ()):
        if not database.read(need.check, {"dump": dump})[1]:
            return need.without
    return None
