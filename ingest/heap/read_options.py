"""How to read and measure a dump."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ingest.arrays.spill import NEVER

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph, Part
    from ingest.heap.redaction import Redaction
    from ingest.system.settings import Build

REDACTED = "redacted"
"""Replaces the name of the file of a redacted dump."""


class Fold(StrEnum):
    """What to do with objects that exist only for a runtime's bookkeeping.

    ``auto`` folds them: objects without size and references of their own (small
    integers, shared constants) into the objects that refer to them, and pseudo objects
    that stand for roots into roots. It counts folded objects and references. ``none``
    keeps everything in the dump. In formats without such objects both are the same.
    """

    AUTO = "auto"
    NONE = "none"


class RedactionLevel(StrEnum):
    """How much of a redacted copy is removed: values, or names of types, too."""

    VALUES = "values"
    STRUCTURE = "structure"


class StrengthPolicy(StrEnum):
    """Which references and roots weaker than strong hold their target.

    ``strongest``: those whose target nothing stronger reaches. ``mat``: all, as in
    Eclipse Memory Analyzer.
    """

    STRONGEST = "strongest"
    MAT = "mat"


_SIZE = re.compile(r"[0-9]{1,4}")


class LayoutOption(NamedTuple):
    """A layout as the user gives it; sizes in bytes.

    Attributes:
        header: Header of an instance.
        reference: Size of a reference.
        array: Header of an array of references, with its length.
        alignment: Alignment of objects; 0 to infer it.
    """

    header: int
    reference: int
    array: int
    alignment: int = 0

    @classmethod
    def parse(cls, text: str) -> LayoutOption | None:
        """``HEADER/REFERENCE/ARRAY[/ALIGNMENT]``; ``None`` for other texts."""
        numbers = [int(part) for part in text.split("/") if _SIZE.fullmatch(part)]
        if len(numbers) not in (3, 4) or text.count("/") != len(numbers) - 1:
            return None
        found = cls(*numbers)
        if found.reference not in (4, 8) or not 4 <= found.header <= found.array <= 64:
            return None
        if found.alignment not in (0, 8, 16, 32, 64, 128, 256):
            return None
        return found

    def __str__(self) -> str:
        """The text that `parse` takes."""
        sizes = self if self.alignment else self[:3]
        return "/".join(map(str, sizes))


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a dump, and how to measure it.

    Attributes:
        strict: Refuse a dump at its first irregularity, instead of counting it.
        fold: Whether to fold objects that are not the program's.
        part: Number of the dump to read, of a file that has several; ``None`` for
            the format's default.
        own: Globs of types that are the program's own, or, with ``!``, a library's; see
            `ingest.runtimes.Runtime.type_classes`.
        strength: Which weaker references hold their target.
        layout: How a JVM lays out objects; see `LayoutOption`. ``None`` to infer it.
        mapping: File of original names that R8 or ProGuard has shortened.
        source_map: Source map of a bundled or minified script, or a folder of them.
        builds: Where further mappings and source maps are, by dump.
        is_of_build: Whether mapping and source map are from there: formats that have no
            such names ignore them.
        redaction: What to remove from the dump; ``None`` for nothing.
        max_memory_bytes: Bytes that the process may occupy; ``None`` for no limit.
        spill: Folder for columns beyond that limit; ``auto`` for the folder of
            temporary files if its disk has room, ``none`` to refuse such a dump.
        any_expansion: Read compressed files however large their content is.
        values: Globs of types whose objects keep the numbers in their fields.
        runtime: Name of the runtime whose heap it is, one of `ingest.runtimes.NAMES`;
            ``None`` to let the reader decide.
    """

    strict: bool = False
    fold: Fold = Fold.AUTO
    part: int | None = None
    own: tuple[str, ...] = ()
    strength: StrengthPolicy = StrengthPolicy.STRONGEST
    layout: LayoutOption | None = None
    mapping: str | None = None
    source_map: str | None = None
    builds: tuple[Build, ...] = ()
    is_of_build: bool = False
    redaction: Redaction | None = None
    max_memory_bytes: int | None = None
    spill: str = NEVER
    any_expansion: bool = False
    values: tuple[str, ...] = ()
    runtime: str | None = None

    def keeps_values(self, type_name: str) -> bool:
        """Whether the numbers in fields of a type's objects are asked for."""
        return any(fnmatchcase(type_name, glob) for glob in self.values)

    def of_dump(self, path: str) -> ReadOptions:
        """The options for one file, with the names of its build if none are given."""
        if self.mapping is None and self.source_map is None:
            for build in self.builds:
                if (one := build.of_dump(path)) is not None:
                    return replace(
                        self, mapping=one.mapping, source_map=one.source_map,
                        is_of_build=True,
                    )  # fmt: skip
        return self

    def redacted(self, graph: HeapGraph, sha256: str) -> HeapGraph:
        """The heap of a file, redacted if the options say so."""
        if self.redaction is None:
            return graph
        return self.redaction.applied(graph, sha256)

    def redacted_part(self, part: Part, sha256: str) -> Part:
        """The part of a file, redacted likewise."""
        return part if self.redaction is None else self.redaction.part(part, sha256)

    def recorded(self) -> str:
        """Options that differ from the defaults and change what is recorded.

        Returns:
            Options as in a command; empty if none differs. Patterns for types of a
            redacted dump are replaced by their digest.
        """
        import hashlib
        import shlex

        own = " ".join(self.own)
        if own and self.redaction is not None:
            own = hashlib.sha256(own.encode()).hexdigest()[:16]
        given = {
            "--fold": None if self.fold is Fold.AUTO else str(self.fold),
            "--layout": None if self.layout is None else str(self.layout),
            "--mapping": self.mapping,
            "--source-map": self.source_map,
            "--own": own or None,
            "--runtime": self.runtime,
            "--values": " ".join(self.values) or None,
            "--strength": None
            if self.strength is StrengthPolicy.STRONGEST
            else str(self.strength),
        }
        return shlex.join(
            word
            for option, value in given.items()
            if value is not None
            for word in (option, value)
        )

    def digest(self, sha256: str) -> str:
        """The digest that identifies a dump of a file; a redacted dump has its own."""
        return sha256 if self.redaction is None else self.redaction.digest(sha256)


DEFAULTS = ReadOptions()
