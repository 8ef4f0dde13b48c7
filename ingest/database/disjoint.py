"""Work on several threads, of which no two pieces touch the same things at once."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future


class Piece(NamedTuple):
    """A piece of work.

    Attributes:
        keys: What it touches.
        do: Does it.
    """

    keys: frozenset[str]
    do: Callable[[], None]


def do_disjoint(pieces: Iterable[Piece], threads: int, most_waiting: int) -> None:
    """Do all pieces, in about the order given.

    A piece waits while one that has a key in common with it is being done; one that
    comes later and has none goes first.

    Args:
        pieces: Made on this thread, while others work.
        threads: How many pieces are done at once.
        most_waiting: How many are made in advance.

    Raises:
        Exception: what a piece has raised; those that wait are not begun.
    """
    coming = iter(pieces)
    waiting: list[Piece] = []
    running: dict[Future[None], frozenset[str]] = {}
    is_over = False
    with ThreadPoolExecutor(threads) as pool:
        while True:
            busy = frozenset[str]().union(*running.values())
            for piece in waiting[:]:
                if len(running) < threads and busy.isdisjoint(piece.keys):
                    running[pool.submit(piece.do)] = piece.keys
                    waiting.remove(piece)
                    busy |= piece.keys
            if not is_over and len(waiting) < most_waiting:
                piece_or_none = next(coming, None)
                if piece_or_none is None:
                    is_over = True
                else:
                    waiting.append(piece_or_none)
            elif not running:
                return
            else:
                wait(running, return_when=FIRST_COMPLETED)
            for future in [future for future in running if future.done()]:
                del running[future]
                future.result()
