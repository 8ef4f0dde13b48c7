"""What a redacted copy keeps, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ingest.heap.redaction import Redaction

if TYPE_CHECKING:
    from ingest.progress import Progress


class RedactionRules(NamedTuple):
    """What to remove.

    Attributes:
        redaction: Hashes names of types; its patterns are empty at level ``values``.
        keep: Globs of fields, as ``java.lang.Thread.name``, whose values stay.
        file_sha256: Digest of the dump, a key for hashes where there is no salt.
    """

    redaction: Redaction
    keep: tuple[str, ...]
    file_sha256: str

    def keeps(self, owner: str, field: str) -> bool:
        """Whether the value of a field of a class stays."""
        name = f"{owner}.{field}"
        return any(fnmatchcase(name, pattern) for pattern in self.keep)

    def may_keep(self, field: str) -> bool:
        """Whether the value of a field of that name stays in some class."""
        ends = (pattern.rpartition(".")[2] for pattern in self.keep)
        return any(fnmatchcase(field, end) for end in ends)

    def type_name(self, name: str) -> str:
        """The name of a type, hashed where a pattern says so."""
        return self.redaction.type_name(name, self.file_sha256)

    def hashed(self, name: str) -> str:
        """The hash of another name."""
        return f"x{self.redaction.hashed(name, self.file_sha256)}"


@dataclass(slots=True)
class Removed:
    """What a redaction did.

    Attributes:
        blanked_bytes: Bytes of values and of names that were replaced.
        unread_bytes: Bytes that could not be read, and were replaced or left out.
        is_cut: Whether the dump ends too early.
    """

    blanked_bytes: int = 0
    unread_bytes: int = 0
    is_cut: bool = False


Write = Callable[[memoryview], None]
Redactor = Callable[[str, RedactionRules, Write, "Progress"], Removed]
"""Copies a dump, by its name, without values."""
