"""gclogs without names of processes: they have no other values.

Objects and roots are copied as they are if they are numbers alone. Of a line that is no
record only the letter stays that tells what it should have been.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.readers import open_source
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import complete_lines, to_utf8
from ingest.redact.names import scrubbed
from ingest.redact.rules import Removed

if TYPE_CHECKING:
    from ingest.progress import Progress
    from ingest.redact.rules import RedactionRules, Write

_OTHER = re.compile(
    rb"^(?![ \t]*[oOrR](?:[ \t]+[0-9A-Fa-f]+)+[ \t]*\r?$)[^\r\n]+", re.MULTILINE
)
"""A line that is not an object or a root."""
_DOMAIN = re.compile(
    rb"([ \t]*(?:[aA][ \t]+[0-9A-Fa-f]{1,8}|[cC]))"
    rb"(?:([ \t]+)(\S.*?)([ \t]+[0-9A-Fa-f]{1,8})?)?[ \t]*"
)
_TYPE = re.compile(rb"([ \t]*[tT][ \t]+[0-9A-Fa-f]{1,16})(?:([ \t]+)(.*))?")


def redact(
    dump: str, rules: RedactionRules, write: Write, progress: Progress
) -> Removed:
    """Copy a gclog, as UTF-8; see `ingest.redact.rules.Redactor`.

    Raises:
        DumpError: it cannot be opened or read.
    """
    removed = Removed()

    def other(found: re.Match[bytes]) -> bytes:
        line = found[0]
        if domain := _DOMAIN.fullmatch(line):
            if domain[3] is None:
                return line
            removed.blanked_bytes += len(domain[3])
            name = rules.hashed(domain[3].decode("utf-8", "replace"))
            return domain[1] + domain[2] + name.encode() + (domain[4] or b"")
        if kind := _TYPE.fullmatch(line):
            if kind[3] is None:
                return line
            name = scrubbed(kind[3].decode("utf-8", "surrogateescape"), rules)
            hashed = rules.type_name(name).encode("utf-8", "surrogateescape")
            return kind[1] + kind[2] + hashed
        if line.strip():
            removed.unread_bytes += len(line)
            letter = line.lstrip()[:1]
            return letter + b" -" if letter in b"oOrRtT" else b"-"
        return b""

    is_open = False
    with open_source(dump) as source:
        source.allow_any_expansion()
        counter = IrregularityCounter(strict=False, name=dump)
        for piece in complete_lines(to_utf8(source.chunks(progress)), counter):
            text = re.sub(rb"\r(?!\n)", b"\n", piece)
            copy = _OTHER.sub(other, text)
            write(memoryview(copy))
            for mark in re.finditer(rb"^[ \t]*([aAcC])[ \t]", copy, re.MULTILINE):
                is_open = mark[1] in b"aA"
        removed.is_cut = is_open or source.truncated
    return removed
