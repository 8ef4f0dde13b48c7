"""Methods of writing a dump, as the command line names them."""

from __future__ import annotations

from enum import StrEnum


class Via(StrEnum):
    """How a dump gets into a database.

    ``BOLT`` writes into the running server, ``BULK`` makes a new store (see
    `ingest.database.bulk`), ``AUTO`` takes what is estimated to be faster.
    """

    AUTO = "auto"
    BOLT = "bolt"
    BULK = "bulk"
