"""Heaps of CPython without values.

A file is read three times: which texts are names of attributes and of variables is
known by the dicts that have them. Other texts become as many ``*``, numbers zero.
Names that stay have no paths, and nothing that looks like a secret.
"""

from __future__ import annotations

import json
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import TruncatedDump
from ingest.heap.graph import NO_FIELD
from ingest.heap.redaction import FILLER, MARK
from ingest.readers import open_source
from ingest.readers.cpython.objects import KEY
from ingest.readers.hrpy import MAGIC
from ingest.readers.hrpy.chunks import NEVER, Declared, Flag, chunk_of, pieces
from ingest.readers.shared.binary import U64, Feed
from ingest.redact.names import scrubbed
from ingest.redact.rules import Removed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ingest.progress import Progress
    from ingest.readers.hrpy.chunks import HrpyChunk
    from ingest.redact.rules import RedactionRules, Write

_FACTS = (b"HEAD", b"NAME", b"SITE", b"TYPE", b"ROOT", b"DONE")
_WORDS = (
    "format",
    "writer",
    "implementation",
    "python",
    "mode",
    "byteorder",
    "platform",
)
"""Texts of the header that stay."""
_IDENTIFIER = re.compile(r"\w{1,64}")
_PLACE = re.compile(r"(.*):(\d+)", re.DOTALL)
_WRONG = (ValueError, LookupError, TypeError, AttributeError, RecursionError,
          OverflowError)  # fmt: skip
"""What facts of the wrong kind raise."""
_NO_INTEGER = -(1 << 63)


