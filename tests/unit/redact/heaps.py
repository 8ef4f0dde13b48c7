"""What all redacted dumps have in common."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.heap.graph import HeapGraph
    from ingest.redact import Redacted

SECRET = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"

_MAY_DIFFER = {
    "values", "owners", "notes", "producer", "is_redacted", "domains", "field_names",
    "external", "stacks", "irregularities", "history",
}  # fmt: skip


def encodings(secret: str) -> list[bytes]:
    return [secret.encode(one) for one in ("utf-8", "utf-16-le", "utf-16-be")]


def read_file(path: Path) -> HeapGraph:
    with open_source(str(path)) as source:
        return read(source, DEFAULTS, silent)


def redacted(
    data: bytes, folder: Path, *, keep: Sequence[str] = (), types: Sequence[str] = ()
) -> tuple[bytes, Redacted]:
    """The bytes of a redacted dump, and what is told of it."""
    dump, copy = folder / "dump", folder / "copy"
    dump.write_bytes(data)
    told = redact(
        str(dump), copy, keep=keep, hash_types=types, force=True, progress=silent
    )
    return copy.read_bytes(), told


def check_same(one: HeapGraph, other: HeapGraph, *names: str) -> None:
    """All that a heap records but for values, and some names, is equal."""
    for field in fields(one):
        if field.name in _MAY_DIFFER or field.name in names:
            continue
        before, after = getattr(one, field.name), getattr(other, field.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after, field.name)
        else:
            assert before == after, field.name
