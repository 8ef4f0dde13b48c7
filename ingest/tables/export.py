"""A dump as files for other programs: tables, or the input of ``neo4j-admin``."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.progress import OneStage, silent
from ingest.system.files import temporary_folder
from ingest.tables.dump_properties import EXPORTED, dump_row
from ingest.tables.export_format import ExportFormat
from ingest.tables.import_files import DumpToImport, write_import_files
from ingest.tables.manifest import manifest_name, write_manifest
from ingest.tables.mapping import counts
from ingest.tables.parquet import write_csv, write_parquet, write_spreadsheet_csv
from ingest.tables.schema import (
    TABLES,
    constraint_statements,
    index_statements,
    tables_markdown,
)
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables
    from ingest.tables.mapping import Counts

ARGUMENTS, SCHEMA, ABOUT = "import.args", "schema.cypher", "README.md"
_WRITERS = {
    ExportFormat.CSV: write_spreadsheet_csv,
    ExportFormat.CSV_RAW: write_csv,
    ExportFormat.PARQUET: write_parquet,
}


def export(
    tables: HeapTables,
    folder: Path,
    kind: ExportFormat,
    *,
    version: str,
    about: dict[str, object],
    force: bool = False,
    progress: Progress = silent,
) -> dict[str, int]:
    """Write a dump to a folder, all of it or nothing.

    Args:
        tables: The dump.
        folder: Where to; made if it is not there.
        kind: What to write.
        version: Version of Neo4j in the commands that import.
        about: Further properties of the Dump node.
        force: Whether the folder may have files in it; those with the names of new
            files are replaced.
        progress: Receives the rows of each table.

    Returns:
        Bytes of each file by its name.

    Raises:
        IngestError: The folder has files, or cannot be written to.
    """
    export_id = secrets.token_hex(16)
    with _complete_or_not(folder, kind, export_id, force=force) as part:
        if kind is ExportFormat.NEO4J_ADMIN:
            _for_neo4j_admin(tables, part, about, version, progress)
        else:
            write = _WRITERS[kind]
            if kind is ExportFormat.PARQUET:
                write = partial(write_parquet, export_id=export_id)
            rows = sum(tables.rows(entry.name) for entry in TABLES)
            stage = OneStage(progress, "export", rows)
            for entry in TABLES:
                path = part / f"{entry.name}.{kind.suffix}"
                write(tables.lazy(entry.name, stage), path)
            row = dump_row(tables.dump() | about).lazy()
            write(row, part / f"{EXPORTED.name}.{kind.suffix}")
            (part / ABOUT).write_text(tables_markdown(kind.suffix), encoding="utf-8")
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


def _for_neo4j_admin(
    tables: HeapTables,
    folder: Path,
    about: dict[str, object],
    version: str,
    progress: Progress,
) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    first = {"number": 1, "state": "ready", "loaded_at": now, "loading_since": now}
    dump = DumpToImport(1, tables.dump() | about | first, tables)
    arguments = write_import_files(folder, [dump], progress)
    (folder / ARGUMENTS).write_text("\n".join(arguments) + "\n", encoding="utf-8")
    indexes = [":begin", *index_statements().values(), ":commit"]
    lines = [
        *indexes,
        *constraint_statements().values(),
        "CALL db.awaitIndexes(86400)",
    ]
    text = "".join(f"{line}{'' if line[0] == ':' else ';'}\n" for line in lines)
    (folder / SCHEMA).write_text(text, encoding="utf-8")
    page = import_markdown(version, counts(tables))
    (folder / ABOUT).write_text(page, encoding="utf-8")


@contextmanager
def _complete_or_not(
    folder: Path, kind: ExportFormat, export_id: str, *, force: bool
) -> Iterator[Path]:
    """A folder beside ``folder``; its files are moved there when all are written.

    A new folder appears at once. An existing one may have other files, so its files are
    replaced one by one. Those that say that the export is whole are removed first and
    written last.
    """
    place = folder.resolve()
    try:
        has_files = place.is_dir() and any(place.iterdir())
        if not force and has_files:
            raise IngestError(
                f"{folder} has files in it; --force writes between them, and over "
                "those of the same names"
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place)
        with _part_of(place) as part:
            yield part
            write_manifest(part, kind, export_id)
            if place.exists():
                _replace_files(part, place, kind)
            else:
                part.rename(place)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise IngestError(f"{folder} cannot be written to ({why})") from error


def _replace_files(part: Path, place: Path, kind: ExportFormat) -> None:
    """Move all files to a folder that others may use too."""
    marks = [manifest_name(kind)]
    if kind is ExportFormat.NEO4J_ADMIN:
        marks.insert(0, ARGUMENTS)
    for name in reversed(marks):
        (place / name).unlink(missing_ok=True)
    for path in sorted(part.iterdir()):
        if path.name not in marks:
            path.replace(place / path.name)
    for name in marks:
        (part / name).replace(place / name)


@contextmanager
def _part_of(place: Path) -> Iterator[Path]:
    """A new folder beside ``place``, locked until the block or the process ends."""
    part = place.with_name(f".{place.name}-{secrets.token_hex(4)}.part")
    with temporary_folder(part), ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(_locked(part))
        yield part


def _remove_abandoned(place: Path) -> None:
    """Remove what killed exports into a folder have left."""
    pattern = re.compile(re.escape(f".{place.name}-") + r"[0-9a-f]{8}\.part")
    for path in place.parent.iterdir():
        if pattern.fullmatch(path.name) and path.is_dir():
            with suppress(OSError), _locked(path):
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder.

    Raises:
        OSError: another process has it, or the system locks no folders.
    """
    if sys.platform == "win32":
        raise OSError(errno.ENOTSUP, "folders are not locked")
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def import_markdown(version: str, written: Counts) -> str:
    """How to import what ``--for neo4j-admin`` has written.

    Args:
        version: Version of Neo4j.
        written: Nodes and relationships that the importer must find.
    """
    nodes, links = sum(written.nodes.values()), sum(written.relationships.values())
    imported = f"neo4j-admin database import full neo4j @{ARGUMENTS}"
    image = f"neo4j:{version}"
    return f"""\
# A heap dump for neo4j-admin

The import makes a new database: it fails if one exists, unless you add
`--overwrite-destination`, which deletes all that is in it. Neo4j must be stopped.
It must report {nodes:,} nodes and {links:,} relationships: if there are fewer, it has
left out rows, which some versions of neo4j-admin tolerate.

## Plain

In this folder:

    neo4j stop
    {imported}
    neo4j start
    cypher-shell -f {SCHEMA}

## Docker

In this folder, with the volume `neo4j-data` of a container that is stopped:

    docker run --rm -v "$PWD":/heap -w /heap -v neo4j-data:/data {image} \\
      {imported} --report-file=/tmp/report
    docker start NEO4J
    docker exec -i NEO4J cypher-shell -u neo4j -p PASSWORD < {SCHEMA}

## Kubernetes

With the Helm chart in offline maintenance mode
(`--set neo4j.offlineMaintenanceModeEnabled=true`):

    kubectl cp . POD:/tmp/heap
    kubectl exec POD -- sh -c 'cd /tmp/heap && {imported}'

Then leave offline maintenance mode, and:

    kubectl exec -i POD -- cypher-shell -u neo4j -p PASSWORD < {SCHEMA}

`NEO4J_URI=neo4j://HOST {command("list")}` finds the dump afterwards.
"""
