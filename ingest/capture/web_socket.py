"""A WebSocket to a running program, which is not trusted: frames are bounded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

FRAME_BYTES = 64 << 20
"""Largest frame; a VM sends 1 MiB of a snapshot in one, V8 100 KiB."""
CLOSE_S = 2.0
_QUEUED_FRAMES = 4
_SILENT = logging.getLogger("ingest.web_socket")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
"""Faults of the other end are reported once, as an error of the capture."""


def open_socket(address: str, timeout_s: float) -> ClientConnection:
    """Connect to ``address``; the caller explains and handles what is raised."""
    from websockets.sync.client import connect

    return connect(
        address,
        open_timeout=timeout_s,
        close_timeout=CLOSE_S,
        max_size=FRAME_BYTES,
        max_queue=_QUEUED_FRAMES,
        logger=_SILENT,
        compression=None,  # costs the program time
        proxy=None,  # the address may have a token, which is secret
        ping_interval=None,  # a program does not answer while it writes its heap
    )
