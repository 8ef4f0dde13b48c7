"""From a file to a graph that answers: read, analyse, write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ingest.errors import AlreadyLoaded, StoreError
from ingest.progress import silent
from ingest.readers import open_source, read

if TYPE_CHECKING:
    from ingest.analysis.metrics import HeapMetrics
    from ingest.graph import HeapGraph
    from ingest.progress import Progress
    from ingest.store.connection import Database
    from ingest.store.dumps import DumpInfo

_SUFFIXES = re.compile(r"(\.(gclog|txt|log|gz|xz|zst|bz2))+$", re.IGNORECASE)


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
    dump: str, *, strict: bool = False, progress: Progress = silent
) -> tuple[HeapGraph, HeapMetrics, str]:
    """Read and analyse ``dump`` without a database.

    Returns:
        The graph, its metrics, and the file's digest.
    """
    from ingest.analysis.metrics import analyse

    with open_source(dump) as source:
        graph = read(source, strict=strict, progress=progress)
    return graph, analyse(graph, progress), source.sha256


def load(
    dump: str,
    database: Database,
    *,
    name: str | None = None,
    replace: bool = False,
    strict: bool = False,
    progress: Progress = silent,
) -> Receipt:
    """Load one dump, unless the same file is there already.

    Args:
        dump: A path, or ``-``.
        database: Where to.
        name: What to call it; made from the file's name otherwise.
        replace: Load again what is there, and whatever has the name.
        strict: Refuse a dump with irregularities.
        progress: Told of all stages.

    Raises:
        DumpError: the dump cannot be read.
        StoreError: the server refused or was lost, or the name is taken.
    """
    from ingest.analysis.metrics import analyse
    from ingest.store.bolt import ensure_schema, write
    from ingest.store.dumps import list_dumps

    ensure_schema(database)
    with open_source(dump) as source:
        graph = read(source, strict=strict, progress=progress)
    warnings = {i.kind: i.count for i in graph.irregularities}
    present = list_dumps(database)
    same = [entry for entry in present if entry.sha256 == source.sha256]
    if same and not replace:
        return _present(same[0], warnings)
    named = [entry for entry in present if name is not None and entry.name == name]
    if named and not replace:
        raise StoreError(
            f"another dump is named {name!r}; choose another --name, or --replace it"
        )
    replaced = {entry.number: entry for entry in [*same, *named]}
    taken = {entry.name for entry in present if entry.number not in replaced}
    exact_name = name is not None
    if name is None:
        name = same[0].name if same else _free_name(dump, taken)
    metrics = analyse(graph, progress)
    try:
        written = write(
            database,
            graph,
            metrics,
            name=name,
            source=PurePath(dump).name if dump != "-" else "<stdin>",
            sha256=source.sha256,
            replaces=sorted(replaced),
            exact_name=exact_name,
            progress=progress,
        )
    except AlreadyLoaded:
        same = [d for d in list_dumps(database) if d.sha256 == source.sha256]
        if not same:
            raise
        return _present(same[0], warnings)
    return Receipt(
        written.name,
        written.number,
        loaded=True,
        object_count=graph.object_count,
        reference_count=graph.reference_count,
        node_count=written.node_count,
        relationship_count=written.relationship_count,
        warnings=warnings,
    )


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


def _free_name(dump: str, taken: set[str]) -> str:
    """A name from the file's, with a number behind it where that is taken."""
    stem = "stdin" if dump == "-" else _SUFFIXES.sub("", PurePath(dump).name)
    stem = stem or "dump"
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return name
