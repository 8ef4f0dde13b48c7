"""Removing what interrupted loads and drops have left.

A small remainder is removed at once. A large one would keep the next command waiting (a
million objects: half a minute), so a detached process removes it silently, and ends
when it is done or the server is gone. The next load removes what is still left then.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ingest.database import bulk, claims
from ingest.database.connection import connect
from ingest.database.dump_list import dump_nodes
from ingest.database.indexes import ensure_needed
from ingest.database.links import link_next
from ingest.errors import IngestError, StoreError
from ingest.progress import silent
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.server.target import Target
from ingest.system import interrupts
from ingest.system.detached import start_detached
from ingest.system.process_names import is_alive, this_process
from ingest.system.settings import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.database.connection import Database
    from ingest.progress import Progress

_INTERRUPTED = "INGEST_INTERRUPTED"
"""Environment variable that names the process whose remains are to be removed."""

_END_S, _POLL_S = 30.0, 0.1
_STOP_S = 20.0
"""Time for a process to delete the objects it has begun with, and to end."""
_ROLLBACK_S = 1.0
"""Time for the server to abandon the last transaction of a process that ended."""


def clean_up(database: Database, progress: Progress = silent) -> None:
    """Remove what killed loads and drops have left; large dumps in the background.

    Args:
        database: The database.
        progress: Receives the progress of what is removed at once.
    """
    taken = claims.take_over(database)
    if taken:
        ensure_needed(database)
        remove(database, taken, progress)


def remove(
    database: Database, numbers: Iterable[int], progress: Progress = silent
) -> None:
    """Remove dumps that no reader sees any more; large ones in the background.

    Args:
        database: The database.
        numbers: The dumps, which this process owns.
        progress: Receives the progress of what is removed at once.
    """
    large = []
    for number in numbers:
        if claims.is_large(claims.object_rows(database, number)):
            large.append(number)
        else:
            claims.delete(database, number, progress)
            bulk.prune(database)
    if large:
        claims.hand_over(database, large)
        start(database)


def stop(database: Database, progress: Progress = silent) -> bool:
    """Stop the processes that remove dumps; this one leaves them out of a new store.

    Returns:
        Whether all have stopped; if not, the removal goes on.
    """
    taken, begun = claims.take_dropped(database), time.monotonic()
    mine = this_process()
    while any(loader != mine and is_alive(loader) is not False for _, loader in taken):
        waited = time.monotonic() - begun
        if waited > _STOP_S:
            go_on(database)
            return False
        progress("stop deleting a dropped dump", int(waited), None)
        time.sleep(_POLL_S)
    return True


def go_on(database: Database) -> bool:
    """Start a process that removes what `stop` took over; return whether it must."""
    numbers = [n.number for n in dump_nodes(database) if claims.is_left_over(n)]
    if numbers:
        claims.hand_over(database, numbers)
        start(database)
    return bool(numbers)


@contextmanager
def going_on_if_failed(database: Database, *, is_stopped: bool) -> Iterator[None]:
    """If the block fails, go on to remove what `stop` has taken over."""
    try:
        yield
    except Exception:
        if is_stopped:
            with suppress(IngestError):
                go_on(database)
        raise


@contextmanager
def cleaned_if_interrupted(database: Database) -> Iterator[None]:
    """Start a cleaner if Ctrl-C is pressed within the block."""
    with interrupts.at_the_end(lambda: start(database)):
        try:
            yield
        except interrupts.Interrupted:
            start(database)
            raise


def start(database: Database) -> None:
    """Start a process that cleans up once this one has ended."""
    environment = {**os.environ, _INTERRUPTED: this_process()}
    if database.server is None:
        target = database.target
        # Not as arguments, which every user of the machine can read.
        environment |= {
            "NEO4J_URI": target.uri,
            "NEO4J_USERNAME": target.username,
            "NEO4J_PASSWORD": target.password or "",
            "NEO4J_DATABASE": target.database,
        }
    start_detached([sys.executable, "-m", __name__], environment=environment)


def main() -> None:
    """Clean up the database that the environment names."""
    loader, known = os.environ.get(_INTERRUPTED, ""), settings()
    deadline = time.monotonic() + _END_S
    while is_alive(loader) and time.monotonic() < deadline:
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
            pass  # the block removes what a bulk load has left
        # An interrupted bulk load may have stopped it, to start it on the new store.
        endpoint = server.start() if server.is_lost() else server.running()
        if endpoint is not None:
            with connect(target_of(endpoint), server=server) as database:
                _delete_all(database)


def _delete_all(database: Database) -> None:
    numbers = claims.take_over(database)
    if numbers:
        link_next(database)
    for number in numbers:
        claims.delete(database, number)
    bulk.prune(database)


if __name__ == "__main__":
    main()
