"""What a query answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of one query.

    Attributes:
        columns: Names, in the order of the query.
        rows: One tuple a row, in the query's order; values as Python has them.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def column(self, name: str) -> list[object]:
        """All values of one column."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def told(self) -> Answer:
        """The same without columns in which no row has a value, if one has any."""
        kept = [
            at
            for at in range(len(self.columns))
            if any(row[at] is not None for row in self.rows)
        ]
        if not kept:
            return self
        return Answer(
            tuple(self.columns[at] for at in kept),
            tuple(tuple(row[at] for at in kept) for row in self.rows),
        )

    def dicts(self) -> list[dict[str, object]]:
        """Each row as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
