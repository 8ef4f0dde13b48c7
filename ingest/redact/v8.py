"""Heap snapshots of V8 without values: only the table of strings is changed.

The snapshot is read twice: numbers refer to strings, which come last. A string stays if
it is the name of a node that is no value (a class, a function, a part of V8), or of an
edge; hosts and folders in URLs and paths are hashed, as are keys of objects that are no
identifiers, attributes of elements and what looks like a secret. Other strings become
as many ``*``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import TruncatedDump
from ingest.heap.redaction import FILLER, MARK
from ingest.readers import open_source
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.v8.document import Document
from ingest.redact.names import scrubbed
from ingest.redact.rules import Removed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from ingest.progress import Progress
    from ingest.readers.v8.document import Snapshot
    from ingest.redact.rules import RedactionRules, Write

_CHUNK_BYTES = 1 << 19
_ARRAYS = ("trace_function_infos", "trace_tree", "samples", "locations")

_VALUES = {"string", "concatenated string", "sliced string", "regexp", "symbol",
           "String", "Symbol"}  # fmt: skip
"""Types of nodes whose name is a value; the last two are Julia's."""
_NUMERIC = {"number", "bigint"}
_NUMBERED = {"element", "hidden"}
"""Types of edges that have a number instead of a name."""

_NAME, _KEY, _NATIVE, _WORD, _KEPT, _VALUE = 1, 2, 4, 8, 16, 32
"""What a string is: a name, the key of an object, a node of the browser, the kind of a
number, one that stays as it is, a value."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_IDENTIFIER = re.compile(
    r"#?[\w$]{1,64}|<symbol [\w$. ]{1,64}>|(?:get|set) #?[\w$]{1,64}|<[\w -]{1,64}>"
)
_ATTRIBUTE = re.compile(r'(?<==)"[^"]*"|(?<==)\'[^\']*\'')


class _Sink:
    """Takes the place of columns in a document: marks strings, and keeps nothing."""

    def __init__(self, document: _Marking, kinds: str) -> None:
        self._document, self._kinds = document, kinds

    def add(self, rows: dict[str, NDArray[Any]], count: int) -> None:
        if "rows" in rows:
            self._document.mark_functions(rows["rows"][:count])
        elif "type" in rows:
            self._document.mark(self._kinds, rows["type"][:count], rows["name"][:count])


class _Marking(Document):
    """A snapshot of which only the uses of its strings are noted.

    Attributes:
        marks: uint8. What each string is.
        is_cut: Whether it ends too early.
    """

    def __init__(self, chunks: Iterable[bytes], counter: IrregularityCounter) -> None:
        super().__init__(chunks, counter)
        self.marks = np.zeros(1 << 10, np.uint8)
        self.is_cut = False
        for name in ("nodes", "edges", "functions", "locations"):
            setattr(self, f"_{name}", _Sink(self, name))
        self._bits: dict[str, NDArray[np.uint8]] = {}

    def read_uses(self) -> None:
        """Read the whole document.

        Raises:
            MalformedDump: it is not JSON, or contradicts itself.
        """
        try:
            self._expect(b"{", "an object")
            while self._member():
                pass
            self._trailing()
        except TruncatedDump:
            self.is_cut = True

    def spans(self) -> dict[str, tuple[int, int]]:
        """Begin and end of each member's value; the end is -1 if it is cut."""
        return {
            key: (begin, self._places.get(key, -1))
            for key, begin in self._begins.items()
        }

    def _read_strings(self) -> None:
        self._skip()

    def mark(self, what: str, kinds: NDArray[Any], names: NDArray[Any]) -> None:
        if what not in self._bits:
            assert self._meta is not None
            meta = self._meta
            bits = [_node_bit(one) for one in meta.node_types]
            if what == "edges":
                bits = [_edge_bit(one) for one in meta.edge_types]
            self._bits[what] = np.array(bits, np.uint8)
        bits_of = self._bits[what][kinds]
        for bit in (_NAME, _KEY, _NATIVE, _WORD, _VALUE):
            self._set(names[bits_of == bit], bit)

    def numbers(self) -> set[str]:
        """Members that are known to have numbers alone."""
        found = {"nodes", "edges"}
        if self._meta is not None and self._meta.location_fields:
            found.add("locations")
        if self._meta is not None and self._meta.function_fields:
            found |= {"trace_function_infos", "trace_tree"}
        return found

    def keep(self, rows: NDArray[Any]) -> None:
        """Keep strings as they are."""
        self._set(rows, _KEPT)

    def mark_functions(self, rows: NDArray[Any]) -> None:
        assert self._meta is not None
        fields = self._meta.function_fields
        if fields and len(rows) % len(fields) == 0:
            table = rows.reshape(-1, len(fields))
            for name in ("name", "script_name"):
                self._set(table[:, fields.index(name)], _NAME)

    def _set(self, rows: NDArray[Any], bit: int) -> None:
        if not len(rows) or rows.min() < 0:
            return
        highest = int(rows.max())
        if highest >= len(self.marks):
            more = np.zeros(max(highest + 1, 2 * len(self.marks)), np.uint8)
            more[: len(self.marks)] = self.marks
            self.marks = more
        self.marks[rows] |= np.uint8(bit)


