"""Waiting for what happens soon, in another process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.server.embedded import EmbeddedServer


def wait_until(is_so: Callable[[], bool], most_s: float = 60) -> None:
    """Wait until something is so; it fails if that takes longer."""
    until = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.002)


def is_tidy(server: EmbeddedServer) -> bool:
    """Whether nothing is left of bulk loads, which is removed after they have ended."""
    return not [*server.home.glob("bulk-*"), *server.files.stale_data()]
