"""From a file to a graph that answers: read, analyse, write."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ingest import __version__
from ingest.database.via import Via
from ingest.errors import AlreadyLoaded, StoreError
from ingest.progress import silent
from ingest.readers import open_source, read, stem
from ingest.readers.base import DEFAULTS, ReadOptions
from ingest.readers.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ingest.analysis.metrics import HeapMetrics
    from ingest.database.connection import Database
    from ingest.database.dumps import DumpInfo
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress
    from ingest.server.embedded import EmbeddedServer
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import Counts


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one dump.

    Attributes:
        name: What ``--dump`` takes.
        number: What queries find in ``$dump``.
        loaded: False where the same file was there already.
        object_count, reference_count: Of the dump.
        node_count, relationship_count: Written; 0 where nothing was.
        warnings: Irregularities by kind.
    """

    name: str
    number: int
    loaded: bool
    object_count: int
    reference_count: int
    node_count: int
    relationship_count: int
    warnings: dict[str, int]


def measure(
    dump: str,
    options: ReadOptions = DEFAULTS,
    progress: Progress = silent,
    *,
    origins: bool = True,
) -> tuple[HeapGraph, HeapMetrics, str]:
    """Read and analyse ``dump`` without a database.

    Args:
        dump: A path, or ``-``.
        options: How to read it.
        progress: Told of all stages.
        origins: Whether to follow its objects back through collections.

    Returns:
        The graph, its metrics, and the file's digest.
    """
    from ingest.analysis.metrics import analyse

    with open_source(dump) as source:
        graph = read(source, options, progress)
    return graph, analyse(graph, progress, origins=origins), source.sha256


def load(
    dump: str,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    via: Via = Via.AUTO,
    name: str | None = None,
    tell_part: bool = False,
    replace: bool = False,
    options: ReadOptions = DEFAULTS,
    progress: Progress = silent,
) -> Receipt:
    """Load one dump, unless the same file is there already.

    Args:
        dump: A path, or ``-``.
        database: Where to.
        server: Whose database that is, if it is the embedded one's. Then the dump's
            tables are kept beside its store.
        via: How to write it.
        name: What to call it; made from the file's name otherwise.
        tell_part: Put behind the name which dump of the file it is.
        replace: Load again what is there, and whatever has the name.
        options: How to read it.
        progress: Told of all stages.

    Raises:
        DumpError: the dump cannot be read.
        StoreError: the server refused or was lost, the name is taken, or no bulk
            load is possible. What was written stays invisible, and the next load
            removes it.
        EmbeddedError: the embedded server could not be changed over; it is as before.
    """
    from ingest.analysis.metrics import analyse
    from ingest.database import bolt, dumps
    from ingest.tables.heap_tables import HeapTables

    bolt.ensure_schema(database)
    with open_source(dump) as source:
        graph = read(source, options, progress)
    warnings = {i.kind: i.count for i in graph.irregularities}
    digest = graph.digest(source.sha256)
    wished = name or free_name(dump)
    if tell_part and graph.part is not None:
        wished = f"{wished}-{graph.part}"
        name = name and wished
    present = dumps.list_dumps(database)
    same = [entry for entry in present if entry.sha256 == digest]
    if same and not replace:
        return _present(same[0], warnings)
    named = [entry for entry in present if name is not None and entry.name == name]
    if named and not replace:
        raise StoreError(
            f"another dump is named {name!r}; choose another --name, or --replace it"
        )
    replaced = {entry.number: entry for entry in [*same, *named]}
    taken = {entry.name for entry in present if entry.number not in replaced}
    tables = HeapTables(graph, analyse(graph, progress))
    object_count, reference_count = graph.object_count, graph.reference_count
    del graph  # `write` lets go of it
    try:
        written = write(
            tables,
            database,
            server=server,
            via=via,
            name=name or (same[0].name if same else numbered(wished, taken)),
            exact_name=name is not None,
            source=source_name(dump),
            sha256=digest,
            replaces=sorted(replaced),
            progress=progress,
        )
    except AlreadyLoaded:
        same = [d for d in dumps.list_dumps(database) if d.sha256 == digest]
        if not same:
            raise
        return _present(same[0], warnings)
    return Receipt(
        written.name,
        written.number,
        loaded=True,
        object_count=object_count,
        reference_count=reference_count,
        node_count=sum(written.counts.nodes.values()),
        relationship_count=sum(written.counts.relationships.values()),
        warnings=warnings,
    )