def _node_bit(kind: str) -> int:
    if kind in _VALUES:
        return _VALUE
    return _WORD if kind in _NUMERIC else _NATIVE if kind == "native" else _NAME


def _edge_bit(kind: str) -> int:
    return 0 if kind in _NUMBERED else _KEY if kind == "property" else _NAME


def _kept_rows(found: Snapshot, rules: RedactionRules) -> NDArray[np.int64]:
    """Names of the values that fields to be kept refer to."""
    starts = np.cumsum(found.edge_count, dtype=np.int64)
    is_named = ~np.isin(found.edge_type, [
        at for at, one in enumerate(found.meta.edge_types) if one in _NUMBERED
    ])  # fmt: skip
    rows = np.unique(found.edge_name[is_named])
    texts = {int(row): found.strings.text(int(row)) for row in rows}
    fields = [row for row, text in texts.items() if rules.may_keep(text)]
    at = np.flatnonzero(is_named & np.isin(found.edge_name, fields))
    sources = np.searchsorted(starts, at, side="right")
    kept = []
    for edge, source in zip(at.tolist(), sources.tolist(), strict=True):
        owner = found.strings.text(int(found.name[source]))
        if rules.keeps(owner, texts[int(found.edge_name[edge])]):
            kept.append(int(found.name[found.edge_to[edge]]))
    return np.array(kept, np.int64)


class _V8Copy:
    """Copies the bytes of a snapshot up to places, and its strings one by one."""

    def __init__(self, chunks: Iterator[bytes], write: Write) -> None:
        self._chunks, self._write = chunks, write
        self._data = b""
        self._offset = 0

    def copy_to(self, end: int | None) -> None:
        """Copy what comes before a place; ``None`` for all."""
        for piece in self._pieces(end):
            self.put(piece)

    def skip_to(self, end: int | None) -> int:
        """Leave out what comes before a place; return how many bytes."""
        return sum(map(len, self._pieces(end)))

    def taken(self, end: int) -> bytes:
        """Return what comes before a place, instead of copying it."""
        return b"".join(self._pieces(end))

    def _pieces(self, end: int | None) -> Iterator[bytes]:
        while end is None or self._offset < end:
            if not self._data and not self._more():
                return
            step = len(self._data)
            if end is not None:
                step = min(step, end - self._offset)
            piece, self._data = self._data[:step], self._data[step:]
            self._offset += step
            yield piece

    def put(self, data: bytes) -> None:
        self._write(memoryview(data))

    def strings(self) -> Iterator[bytes]:
        """The strings of the array that begins here; what is between is copied."""
        while True:
            at = 0
            for found in _STRING.finditer(self._data):
                if b"]" in self._data[at : found.start()]:
                    break
                self._write(memoryview(self._data[at : found.start()]))
                yield found[0]
                at = found.end()
            self._data, self._offset = self._data[at:], self._offset + at
            if (end := self._data.find(b"]")) >= 0 and b'"' not in self._data[:end]:
                return
            if not self._more():
                break
        # A string that is cut.
        begin = self._data.find(b'"')
        if begin >= 0:
            rest = len(self._data) - begin - 1
            self.put(self._data[: begin + 1] + bytes([FILLER]) * rest)
        else:
            self.put(self._data)
        self._data = b""

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        self._data += chunk
        return bool(chunk)


