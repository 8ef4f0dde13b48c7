"""A dump as files for other programs: tables, or the input of ``neo4j-admin``."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.files import temporary_folder
from ingest.progress import OneStage, silent
from ingest.tables.dump_properties import EXPORTED, dump_row
from ingest.tables.export_format import ExportFormat
from ingest.tables.import_files import DumpToImport, write_import_files
from ingest.tables.parquet import write_csv, write_parquet, write_spreadsheet_csv
from ingest.tables.schema import (
    TABLES,
    constraint_statements,
    index_statements,
    tables_markdown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables

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
        version: Of Neo4j, for the commands that import.
        about: Properties of the Dump node that the tables do not know.
        force: Whether the folder may have files in it; those of the same names are
            replaced.
        progress: Receives the rows of each table.

    Returns:
        Bytes of each file by its name.

    Raises:
        IngestError: The folder has files, or cannot be written to.
    """
    with _complete_or_not(folder, force=force) as part:
        if kind is ExportFormat.NEO4J_ADMIN:
            _for_neo4j_admin(tables, part, about, version, progress)
        else:
            write = _WRITERS[kind]
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
    (folder / ABOUT).write_text(import_markdown(version), encoding="utf-8")


@contextmanager
def _complete_or_not(folder: Path, *, force: bool) -> Iterator[Path]:
    """A folder beside ``folder``, whose files come to it when all are written."""
    part = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}.part")
    try:
        if not force and folder.is_dir() and any(folder.iterdir()):
            raise IngestError(
                f"{folder} has files in it; --force writes between them, and over "
                "those of the same names"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(part):
            yield part
            for path in sorted(part.iterdir()):
                path.replace(folder / path.name)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise IngestError(f"{folder} cannot be written to ({why})") from error


def import_markdown(version: str) -> str:
    """How to import what ``--for neo4j-admin`` has written."""
    command = f"neo4j-admin database import full neo4j @{ARGUMENTS}"
    image = f"neo4j:{version}"
    return f"""\
# A heap dump for neo4j-admin

The import makes a new database: it fails if one exists, unless you add
`--overwrite-destination`, which deletes all that is in it. Neo4j must be stopped.

## Plain

In this folder:

    neo4j stop
    {command}
    neo4j start
    cypher-shell -f {SCHEMA}

## Docker

In this folder, with the volume `neo4j-data` of a container that is stopped:

    docker run --rm -v "$PWD":/heap -w /heap -v neo4j-data:/data {image} \\
      {command} --report-file=/tmp/report
    docker start NEO4J
    docker exec -i NEO4J cypher-shell -u neo4j -p PASSWORD < {SCHEMA}

## Kubernetes

With the Helm chart in offline maintenance mode
(`--set neo4j.offlineMaintenanceModeEnabled=true`):

    kubectl cp . POD:/tmp/heap
    kubectl exec POD -- sh -c 'cd /tmp/heap && {command}'

Then leave offline maintenance mode, and:

    kubectl exec -i POD -- cypher-shell -u neo4j -p PASSWORD < {SCHEMA}

`NEO4J_URI=neo4j://HOST ingest list` finds the dump afterwards.
"""
