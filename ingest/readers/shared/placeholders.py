"""Placeholders: objects that are referenced but not in the dump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints


class Placeholders:
    """Collects ids that no object has; each gets one row in each section.

    Args:
        first_row: Row of the first placeholder.
    """

    def __init__(self, first_row: int) -> None:
        self._first_row = first_row
        self._wanted: list[tuple[Ints, NDArray[Any], NDArray[Any], Ints]] = []

    def want(
        self,
        rows: Ints,
        at: NDArray[Any],
        ids: NDArray[Any],
        scopes: Ints | None,
    ) -> None:
        """Ask for the rows of ``ids``, to be put into ``rows`` at ``at``."""
        if len(at):
            known = np.zeros(len(at), np.int32) if scopes is None else scopes
            self._wanted.append((rows, at, ids.astype(np.uint64), known))

    def settle(self) -> tuple[Ids, Ints]:
        """Fill all rows that were asked for.

        Returns:
            uint64 (M,) ids and int32 (M,) sections of the placeholders, by section,
            then id.
        """
        if not self._wanted:
            return np.empty(0, np.uint64), np.empty(0, np.int32)
        ids = np.concatenate([ids for _, _, ids, _ in self._wanted])
        scopes = np.concatenate([scopes for *_, scopes in self._wanted])
        order = np.lexsort((ids, scopes))
        ids, scopes = ids[order], scopes[order]
        fresh = np.ones(len(ids), np.bool_)
        fresh[1:] = (ids[1:] != ids[:-1]) | (scopes[1:] != scopes[:-1])
        ids, scopes = ids[fresh], scopes[fresh]
        table = IdTable(ids, scopes)
        for rows, at, wanted, sections in self._wanted:
            rows[at] = table.find(wanted, sections)[0] + self._first_row
        return ids, scopes
