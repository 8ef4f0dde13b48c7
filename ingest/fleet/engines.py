"""What a fleet's dumps can be read by."""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """Processes of this machine, or a Spark cluster."""

    LOCAL = "local"
    SPARK = "spark"


ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The environment of what reads dumps: each processor has a dump of its own."""