def _description(data: bytes) -> bytes:
    """The description of a snapshot, without texts such as a title."""
    found = json.loads(data)
    kept = {
        key: value
        for key, value in found.items()
        if key == "meta" or isinstance(value, int | float)
    }
    text = json.dumps({**kept, "redacted": MARK}, separators=(",", ":"))
    return text.encode()


def _new_text(
    token: bytes, mark: int, rules: RedactionRules, removed: Removed
) -> bytes:
    """What a string becomes, as JSON."""
    if mark & _KEPT or len(token) == 2:
        return token
    text = token[1:-1].decode("utf-8", "replace")
    if "\\" in text:
        try:
            text = str(json.loads(token, strict=False))
        except ValueError:  # it is no JSON, and nothing of it stays
            mark = 0
    if mark & _WORD and not mark & ~_WORD and any(map(str.isdigit, text)):
        mark = 0
    if not mark & ~_VALUE:
        units = len(text) + sum(one >= "\U00010000" for one in text)
        removed.blanked_bytes += len(token) - 2
        return b'"' + bytes([FILLER]) * units + b'"'
    name = text
    if mark & _NATIVE:
        name = _ATTRIBUTE.sub('"*"', name)
    name = scrubbed(name, rules)
    if mark & (_NAME | _NATIVE):
        name = rules.type_name(name)
    elif mark & _KEY and not _IDENTIFIER.fullmatch(name):
        name = rules.hashed(name)
    if name == text:
        return token
    if mark & _VALUE:  # its length stays
        name = (chr(FILLER) * len(text) + name)[-len(text) :]
    removed.blanked_bytes += len(token) - 2
    return json.dumps(name).encode()


def redact(
    dump: str, rules: RedactionRules, write: Write, progress: Progress
) -> Removed:
    """Copy a snapshot without values; see `ingest.redact.rules.Redactor`.

    Memory: a byte for each string; with fields to keep, as for reading it.

    Raises:
        DumpError: it cannot be opened or read.
    """
    removed = Removed()
    counter = IrregularityCounter(strict=False, name=dump)
    kept = np.empty(0, np.int64)
    if rules.keep:
        with open_source(dump) as source:
            source.allow_any_expansion()
            document = Document(source.chunks(progress, _CHUNK_BYTES), counter)
            kept = _kept_rows(document.read(is_cut=lambda: False), rules)
    with open_source(dump) as source:
        source.allow_any_expansion()
        uses = _Marking(source.chunks(progress, _CHUNK_BYTES), counter)
        uses.read_uses()
        removed.is_cut = uses.is_cut or source.truncated
    uses.keep(kept)
    with open_source(dump) as source:
        source.allow_any_expansion()
        copy = _V8Copy(source.chunks(progress, _CHUNK_BYTES), write)
        for key, (begin, end) in uses.spans().items():
            copy.copy_to(begin)
            if key == "snapshot" and end >= 0:
                copy.put(_description(copy.taken(end)))
            elif key == "strings":
                copy.copy_to(begin + 1)
                for row, token in enumerate(copy.strings()):
                    mark = int(uses.marks[row]) if row < len(uses.marks) else 0
                    copy.put(_new_text(token, mark, rules, removed))
            elif key not in uses.numbers():
                copy.put(b"[]" if key in _ARRAYS else b"null")
                size = copy.skip_to(end if end >= 0 else None)
                removed.unread_bytes += 0 if key in _ARRAYS else size
        copy.copy_to(None)
    return removed
