"""Removing what interrupted loads and drops have left.

Little is removed at once. More would keep the next command waiting (a million objects:
half a minute), so a process of its own removes it: it runs detached, in silence, and
ends when it is done or the server is gone. What it has not removed, the next load does.
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
"""Variable with the process whose remains are to be removed."""

_END_S, _POLL_S = 30.0, 0.1
_STOP_S = 20.0
"""For a process to delete the few objects that it has begun with, and to end."""
_ROLLBACK_S = 1.0
"""For the server to give up the last transaction of a process that has ended."""


def clean_up(database: Database, progress: Progress = silent) -> None:
    """Remove what killed loads and drops have left; what is large, in the background.

    Args:
        database: Where it may be.
        progress: Receives what is removed at once.
    """
    taken = claims.take_over(database)
    if taken:
        ensure_needed(database)
        remove(database, taken, progress)


def remove(
    database: Database, numbers: Iterable[int], progress: Progress = silent
) -> None:
    """Remove dumps that no reader sees any more; what is large, in the background.

    Args:
        database: Where they are.
        numbers: The dumps, which this process owns.
        progress: Receives what is removed at once.
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
    """Stop whoever removes dumps: this process leaves them out of a new store.

    Returns:
        Whether all have stopped. If not, the removal goes on.
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
    """Let a process remove what `stop` has taken over; returns whether that is any."""
    numbers = [n.number for n in dump_nodes(database) if claims.is_left_over(n)]
    if numbers:
        claims.hand_over(database, numbers)
        start(database)
    return bool(numbers)


@contextmanager
def going_on_if_failed(database: Database, *, is_stopped: bool) -> Iterator[None]:
    """Go on with what `stop` has taken over, if it has and the block fails."""
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
    """Clean up where the environment says."""
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
            pass  # it removes what a bulk load has left
        # An interrupted bulk load may have ended it, to start it on the new store.
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
