"""What a fleet's dumps can be read by."""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """Processes of this machine, or a Spark cluster."""

    LOCAL = "local"
    SPARK = "spark"
