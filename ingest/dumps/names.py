"""What a dump is called, from what its user wrote."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ingest.heap.read_options import DEFAULTS, REDACTED, ReadOptions
from ingest.readers import stem as stem_of
from ingest.readers.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Container


def source_name(what: str, options: ReadOptions = DEFAULTS) -> str:
    """The name of a dump's file, without its folder."""
    if options.redaction is not None:
        return REDACTED
    return PurePath(what).name if what != STDIN else "<stdin>"


def stem_name(what: str, options: ReadOptions = DEFAULTS) -> str:
    """A name for a dump, from that of its file."""
    if options.redaction is not None:
        return REDACTED
    return "stdin" if what == STDIN else stem_of(what) or "dump"


def numbered(stem: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken."""
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return name
