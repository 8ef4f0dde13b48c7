"""Faults of a dump, counted by kind, or refused with ``--strict``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.errors import MalformedDump, TruncatedDump
from ingest.heap.completeness import CUT, UNREAD_BYTES, Irregularity

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Lines = NDArray[np.integer[Any]]


_NO_FAULTS = frozenset({"other_heap_dump"})
"""Kinds that deserve a warning but are not faults of the file."""


class IrregularityCounter:
    """Counts irregularities by kind; with ``strict``, `finish` refuses the first.

    Kinds whose names begin with ``truncated_`` or ``unclosed_`` mean that the file
    ends too early.

    Attributes:
        name: Name of the dump, for messages.
        file_bytes: How many decompressed bytes of the dump were read; ``None`` if not
            counted.
    """

    def __init__(self, *, strict: bool, name: str) -> None:
        self._strict = strict
        self.name = name
        self.file_bytes: int | None = None
        self._found: dict[str, tuple[int, int, int | None]] = {}

    def add(self, kind: str, count: int, line: int, offset: int | None) -> None:
        """Count ``kind``; the earliest place of all calls is reported.

        Args:
            kind: Name of the irregularity, snake_case.
            count: Occurrences; 0 does nothing.
            line: 1-based, or 0 in a binary file.
            offset: Byte offset, or ``None`` if unknown.
        """
        if not count:
            return
        before = self._found.get(kind)
        if before:
            first = min(before, (0, line, offset), key=lambda entry: entry[1])
            self._found[kind] = (before[0] + count, first[1], first[2])
        else:
            self._found[kind] = (count, line, offset)

    def add_unread(self, count: int, offset: int | None) -> None:
        """Count bytes that were skipped because they are not records.

        Args:
            count: How many bytes.
            offset: Where they begin.
        """
        self.add(UNREAD_BYTES, count, 0, offset)

    def copy(self) -> IrregularityCounter:
        """A copy, to be continued for one of several dumps."""
        other = IrregularityCounter(strict=self._strict, name=self.name)
        other._found, other.file_bytes = dict(self._found), self.file_bytes
        return other

    def add_lines(self, kind: str, lines: Lines) -> None:
        """Count one occurrence in each of ``lines``."""
        if len(lines):
            self.add(kind, len(lines), int(lines.min()), None)

    def add_rows(
        self, kind: str, lines: Lines | None, rows: NDArray[np.integer[Any]]
    ) -> None:
        """Count one occurrence for each of ``rows``.

        Args:
            kind: Name of the irregularity.
            lines: Line of each row; ``None`` in binary formats.
            rows: Indexes into ``lines``.
        """
        if lines is None:
            self.add(kind, len(rows), 0, None)
        else:
            self.add_lines(kind, lines[rows])

    def check_end(self) -> None:
        """Refuse a file that ends too early; accept other irregularities.

        Raises:
            TruncatedDump: it ends too early.
        """
        for kind, (_, line, offset) in self._found.items():
            if kind.startswith(CUT):
                raise TruncatedDump(
                    f"{kind.replace('_', ' ')}: the file ends too early",
                    path=self.name,
                    line=line or None,
                    offset=offset,
                )

    def finish(self) -> tuple[Irregularity, ...]:
        """All irregularities, the earliest first.

        Raises:
            MalformedDump, TruncatedDump: with ``strict``, for the earliest one.
        """
        found = sorted(
            self._found.items(),
            # Kinds without a place are consequences of the others.
            key=lambda item: (
                not item[1][1] and item[1][2] is None,
                item[1][1],
                item[1][2] or 0,
                item[0],
            ),
        )
        faults = [entry for entry in found if entry[0] not in _NO_FAULTS]
        if self._strict and faults:
            kind, (_, line, offset) = faults[0]
            error = TruncatedDump if kind.startswith(CUT) else MalformedDump
            raise error(
                f"{kind.replace('_', ' ')}; without --strict it is counted instead",
                path=self.name,
                line=line or None,
                offset=offset,
            )
        return tuple(
            Irregularity(
                kind,
                count,
                line or None,
                offset,
                self.file_bytes if kind == UNREAD_BYTES else None,
            )
            for kind, (count, line, offset) in found
        )
