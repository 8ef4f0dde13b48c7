"""What exported files are for, as the command line names it."""

from __future__ import annotations

from enum import StrEnum


class ExportFor(StrEnum):
    """Whom exported files are for."""

    NEO4J_ADMIN = "neo4j-admin"
    CSV = "csv"
    PARQUET = "parquet"
