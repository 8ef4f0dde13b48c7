"""Copies of dumps in their own formats, without the values of the program."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from ingest.errors import DumpError
from ingest.heap.redaction import Redaction
from ingest.readers import format_of, open_source
from ingest.readers.source import STDIN
from ingest.redact.rules import RedactionRules
from ingest.system.files import output_file
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.redact.rules import Redactor, Removed

FORMATS = ("hprof", "v8", "hrpy", "gclog", "dartheap")
"""Formats of which dumps can be redacted."""


class Redacted(NamedTuple):
    """A redacted dump.

    Attributes:
        format: Name of its format.
        source_sha256: Digest of the dump.
        byte_count: Its size; of a compressed file, before compression.
        sha256: Its digest, as `byte_count`.
        told: What was done.
        rules: What was asked for.
    """

    format: str
    source_sha256: str
    byte_count: int
    sha256: str
    told: Removed
    rules: RedactionRules


def redact(
    dump: str,
    output: Path,
    *,
    keep: Sequence[str] = (),
    hash_types: Sequence[str] = (),
    salt: str = "",
    force: bool = False,
    progress: Progress,
) -> Redacted:
    """Copy a dump without values; the copy gets its name when it is complete.

    Args:
        dump: The dump; it is read several times.
        output: The copy; only its owner can read it.
        keep: Globs of fields whose values stay, such as ``java.lang.Thread.name``.
        hash_types: Globs of types whose names are hashed.
        salt: Secret for hashes; by default the digest of the dump.
        force: Whether to replace a file.
        progress: Receives what is read.

    Raises:
        DumpError: it cannot be read, or its format has no values that we know.
        IngestError: the copy cannot be written.
    """
    if dump == STDIN:
        raise DumpError("a dump is read several times; name a file", path="<stdin>")
    with open_source(dump) as source:
        name = format_of(source).name
        if name not in FORMATS:
            raise DumpError(
                f"a dump of format {name} cannot be redacted as a file; "
                f"{command('export', '--redact')} writes its tables without values",
                path=dump,
            )
        source.allow_any_expansion()
        source.drain()
        digest = source.sha256
    rules = RedactionRules(Redaction(tuple(hash_types), salt), tuple(keep), digest)
    module = import_module(f"ingest.redact.{name}")
    redactor = cast("Redactor", module.redact)
    with output_file(output, force=force, private=True) as file:
        told = redactor(dump, rules, file.write, progress)
    return Redacted(name, digest, file.byte_count, file.sha256, told, rules)