def every_part(
    dump: str, options: ReadOptions, progress: Progress = silent
) -> list[ReadOptions]:
    """Options that choose each dump of a file, in the order of their numbers.

    Raises:
        DumpError: the one that ``options`` choose cannot be read.
    """
    with open_source(dump) as source:
        graph = read(source, options, progress)
    if graph.part is None:
        return [options]
    found: list[ReadOptions] = []
    for part in sorted({graph.part, *graph.other_parts}, key=lambda p: p.number):
        chosen: dict[str, Any] = {part.option: part.number}
        found.append(dataclasses.replace(options, **chosen))
    return found


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        name: The dump's name; not the wished one where that was taken meanwhile.
        number: The dump's number.
        counts: Its nodes and relationships.
    """

    name: str
    number: int
    counts: Counts


def write(
    tables: HeapTables,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    via: Via = Via.AUTO,
    name: str,
    exact_name: bool = True,
    source: str,
    sha256: str,
    replaces: Sequence[int] = (),
    progress: Progress = silent,
) -> Written:
    """Write one dump under a number of its own and make it ready.

    Args:
        tables: The dump; a bulk load closes them.
        database: Where to; constraints and indexes are there.
        server: Whose database that is, if it is the embedded one's.
        via: How.
        name: What to call it.
        exact_name: Whether ``name`` must be had, or may get a number behind it.
        source: The file's name.
        sha256: Digest of the decompressed file.
        replaces: Numbers of dumps that go when this one is ready.
        progress: Told of all stages.

    Raises:
        AlreadyLoaded: another process has loaded the same file meanwhile.
        StoreError, EmbeddedError: see `load`.
    """
    from ingest.database import bolt, bulk, dumps
    from ingest.database import trace_links as links
    from ingest.tables import mapping
    from ingest.tables.statements import size_statements

    dumps.clean_up(database, progress)
    in_bulk = _in_bulk(via, server, database, tables, replaces)
    about: dict[str, object] = {"source": source, "tool_version": __version__}
    with ExitStack() as stack:
        if server is not None and in_bulk:
            stack.enter_context(bulk.exclusive(server))
        number, node = dumps.claim(
            database, name, sha256, about, replaces=replaces, exclusive=in_bulk
        )
        if server is None:
            counts = mapping.counts(tables)
        else:
            counts = bulk.store(server, number, sha256, tables, progress)
        if server is not None and in_bulk:
            properties = tables.dump() | about
            tables.close()  # the importer needs the memory
            name = bulk.write(
                server,
                database,
                number=number,
                name=name,
                exact_name=exact_name,
                properties=properties,
                replaces=replaces,
                progress=progress,
            )
        else:
            bolt.write(database, tables, number, node, counts, progress)
            for text in size_statements(number):
                database.write(text, {})
            linked = links.siblings(database, number)
            links.link(database, number, linked, progress)
            name = dumps.publish_as(
                database, number, name, list(replaces), exact=exact_name
            )
            # Whoever has loaded another dump of the trace meanwhile did not see ours.
            late = links.siblings(database, number) - linked
            links.link(database, number, late, progress)
            for old in replaces:
                dumps.delete(database, old, progress)
            if server is not None:
                bulk.prune(server, database)
    return Written(name, number, counts)


def _in_bulk(
    via: Via,
    server: EmbeddedServer | None,
    database: Database,
    tables: HeapTables,
    replaces: Container[int],
) -> bool:
    """Whether to load in bulk.

    Raises:
        StoreError: it was asked for and is not possible.
    """
    from ingest.database import bulk

    if server is None:
        if via is Via.BULK:
            raise StoreError(
                "a bulk load makes a new store, which only the tool's own Neo4j can "
                "take; for yours: ingest export DUMP DIR --for neo4j-admin"
            )
        return False
    entities = 3 * tables.rows("objects") + tables.rows("references")
    if via is Via.BOLT or (via is Via.AUTO and entities < bulk.LEAST_ENTITIES):
        return False
    plan = bulk.plan(server, database, entities, replaces)
    if via is Via.AUTO:
        return plan.obstacle is None and plan.is_faster
    if plan.obstacle is not None:
        raise StoreError(f"no bulk load is possible: {plan.obstacle}; use --via bolt")
    return True


def drop(
    name: str,
    database: Database,
    *,
    server: EmbeddedServer | None = None,
    progress: Progress = silent,
) -> DumpInfo:
    """Drop a loaded dump; returns what it was.

    Raises:
        UnknownDump: there is none of that name.
        StoreError: the server refused or was lost.
    """
    from ingest.database import bulk, dumps

    found = dumps.find_dump(database, name)
    dumps.clean_up(database, progress)
    dumps.unpublish(database, found.number)
    dumps.delete(database, found.number, progress)
    if server is not None:
        bulk.prune(server, database)
    return found


def _present(dump: DumpInfo, warnings: dict[str, int]) -> Receipt:
    """The receipt of a file that is loaded already."""
    return Receipt(
        dump.name,
        dump.number,
        loaded=False,
        object_count=dump.object_count,
        reference_count=dump.reference_count,
        node_count=0,
        relationship_count=0,
        warnings=warnings,
    )


def source_name(dump: str) -> str:
    """What a Dump node says of the file."""
    return PurePath(dump).name if dump != "-" else "<stdin>"


def free_name(dump: str) -> str:
    """A name from the file's."""
    return "stdin" if dump == STDIN else stem(dump) or "dump"


def numbered(stem: str, taken: Container[str]) -> str:
    """The name, with a number behind it where that is taken."""
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return name