class _CollectedIds:
    """Ids of objects, collected piece by piece."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []

    def add(self, ids: NDArray[np.uint64]) -> None:
        if len(ids):
            self._parts.append(np.unique(ids))

    def all(self) -> NDArray[np.uint64]:
        return np.unique(np.concatenate([np.empty(0, np.uint64), *self._parts]))


class _HrpyPass:
    """One pass over the records of a file."""

    def __init__(self, dump: str, progress: Progress) -> None:
        self._dump, self._progress = dump, progress
        self.is_cut = False

    def read(
        self,
        facts: Callable[[bytes, Any], None],
        chunk: Callable[[HrpyChunk, bytes, Declared], None],
    ) -> None:
        """Hand on each record; unknown ones, and what follows the last, are left out.

        Raises:
            MalformedDump: a record contradicts the format.
        """
        declared = Declared()
        with open_source(self._dump) as source:
            source.allow_any_expansion()
            feed = Feed(source.chunks(self._progress), source.name)
            feed.take(len(MAGIC) + 1)
            tag = b""
            while tag != b"DONE":
                try:
                    tag, (size,) = feed.take(4), feed.fixed(U64)
                    missing = size - len(feed.data) + feed.position
                    if missing > 0:
                        feed.grow(missing)
                    begin = feed.position
                    payload = feed.take(size)
                except TruncatedDump:
                    self.is_cut = True
                    break
                if tag == b"OBJS":
                    feed.position = begin
                    chunk(chunk_of(feed, size, declared), payload, declared)
                elif tag in _FACTS:
                    try:
                        told = json.loads(payload)
                        _declare(declared, tag, told)
                        facts(tag, told)
                    except _WRONG:
                        raise feed.malformed("a record of facts is wrong") from None
            self.is_cut |= source.truncated


def _declare(declared: Declared, tag: bytes, told: Any) -> None:  # noqa: ANN401
    if tag == b"NAME":
        declared.names += told
    elif tag == b"SITE":
        declared.sites += told
    elif tag == b"TYPE":
        declared.type_names += [str(row[2]) for row in told]
        declared.type_ids += [int(row[1]) for row in told]


class _NameUses:
    """Which texts are names, and which values are kept.

    Attributes:
        names: uint64. Ids of texts that are keys of attributes and variables.
        kept: uint64. Ids of objects whose values stay.
    """

    def __init__(self, dump: str, rules: RedactionRules, progress: Progress) -> None:
        self._rules = rules
        dicts, kept = _CollectedIds(), _CollectedIds()

        def facts(tag: bytes, told: Any) -> None:  # noqa: ANN401
            if tag == b"ROOT":
                spaces = [row[2] for row in told.get("modules", ())]
                dicts.add(np.array(spaces, np.uint64))

        def owners(chunk: HrpyChunk, _: bytes, declared: Declared) -> None:
            if chunk.flags & Flag.OWNER:
                dicts.add(chunk.ref_id[chunk.ref_field == NO_FIELD])
            owner = declared.type_names[chunk.type_number]
            for row, name in enumerate(declared.names if rules.keep else ()):
                if rules.keeps(owner, name):
                    kept.add(chunk.ref_id[chunk.ref_field == row])

        keys = _CollectedIds()

        def entries(chunk: HrpyChunk, _: bytes, __: Declared) -> None:
            if chunk.flags & Flag.PAIRS:
                is_space = np.isin(chunk.id, spaces)
                of_space = np.repeat(is_space, chunk.ref_count)
                keys.add(chunk.ref_id[of_space & (chunk.ref_field == KEY)])

        _HrpyPass(dump, progress).read(facts, owners)
        spaces = dicts.all()
        _HrpyPass(dump, progress).read(lambda _, __: None, entries)
        self.names, self.kept = keys.all(), kept.all()


class _HrpyCopy:
    """Writes the records without values."""

    def __init__(self, rules: RedactionRules, uses: _NameUses, write: Write) -> None:
        self._rules, self._uses, self._write = rules, uses, write
        self.removed = Removed()

    def facts(self, tag: bytes, told: Any) -> None:  # noqa: ANN401
        """Write a record of facts without paths, names of threads and settings."""
        shown: object
        if tag == b"HEAD":
            numbers = {k: v for k, v in told.items() if isinstance(v, int | float)}
            words = {k: told[k] for k in _WORDS if isinstance(told.get(k), str)}
            shown = {**words, **numbers, "memory": _numbers(told.get("memory")),
                     "redacted": MARK}  # fmt: skip
        elif tag == b"NAME":
            shown = [self._name(name) for name in told]
        elif tag == b"TYPE":
            shown = [
                [*row[:2], self._type(row[2]), *filter(_is_number, row[3:])]
                for row in told
            ]
        elif tag == b"SITE":
            shown = [[self._place(place) for place in site] for site in told]
        elif tag == b"ROOT":
            shown = self._roots(told)
        else:
            shown = _numbers(told)
        self._put(tag, json.dumps(shown).encode())

    def chunk(self, chunk: HrpyChunk, payload: bytes, declared: Declared) -> None:
        """Write a chunk of objects."""
        many, end = len(chunk.id), len(payload)
        end -= 8 * many if chunk.flags & Flag.OUTSIDE else 0
        end -= 4 * many if chunk.flags & Flag.SITES else 0
        kept = np.isin(chunk.id, self._uses.kept)
        middle = b""
        begin = end
        if chunk.flags & (Flag.INTEGERS | Flag.FLOATS):
            begin -= 8 * many
            dtype = "<i8" if chunk.flags & Flag.INTEGERS else "<f8"
            numbers = np.frombuffer(payload, dtype, many, begin).copy()
            stays = kept | (numbers == _NO_INTEGER)
            numbers[~stays] = 0
            self.removed.blanked_bytes += 8 * int((~stays).sum())
            middle = numbers.tobytes()
        if chunk.texts is not None:
            sizes, blob = chunk.texts
            begin -= 8 + 4 * many + len(blob)
            is_text = declared.type_names[chunk.type_number] == "str"
            middle = self._texts(chunk, sizes, blob, kept, is_text=is_text) + middle
        self._put(b"OBJS", payload[:begin] + middle + payload[end:])

    def _texts(
        self,
        chunk: HrpyChunk,
        sizes: NDArray[np.uint32],
        blob: bytes,
        kept: NDArray[np.bool_],
        *,
        is_text: bool,
    ) -> bytes:
        found: list[bytes] = []
        is_name = np.isin(chunk.id, self._uses.names)
        for row, text in enumerate(pieces(blob, sizes)):
            if kept[row]:
                found.append(text)
                continue
            name = text.decode("utf-8", "replace")
            if not is_text:
                new = self._type(name)
            elif is_name[row] and _IDENTIFIER.fullmatch(name):
                new = self._name(name)
            else:
                new = chr(FILLER) * len(name)
            found.append(new.encode("utf-8", "replace"))
            self.removed.blanked_bytes += len(text) if new != name else 0
        new_sizes = np.fromiter(map(len, found), np.uint32, len(found))
        new_sizes[sizes == NEVER] = NEVER
        joined = b"".join(found)
        return U64.pack(len(joined)) + new_sizes.astype("<u4").tobytes() + joined

    def _name(self, name: object) -> str:
        text = scrubbed(str(name), self._rules)
        return (
            text if re.fullmatch(r"[\w.()<>\[\] -]{1,64}", text) else self._hash(text)
        )

    def _hash(self, text: str) -> str:
        return self._rules.hashed(text)

    def _type(self, name: object) -> str:
        return self._rules.type_name(scrubbed(str(name), self._rules))

    def _place(self, place: object) -> str:
        found = _PLACE.fullmatch(str(place))
        if found is None:
            return scrubbed(str(place), self._rules)
        return f"{scrubbed(found[1], self._rules)}:{found[2]}"

    def _roots(self, told: dict[str, Any]) -> dict[str, object]:
        threads = [
            {
                "ident": number,
                "name": chr(FILLER) * len(str(thread.get("name") or "")),
                "frames": [self._frame(frame) for frame in thread.get("frames", ())],
            }
            for number, thread in enumerate(told.get("threads", ()))
        ]
        modules = [[self._type(row[0]), *row[1:3]] for row in told.get("modules", ())]
        held = [[scrubbed(str(row[0]), self._rules), row[1]] for row in
                told.get("held", ())]  # fmt: skip
        return {"threads": threads, "modules": modules, "held": held}

    def _frame(self, frame: dict[str, Any]) -> dict[str, object]:
        return {
            "function": self._type(frame["function"]),
            "file": scrubbed(str(frame["file"]), self._rules),
            "line": int(frame["line"]),
            "locals": [[self._name(row[0]), row[1]] for row in frame["locals"]],
        }

    def _put(self, tag: bytes, payload: bytes) -> None:
        self._write(memoryview(tag + struct.pack("<Q", len(payload)) + payload))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _numbers(told: object) -> dict[str, object]:
    """The facts that are numbers."""
    rows = told.items() if isinstance(told, dict) else ()
    return {str(key): value for key, value in rows if _is_number(value)}


def redact(
    dump: str, rules: RedactionRules, write: Write, progress: Progress
) -> Removed:
    """Copy the heap of a Python program; see `ingest.redact.rules.Redactor`.

    Memory: ids of dicts with attributes, and of their keys.

    Raises:
        DumpError: it cannot be opened or read.
    """
    uses = _NameUses(dump, rules, progress)
    with open_source(dump) as source:
        write(memoryview(source.head[: len(MAGIC) + 1]))
    copy, file = _HrpyCopy(rules, uses, write), _HrpyPass(dump, progress)
    file.read(copy.facts, copy.chunk)
    copy.removed.is_cut = file.is_cut
    return copy.removed
