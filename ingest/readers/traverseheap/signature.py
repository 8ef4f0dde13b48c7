"""Recognizes the XML of ``!traverseheap`` by its first bytes."""

from __future__ import annotations

import re

from ingest.readers.shared.lines import to_utf8

NAME = "traverseheap"

_START = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,1000}?-->\s*)?<gcheap\s*/?>", re.S
)


def sniff(head: bytes) -> bool:
    """Whether ``head`` is such a file's."""
    return _START.match(b"".join(to_utf8([head]))[:4096]) is not None
