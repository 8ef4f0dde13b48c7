"""Which files of a folder are one export, complete and unchanged.

An export over another one replaces files one by one. If it is killed meanwhile, the
folder has tables of two dumps. So a manifest names the files of an export. It is
removed before the first file is replaced, and written after the last one. Each Parquet
file has the id of its export, too. A folder that does not agree with its manifest is
refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from ingest.errors import DumpError

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.tables.export_format import ExportFormat

TABLES_VERSION = 1
"""Version of the tables as files. A later version may add columns that can be absent,
and tables without rows; any other change needs a higher number, and code that reads the
version before. Files without a number have version 0."""

EXPORT_KEY = "heaproots.export"
"""Where a Parquet file has the id of its export."""

_PARQUET = ".parquet"


def manifest_name(kind: ExportFormat) -> str:
    """The name of the manifest of an export of that format."""
    return f"manifest-{kind.suffix}.json"


def write_manifest(folder: Path, kind: ExportFormat, export_id: str) -> None:
    """Describe all files of a folder.

    Raises:
        OSError: it cannot be written.
    """
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    found = {"version": TABLES_VERSION, "export": export_id, "bytes": files}
    text = json.dumps(found, indent=2) + "\n"
    (folder / manifest_name(kind)).write_text(text, encoding="utf-8")


def check_manifest(folder: Path, kind: ExportFormat) -> None:
    """Make sure that a folder has one unchanged export.

    Raises:
        DumpError: it does not, or a newer version of heaproots has written it.
    """
    path = folder / manifest_name(kind)
    try:
        found = json.loads(path.read_text("utf-8"))
        version, export_id = int(found["version"]), str(found["export"])
        files = {str(name): int(size) for name, size in found["bytes"].items()}
    except FileNotFoundError as error:
        raise DumpError(
            f"no whole export: it has no {path.name}, as after an export that was "
            "interrupted, or by an earlier version; export it again",
            path=folder,
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DumpError(
            f"{path.name} cannot be read ({type(error).__name__}); export it again",
            path=folder,
        ) from error
    if version > TABLES_VERSION:
        raise DumpError(
            f"a newer version of heaproots has written it (tables {version}, this one "
            f"knows {TABLES_VERSION}); update heaproots",
            path=folder,
        )
    for name, size in files.items():
        if why := _fault(folder / name, size, export_id):
            raise DumpError(
                f"no whole export: {name} {why}; export it again", path=folder
            )


def _fault(path: Path, size: int, export_id: str) -> str:
    """Why a file is not the one that the export wrote; empty if it is."""
    try:
        found = export_id
        if path.suffix == _PARQUET:
            found = pl.read_parquet_metadata(path).get(EXPORT_KEY, "")
        if found != export_id:
            return "is of another export"
        if path.stat().st_size != size:
            return "was changed since"
    except FileNotFoundError:
        return "is missing"
    except (OSError, pl.exceptions.PolarsError):
        return "cannot be read"
    return ""
