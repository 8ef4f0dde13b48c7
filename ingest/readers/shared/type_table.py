"""Types by id: types that a dump declares, and others that its objects need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints
    from ingest.readers.shared.irregularities import IrregularityCounter


class TypeTable:
    """The types of a dump, row by row.

    Args:
        counter: Counts types that are used but not declared.
        unnamed: Pattern for the name of such a type, with its id.
        implied: Names of ids that dumps use without declaring them; not counted.
        scoped: Whether ids are unique only within a section of the file.

    Attributes:
        names: Name of each row.
        undeclared_count: Objects and roots whose type is not declared, so far.
    """

    def __init__(
        self,
        counter: IrregularityCounter,
        *,
        unnamed: str = "<type {}>",
        implied: Mapping[int, str] | None = None,
        scoped: bool = False,
    ) -> None:
        self.names: list[str] = []
        self.undeclared_count = 0
        self._counter = counter
        self._unnamed = unnamed
        self._implied = implied or {}
        self._scoped = scoped
        self._ids: list[int] | None = []
        self._scopes: list[int] = []
        self._rows: dict[str, int] = {}

    @classmethod
    def by_row(cls, names: Iterable[str], counter: IrregularityCounter) -> TypeTable:
        """The table of a dump that names types by row number."""
        table = cls(counter)
        table.names = list(names)
        table._ids = None
        return table

    def declare(self, type_id: int, name: str, scope: int = 0) -> None:
        """Add a type; ids must differ within a scope."""
        assert self._ids is not None
        self._ids.append(type_id)
        self._scopes.append(scope if self._scoped else 0)
        self.names.append(name)

    def named(self, name: str) -> int:
        """The row of the first type of that name, which is added if there is none.

        Call it only after `rows`, since the types that it adds have no ids.
        """
        if not self._rows:
            for row, known in enumerate(self.names):
                self._rows.setdefault(known, row)
        if name not in self._rows:
            self._rows[name] = len(self.names)
            self.names.append(name)
        return self._rows[name]

    def rows(
        self,
        ids: NDArray[Any],
        scopes: Ints | None = None,
        lines: NDArray[Any] | None = None,
    ) -> Ints:
        """int32 (N,): the row of each id; types that are not declared get added.

        Args:
            ids: integer (N,).
            scopes: int32 (N,). Needed iff the table is scoped.
            lines: integer (N,). Lines of the records; ``None`` in binary formats.
        """
        if self._ids is None:
            return ids.astype(np.int32, copy=False)
        ids = ids.astype(np.uint64, copy=False)
        scopes = scopes if self._scoped else None
        found, crossed = self._table().find(ids, scopes)
        self._counter.add_rows("cross_domain_type", lines, crossed)
        absent = np.flatnonzero(found < 0)
        if not len(absent):
            return found
        needed = np.zeros(len(absent), np.int32) if scopes is None else scopes[absent]
        made = dict.fromkeys(zip(needed.tolist(), ids[absent].tolist(), strict=True))
        for scope, type_id in made:
            name = self._implied.get(type_id) or self._unnamed.format(type_id)
            self.declare(type_id, name, scope)
        implied = np.isin(ids[absent], np.array(list(self._implied), np.uint64))
        undeclared = absent[~implied]
        self._counter.add_rows("undeclared_type", lines, undeclared)
        self.undeclared_count += len(undeclared)
        found[absent], _ = self._table().find(
            ids[absent], None if scopes is None else needed
        )
        return found

    def domains(self) -> Ints:
        """int32 (T,): the section that declares, or first needs, each type."""
        column = np.zeros(len(self.names), np.int32)
        column[: len(self._scopes)] = self._scopes
        return column

    def _table(self) -> IdTable:
        scopes = np.array(self._scopes, np.int32) if self._scoped else None
        return IdTable(np.array(self._ids, np.uint64), scopes)
