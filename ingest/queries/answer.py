"""The answer of a query."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ingest.text import Captions


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
