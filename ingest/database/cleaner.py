"""Removing what interrupted loads and drops have left.

Little is removed at once. More would keep the next command waiting (a million objects:
half a minute), so a process of its own removes it: it runs detached, in silence, and
ends when it is done or the server is gone. What it has not removed, the next load does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ingest import interrupts
from ingest.database import bulk, dumps, loaders, next_dumps
from ingest.database.connection import connect
from ingest.errors import IngestError, StoreError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.server.target import Target
from ingest.settings import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.database.connection import Database
    from ingest.progress import Progress

_INTERRUPTED = "INGEST_INTERRUPTED"
"""Variable with the process whose remains are to be removed."""

_END_S, _POLL_S = 30.0, 0.1
_ROLLBACK_S = 1.0
"""For the server to give up the last transaction of a process that has ended."""


def clean_up(
    database: Database, server: EmbeddedServer | None, progress: Progress = silent
) -> None:
    """Remove what killed loads and drops have left; what is large, in the background.

    Args:
        database: Where it may be.
        server: Whose database that is, if it is the embedded one's.
        progress: Receives what is removed at once.
    """
    remove(database, server, dumps.take_over(database), progress)


def remove(
    database: Database,
    server: EmbeddedServer | None,
    numbers: Iterable[int],
    progress: Progress = silent,
) -> None:
    """Remove dumps that no reader sees any more; what is large, in the background.

    Args:
        database: Where they are.
        server: Whose database that is, if it is the embedded one's.
        numbers: The dumps, which this process owns.
        progress: Receives what is removed at once.
    """
    large = []
    for number in numbers:
        if dumps.is_large(dumps.object_rows(database, number)):
            large.append(number)
        else:
            dumps.delete(database, number, progress)
            if server is not None:
                bulk.prune(server, database)
    if large:
        dumps.hand_over(database, large)
        start(database, server)


@contextmanager
def cleaned_if_interrupted(
    database: Database, server: EmbeddedServer | None
) -> Iterator[None]:
    """Start a cleaner if Ctrl-C is pressed within the block."""
    with interrupts.at_the_end(lambda: start(database, server)):
        try:
            yield
        except interrupts.Interrupted:
            start(database, server)
            raise


def start(database: Database, server: EmbeddedServer | None) -> None:
    """Start a process that cleans up once this one has ended.

    Args:
        database: Where.
        server: Whose database that is, if it is the embedded one's.
    """
    target = database.target if server is None else None
    environment = {**os.environ, _INTERRUPTED: loaders.this_process()}
    if target is not None:
        # Not as arguments, which every user of the machine can read.
        environment |= {
            "NEO4J_URI": target.uri,
            "NEO4J_USERNAME": target.username,
            "NEO4J_PASSWORD": target.password or "",
            "NEO4J_DATABASE": target.database,
        }
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    process.returncode = 0  # it outlives us on purpose, and Popen would warn


def main() -> None:
    """Clean up where the environment says."""
    loader, known = os.environ.get(_INTERRUPTED, ""), settings()
    deadline = time.monotonic() + _END_S
    while loaders.is_alive(loader) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    time.sleep(_ROLLBACK_S)
    with suppress(IngestError):
        if known.uri is not None:
            target = Target(
                known.uri, known.username, known.password or None, known.database
            )
            with connect(target) as database:
                _delete_all(database)
            return
        server = EmbeddedServer(known)
        with suppress(StoreError), bulk.exclusive(server):
            pass  # it removes what a bulk load has left
        if endpoint := server.running():
            with connect(target_of(endpoint)) as database:
                _delete_all(database)
                bulk.prune(server, database)


def _delete_all(database: Database) -> None:
    numbers = dumps.take_over(database)
    if numbers:
        next_dumps.link(database)
    for number in numbers:
        dumps.delete(database, number)


if __name__ == "__main__":
    main()
