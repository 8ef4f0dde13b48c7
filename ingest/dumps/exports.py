"""The folders that ``ingest export --for parquet`` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.dumps.dump import KeptDump
from ingest.errors import DumpError
from ingest.tables.parquet import StoredTables
from ingest.tables.stored_heap import about_export

if TYPE_CHECKING:
    from pathlib import Path

_NEEDED = ("types", "type_paths", "suspects")


def kept_export(folder: Path) -> KeptDump:
    """The dump of a folder.

    Raises:
        DumpError: the folder has no tables of a dump.
    """
    missing = [one for one in _NEEDED if not (folder / f"{one}.parquet").is_file()]
    if missing:
        raise DumpError(
            f"no export of a dump: it has no {missing[0]}.parquet", path=folder
        )
    about = about_export(folder)
    return KeptDump(
        folder.name,
        about.source,
        StoredTables(folder),
        about.format,
        about.runtime,
        about.identity,
        about.strength,
        about.is_redacted,
    )
