"""What became of a load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one dump.

    Attributes:
        name: For ``--dump``.
        number: What queries find in ``$dump``.
        loaded: False where the same file was there already.
        object_count, reference_count: Of the dump.
        shallow_bytes: Of its objects.
        node_count, relationship_count: Written; 0 where nothing was.
        warnings: Irregularities by kind.
        folded_count, folded_bytes: Objects of the runtime that were left out.
        seconds: How long the load took.
        renamed_from: Its name before, where only that was changed.
        replaced: Names of the dumps that it replaces.
        process: Of the dump, where its file records several; else empty.
        left_out: The other processes, whose dumps ``--all-dumps`` does not load.
    """

    name: str
    number: int
    loaded: bool
    object_count: int
    reference_count: int
    node_count: int
    relationship_count: int
    warnings: dict[str, int]
    shallow_bytes: int = 0
    folded_count: int = 0
    folded_bytes: int = 0
    seconds: float = 0.0
    renamed_from: str | None = None
    replaced: tuple[str, ...] = ()
    process: str = ""
    left_out: tuple[str, ...] = ()
