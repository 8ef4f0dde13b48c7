"""Pieces of work that touch the same things are never done at once."""

from __future__ import annotations

from random import Random
from threading import Barrier, Lock
from typing import TYPE_CHECKING

import pytest

from ingest.database.bolt import BATCH_ROWS, Piece, _interleaved, do_disjoint
from ingest.tables.schema import RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.tables.mapping import Tables


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_all_pieces_are_done_and_no_two_with_one_key_at_once(threads: int) -> None:
    random, lock = Random(threads), Lock()
    busy: set[str] = set()
    done: list[int] = []

    def pieces() -> Iterator[Piece]:
        for number in range(300):
            keys = frozenset(random.choices("abcdef", k=2))

            def do(number: int = number, keys: frozenset[str] = keys) -> None:
                with lock:
                    assert not busy & keys
                    busy.update(keys)
                with lock:
                    busy.difference_update(keys)
                    done.append(number)

            yield Piece(keys, do)

    do_disjoint(pieces(), threads, 8)
    assert sorted(done) == list(range(300))


def test_pieces_that_have_nothing_in_common_are_done_at_once() -> None:
    both = Barrier(2, timeout=20)

    def meet() -> None:
        both.wait()

    pieces = [Piece(frozenset({key}), meet) for key in "ab"]
    do_disjoint([Piece(frozenset({"a"}), lambda: None), *pieces], 2, 8)


def test_what_fails_ends_the_work() -> None:
    done: list[int] = []

    def fail() -> None:
        raise OSError("lost")

    pieces = [Piece(frozenset({"a"}), fail)]
    pieces += [Piece(frozenset({"a"}), lambda: done.append(1)) for _ in range(9)]
    with pytest.raises(OSError, match="lost"):
        do_disjoint(pieces, 2, 4)
    assert not done


def test_slices_cover_all_rows_of_all_relationships_once() -> None:
    class Many:
        """Tables of which only the length is asked."""

        @staticmethod
        def rows(name: str) -> int:
            return len(name) * BATCH_ROWS

    tables: Tables = Many()  # type: ignore[assignment]
    slices = _interleaved(RELATIONSHIPS, tables)
    for relation in RELATIONSHIPS:
        own = sorted(slice_[1:] for slice_ in slices if slice_[0] is relation)
        assert [begin for begin, _ in own] == [0, *(end for _, end in own[:-1])]
        assert own[-1][1] == tables.rows(relation.table.name)
