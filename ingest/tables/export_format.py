"""What a dump can be exported as, as the command line names it."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """Format of exported files."""

    NEO4J_ADMIN = "neo4j-admin"
    CSV = "csv"
    PARQUET = "parquet"
