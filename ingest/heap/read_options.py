"""How to read a dump."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fold(StrEnum):
    """What a reader does with objects that only a runtime's bookkeeping makes.

    ``auto`` folds them: objects without size and references of their own (small
    integers, shared constants) into whatever refers to them, pseudo objects that
    stand for roots into roots. Folded objects and references are counted. ``none``
    keeps all that the dump has. A format without such objects has nothing to fold.
    """

    AUTO = "auto"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a dump.

    Attributes:
        strict: Refuse at the first irregularity instead of counting it.
        fold: Whether to fold what is no object of the program's.
        part: Number of the dump to read, of a file that has several; ``None`` for
            the format's default.
        own: Globs of types that are the program's own, or with ``!`` of a library;
            see `ingest.analysis.runtime_types.type_classes`.
    """

    strict: bool = False
    fold: Fold = Fold.AUTO
    part: int | None = None
    own: tuple[str, ...] = ()


DEFAULTS = ReadOptions()
