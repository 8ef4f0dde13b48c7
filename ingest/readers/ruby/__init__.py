"""Heaps of Ruby programs, as ``ObjectSpace.dump_all`` writes them: JSON lines.

First the roots by their kind, from Ruby 3.2 on the shapes, then an object a line::

    {"type":"ROOT", "root":"vm", "references":["0x7f9a10", ...]}
    {"address":"0x7f9a10", "type":"SHAPE", "id":3, "parent_id":0, "edge_name":"@name"}
    {"address":"0x7f9a38", "type":"OBJECT", "class":"0x7f9b00", "ivars":3,
     "references":["0x7f9a60"], "file":"shop.rb", "line":7, "method":"new",
     "generation":2, "memsize":40, "flags":{"wb_protected":true}}

What an object refers to is in ``references``, but for its class; numbers, symbols,
``nil``, ``true`` and ``false`` are no objects and left out. File, line, method and
generation are of objects that were allocated while allocations were traced.

Source: ruby/ruby, ext/objspace/objspace_dump.c.
"""

from __future__ import annotations

import re

from ingest.readers.base import Format
from ingest.readers.shared.lines import to_utf8

NAME = "ruby"

_START = re.compile(
    rb'\s*\{\s*(?:"type"\s*:\s*"(?:ROOT|SHAPE)"|"address"\s*:\s*"0x[0-9a-f]+"\s*,'
    rb'\s*"type"\s*:\s*"[A-Z_]+")'
)


def sniff(head: bytes) -> bool:
    """Whether ``head`` is such a file's."""
    return _START.match(b"".join(to_utf8([head]))) is not None


FORMAT = Format(
    NAME,
    "heap of a Ruby program (ObjectSpace.dump_all)",
    suffixes=(".jsonl", ".ndjson"),
    memory_per_byte=1.0,
    sniff=sniff,
    package=__name__,
)
