"""The answer of a query."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ingest.words.text import Captions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class GraphPath(list[object]):
    """A path of the graph, as JSON has it: node, relationship, node, and so on.

    Each is a mapping of its properties, with ``labels`` or ``type``.

    Attributes:
        is_forward: Whether each relationship leads to the node after it.
    """

    def __init__(self, steps: Iterable[object], is_forward: Sequence[bool]) -> None:
        super().__init__(steps)
        self.is_forward = tuple(is_forward)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of one query.

    Attributes:
        columns: Names, in the order of the query.
        rows: One tuple for each row, in the order of the query; plain Python values.
        captions: Short names of the types of the dump.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    captions: Captions = field(default_factory=Captions, compare=False)

    def column(self, name: str) -> list[object]:
        """All values of one column."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def without_empty_columns(self) -> Answer:
        """Drop columns that are null in every row, unless all of them are."""
        filled = [
            at
            for at in range(len(self.columns))
            if any(row[at] is not None for row in self.rows)
        ]
        if not filled:
            return self
        return replace(
            self,
            columns=tuple(self.columns[at] for at in filled),
            rows=tuple(tuple(row[at] for at in filled) for row in self.rows),
        )

    def dicts(self) -> list[dict[str, object]]:
        """Each row as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
