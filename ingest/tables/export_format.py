"""Formats of exported dumps, as the command line names them."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """Format of exported files."""

    NEO4J_ADMIN = "neo4j-admin"
    CSV = "csv"
    CSV_RAW = "csv-raw"
    PARQUET = "parquet"

    @property
    def suffix(self) -> str:
        """The suffix of a table's file."""
        return self.value.removesuffix("-raw")
