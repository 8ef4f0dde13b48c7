"""The dumps that commands compare: files, exports and loaded dumps by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.heaps import heaps_of
from ingest.compare.dimensions import TREES
from ingest.errors import DumpError, UnknownDump

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.analysis.metrics import HeapMetrics
    from ingest.compare.dumps import ComparedDump
    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph
    from ingest.heap.identity import Identity
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress

MOST_PATHS = 20_000
"""Paths of each tree of a file. Exports and loaded dumps have fewer."""

ComparedNames = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP...",
        help="In the order of time: heap dumps, folders that ingest export wrote, or "
        "names of loaded dumps. Of a single file with several dumps, these.",
    ),
]


def is_file(name: str) -> bool:
    """Whether a dump is given as a file or a folder, not by its name."""
    return name == "-" or "::" in name or Path(name).exists()


def read_dumps(
    names: Sequence[str],
    options: ReadOptions,
    database: Database | None,
    progress: Progress,
) -> list[ComparedDump]:
    """Read the dumps, one after the other, so that one heap at a time is in memory.

    Args:
        names: As in `ComparedNames`.
        options: How to read files.
        database: Where loaded dumps are; ``None`` if all are files.
        progress: Receives all stages.

    Raises:
        DumpError: one cannot be read.
        UnknownDump: one is neither a file nor loaded.
    """
    if len(names) == 1 and names[0] != "-" and Path(names[0]).is_file():
        return _ends_with_objects(_all_of(names[0], options, progress))
    found: list[ComparedDump] = []
    for name in names:
        if not is_file(name):
            if database is None:
                raise UnknownDump(f"{name} is neither a file nor a loaded dump")
            found.append(_loaded(name, database))
        elif Path(name).is_dir():
            from ingest.compare.dumps import of_folder

            found.append(of_folder(Path(name)))
        else:
            found.append(_of_file(name, options, progress))
    return found


def _ends_with_objects(dumps: Iterator[ComparedDump]) -> list[ComparedDump]:
    """The dumps; those between the first and the last without their objects."""
    found: list[ComparedDump] = []
    for dump in dumps:
        if len(found) > 1:
            found[-1] = replace(found[-1], objects=None)
        found.append(dump)
    return found


def _of_file(name: str, options: ReadOptions, progress: Progress) -> ComparedDump:
    from ingest.receipt import free_name

    ((graph, metrics, identity),) = heaps_of(name, options, progress)
    return of_heap(free_name(name), graph, metrics, identity, options, objects=True)


def of_heap(
    name: str,
    graph: HeapGraph,
    metrics: HeapMetrics,
    identity: Identity | None,
    options: ReadOptions,
    *,
    path_limit: int = MOST_PATHS,
    trees: Sequence[str] = TREES,
    objects: bool = False,
) -> ComparedDump:
    """What a comparison needs of a heap.

    Args:
        name: What to call it.
        graph: The heap.
        metrics: Its metrics.
        identity: Which dump of which file.
        options: How it was read.
        path_limit: The most paths of each tree.
        trees: The trees that are needed.
        objects: Whether to keep the objects that have an identity.
    """
    from ingest.compare.dumps import of_tables
    from ingest.compare.lives import known_objects
    from ingest.tables.heap_tables import HeapTables

    objects &= metrics.origins is not None or graph.identity_hash is not None
    tables = HeapTables(
        graph,
        metrics,
        options.own,
        path_limit=path_limit,
        trees=trees,
        path_rows=objects,
    )
    return of_tables(
        name,
        tables,
        format_name=graph.format_name,
        identity=identity,
        objects=known_objects(tables) if objects else None,
    )


def _all_of(
    name: str, options: ReadOptions, progress: Progress
) -> Iterator[ComparedDump]:
    """The dumps of one file.

    Raises:
        DumpError: it has one dump only, or cannot be read.
    """
    from ingest.receipt import free_name

    stem, count = free_name(name), 0
    for graph, metrics, identity in heaps_of(
        name, options, progress, every=True, origins=True
    ):
        count += 1
        part = "" if identity.part is None else f"-part{identity.part}"
        yield of_heap(f"{stem}{part}", graph, metrics, identity, options, objects=True)
        del graph, metrics
    if count < 2:
        raise DumpError(
            "one dump alone has nothing to be compared with; name a second one",
            path=name,
        )


def _loaded(name: str, database: Database) -> ComparedDump:
    from ingest.compare.dumps import of_frames
    from ingest.database.dump_list import find_dump
    from ingest.database.questions import frames_of

    try:
        dump = find_dump(database, name)
    except UnknownDump as error:
        raise UnknownDump(f"{error}; and there is no such file") from None
    frames = frames_of(database, dump.number)
    find_dump(database, name)  # dropped meanwhile?
    return of_frames(
        name,
        *frames,
        format_name=dump.format,
        identity=dump.identity,
    )
