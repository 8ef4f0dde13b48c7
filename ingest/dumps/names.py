"""What a dump is called, from what its user wrote."""

from __future__ import annotations

from pathlib import PurePath

from ingest.heap.read_options import DEFAULTS, REDACTED, ReadOptions
from ingest.readers import stem as stem_of
from ingest.readers.source import STDIN


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
