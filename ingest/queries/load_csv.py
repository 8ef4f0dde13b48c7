"""Whether a query has ``LOAD CSV``, which reads files and other hosts."""

from __future__ import annotations

import re

QUOTED = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|//[^\r\n]*|/\*.*?\*/""",
    re.DOTALL,
)
"""A string, an escaped name or a comment: text without keywords and parameters."""

_ESCAPE = re.compile(r"\\u+([0-9a-fA-F]{4})")
# Cypher has more kinds of white space than Python, and allows comments between words.
_LOAD_CSV = re.compile(r"LOAD[^!-~]+CSV", re.IGNORECASE)


def has_load_csv(text: str) -> bool:
    r"""Whether a query has the clause; also true where that is in doubt.

    A server may read ``\uXXXX`` as a character everywhere, or in strings only: a query
    has the clause if either reading has it.
    """

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16))

    readings = (text, _ESCAPE.sub(character, text))
    return any(_LOAD_CSV.search(QUOTED.sub(" ", reading)) for reading in readings)
