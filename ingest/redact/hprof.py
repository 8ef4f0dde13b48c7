"""Java heap dumps without values, of the same length but for hashed names.

The file is read twice, or four times where something is kept: names come before what
uses them, and a text before the thread that has it as its name. Numbers in objects,
static fields and arrays become zero. Names stay if a class, a field, a frame or a part
of the heap has them: the others are texts of constants in the program's code, and names
of threads. What cannot be read becomes zero, too.

What stays of numbers: lengths and sizes, the encoding of texts, and whether an object's
work is done. The places of all records stay, so nothing else of the file changes.
"""

from __future__ import annotations

import secrets
from array import array
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.heap.redaction import FILLER, MARK
from ingest.readers import open_source
from ingest.readers.hprof import MAGICS
from ingest.readers.hprof.classes import enter
from ingest.readers.hprof.known_classes import END_FIELD, STATE_FIELDS
from ingest.readers.hprof.names import NameTable, java_name
from ingest.readers.hprof.records import FIRST_PRIMITIVE, HEAP_INFO, WIDTHS
from ingest.readers.hprof.scan import scan_names
from ingest.redact.hprof_scan import (
    BLANK,
    BLANKED,
    CLASSES,
    COPY,
    END,
    FOLLOW,
    FOLLOW_KEPT,
    FOUND,
    STATE,
    UNKNOWN,
    WHY,
    Masks,
    blank_heap,
    blank_names,
)
from ingest.redact.rules import Removed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from ingest.progress import Progress
    from ingest.redact.rules import RedactionRules, Write

_NAME, _LOAD_CLASS, _FRAME = 1, 2, 4
_HEAP_DUMP, _SEGMENT, _HEAP_DUMP_END = 0x0C, 0x1C, 0x2C
_OF_NUMBERS = frozenset((3, 5, 6, 7, 0x0A, 0x0B, 0x0D, 0x0E, 0x12))
"""Other records: numbers and ids only."""
_HEADER = Struct(">BII")
_LONGEST_RECORD = 1 << 20
_CHUNK_BYTES = 1 << 19
_UNLIMITED = 1 << 62
_STRING = "java.lang.String"

_SIZES = {
    _STRING: ("coder", "offset", "count"),
    "java.lang.AbstractStringBuilder": ("coder", "count"),
    "android.graphics.Bitmap": ("mWidth", "mHeight"),
    "libcore.util.NativeAllocationRegistry": ("size",),
}
_SIZES_OF = {
    "java.util.": ("size", "elementCount", "count", "baseCount", "head", "tail"),
    "java.nio.": ("capacity", "limit", "position", "mark"),
}
"""Numbers that stay, since they are lengths; by class, and by the beginning of its
name."""


class _RecordedClass(NamedTuple):
    """A class record: its superclass, and codes of its fields after their names."""

    super_id: int
    fields: bytes


class _Heap:
    """The classes of one heap dump, and what is kept in it.

    Attributes:
        classes: By id.
        masks: What stays of their instances.
    """

    def __init__(self) -> None:
        self.classes: dict[int, _RecordedClass | None] = {}
        self.kept = array("Q")
        none = np.empty(0, np.int64)
        self.masks = Masks(
            np.zeros(4, np.uint64), np.full(4, -1, np.int32), np.zeros(1, np.uint64),
            none.astype(np.int32), np.zeros(1, np.int64), none.astype(np.uint8),
            none.astype(np.uint8), none.astype(np.uint64),
        )  # fmt: skip

    def follow(self) -> bool:
        """Whether a reference is followed."""
        return bool(self.masks.follow.any())

    def keep(self, ids: Iterable[int]) -> None:
        """Keep the values of more objects."""
        self.kept.extend(ids)
        kept = np.unique(np.array(self.kept, np.uint64))
        self.masks = self.masks._replace(kept=kept[kept > 0])


class _Names:
    """The names of a file, and what has them.

    Attributes:
        class_names: Names of classes, by the id of the class.
        used: Ids of the names that stay.
        texts: New texts of names that are hashed, by their ids.
    """

    def __init__(self, id_size: int) -> None:
        self.table = NameTable()
        self.class_names: dict[int, int] = {}
        self._serials: dict[int, int] = {}
        self._field_owners: dict[int, set[int]] = {}
        self._frames: list[tuple[int, ...]] = []
        self._spaces: set[int] = set()
        self._id_size = id_size
        self.used = self.hashed = np.empty(0, np.uint64)
        self.texts: dict[int, bytes] = {}

    def add_class(self, body: bytes) -> None:
        width = self._id_size
        name = int.from_bytes(body[8 + width : 8 + 2 * width], "big")
        self._serials[int.from_bytes(body[:4], "big")] = name
        self.class_names.setdefault(int.from_bytes(body[4 : 4 + width], "big"), name)

    def add_frame(self, body: bytes) -> None:
        width = self._id_size
        ids = [int.from_bytes(body[i * width :][:width], "big") for i in range(1, 4)]
        serial = int.from_bytes(body[4 * width : 4 * width + 4], "big")
        self._frames.append((*ids, serial))

    def add_field(self, owner: int, name: int) -> None:
        self._field_owners.setdefault(name, set()).add(self.class_names.get(owner, 0))

    def add_space(self, name: int) -> None:
        self._spaces.add(name)

    def class_name(self, class_id: int) -> str:
        """The name of a class as Java spells it."""
        return java_name(self.table.get(self.class_names.get(class_id, 0)) or "")

    def settle(self, rules: RedactionRules) -> None:
        """Say which names stay, and which get other texts."""
        hashed, kept = set(), set(self._spaces)
        for name in {*self.class_names.values(), *self._serials.values()}:
            self._set(name, _type_name(self.table.get(name) or "", rules))
            if name in self.texts:
                hashed.add(name)
            else:
                kept.add(name)
        members: dict[int, bool] = {}
        for name, owners in self._field_owners.items():
            members[name] = owners <= hashed
        for method, signature, source, serial in self._frames:
            is_hashed = self._serials.get(serial, 0) in hashed
            members[method] = members.get(method, True) and is_hashed
            members[source] = members.get(source, True) and is_hashed
            self._set(signature, _signature(self.table.get(signature) or "", rules))
            kept.add(signature)
        for name, is_hashed in members.items():
            if name in kept or name in hashed:
                continue
            text = self.table.get(name) or ""
            if is_hashed and not text.startswith("<"):
                self._set(name, rules.hashed(text))
            else:
                # Folders of source files are not needed to find them.
                self._set(name, text.replace("\\", "/").rpartition("/")[2])
            kept.add(name)
        self.used = np.array(sorted(kept | hashed), np.uint64)
        self.hashed = np.array(sorted(self.texts), np.uint64)

    def _set(self, name: int, text: str) -> None:
        if text != (self.table.get(name) or ""):
            self.texts[name] = text.encode("utf-8", "surrogatepass")


def _type_name(name: str, rules: RedactionRules) -> str:
    """The name of a class or of an array in a dump, with hashes."""
    core = name.lstrip("[")
    if core == name:
        if "." in name:  # Android's
            return rules.type_name(name)
        return rules.type_name(name.replace("/", ".")).replace(".", "/")
    brackets = name[: -len(core) or None]
    if not core.startswith("L"):
        return name
    inner = core[1:].removesuffix(";")
    return f"{brackets}L{_type_name(inner, rules)};"


def _signature(text: str, rules: RedactionRules) -> str:
    """The types of a method, with hashes."""
    parts = text.split(";")
    for at, part in enumerate(parts[:-1]):
        before, mark, name = part.partition("L")
        parts[at] = before + mark + _type_name(name, rules)
    return ";".join(parts)


class _Pass:
    """One pass over a file.

    Args:
        chunks: The bytes of the file.
        name: Its name.
        write: Receives the copy, piece by piece.
    """

    def __init__(self, chunks: Iterator[bytes], name: str, write: Write) -> None:
        self._chunks, self._name, self.write = chunks, name, write
        self.data = bytearray()
        self.position = 0
        self.told = Removed()
        self.state = np.zeros(STATE, np.int64)
        self.heaps: list[_Heap] = []
        self.rules: RedactionRules | None = None
        self.names: _Names | None = None
        self._found = np.empty(0, np.uint64)
        self._places = np.empty(0, np.int64)

    def run(
        self, names: _Names | None, heaps: list[_Heap], rules: RedactionRules
    ) -> None:
        """Copy the file; where there are no names yet, collect them and the classes."""
        self.rules, self.heaps = rules, heaps
        self._has(max(map(len, MAGICS)))
        magic = next(one for one in MAGICS if self.data.startswith(one))
        begin, whole = len(magic), self._has(len(magic) + 12)
        self.id_size = int.from_bytes(self.data[begin : begin + 4], "big")
        if not whole or self.id_size not in (4, 8):
            raise MalformedDump("the file has no heap dump", path=self._name, offset=0)
        self._ready(begin + 12)
        self.collects = names is None
        self.names = names or _Names(self.id_size)
        mark = b"\xff" * self.id_size + MARK.encode()
        self.write(memoryview(_HEADER.pack(_NAME, 0, len(mark)) + mark))
        number, has_heap, is_open = 0, False, False
        while self._has(1):
            if not self._has(_HEADER.size):
                self._ready(len(self.data))
                self.told.is_cut = True
                break
            tag, _, size = _HEADER.unpack_from(self.data, self.position)
            is_name = tag == _NAME and self.id_size <= size <= _LONGEST_RECORD
            if is_name and self._has(_HEADER.size + size):
                self._names_here()
                continue
            if tag == _HEAP_DUMP and has_heap:
                number, has_heap = number + 1, False
            self._ready(self.position + _HEADER.size)
            if tag in (_HEAP_DUMP, _SEGMENT):
                has_heap, is_open = True, tag == _SEGMENT
                if size or tag == _HEAP_DUMP:
                    self._segment(self._heap(number), size, tag == _HEAP_DUMP)
                continue
            if tag == _HEAP_DUMP_END and has_heap:
                number, has_heap, is_open = number + 1, False, False
            self._other(tag, size)
        self.told.blanked_bytes += int(self.state[BLANKED])
        self.told.is_cut |= is_open or bool(self.state[COPY] or self.state[BLANK])

    def _heap(self, number: int) -> _Heap:
        while number >= len(self.heaps):
            self.heaps.append(_Heap())
        return self.heaps[number]

    def _has(self, size: int) -> bool:
        """Whether the file has ``size`` more bytes, and put them into the window."""
        missing = size - len(self.data) + self.position
        if missing <= 0:
            return True
        parts, got = [self.data[self.position :]], 0
        while got < missing and (chunk := next(self._chunks, b"")):
            parts.append(bytearray(chunk))
            got += len(chunk)
        if got:
            self.data, self.position = bytearray().join(parts), 0
        return got >= missing

    def _ready(self, end: int) -> None:
        """Write the window up to a place; the copy has it as it is now."""
        self.write(memoryview(self.data)[self.position : end])
        self.position = end

    def _view(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.data, np.uint8)

    def _rest(self, size: int, filler: int | None) -> None:
        """Copy bytes, or fill them; fewer where the file ends."""
        while size > 0:
            step = min(size, _CHUNK_BYTES)
            if not self._has(step):
                step = len(self.data) - self.position
                self.told.is_cut = True
                size = step
            if filler is not None:
                end = self.position + step
                self.data[self.position : end] = bytes([filler]) * step
                self.told.blanked_bytes += step
            self._ready(self.position + step)
            size -= step

    def _other(self, tag: int, size: int) -> None:
        """Copy a record that is neither a complete name nor a heap."""
        assert self.names is not None
        needed = {_LOAD_CLASS: 8 + 2 * self.id_size, _FRAME: 8 + 4 * self.id_size}
        if tag in needed:
            body = min(size, needed[tag])
            if self._has(body) and self.collects and body == needed[tag]:
                found = bytes(self.data[self.position : self.position + body])
                (self.names.add_class if tag == _LOAD_CLASS else self.names.add_frame)(
                    found
                )
            self._rest(body, None)
            self._rest(size - body, 0)
        elif tag == _NAME:
            self._rest(size, FILLER)
        elif tag in _OF_NUMBERS or tag == _HEAP_DUMP_END:
            self._rest(size, None if tag in _OF_NUMBERS else 0)
        else:
            self.told.unread_bytes += size
            self._rest(size, 0)

    def _names_here(self) -> None:
        """Copy the complete names at the start of the window."""
        assert self.names is not None
        if self.collects:
            many = len(self.data) // _HEADER.size
            ids, spans = np.empty(many, np.uint64), np.empty((many, 2), np.int64)
            count, end = scan_names(
                self._view(), self.position, self.id_size, ids, spans
            )
            self.names.table.add(self.data, ids[:count], spans[:count])
            self._ready(int(end))
            return
        names, width = self.names, self.id_size
        end = int(
            blank_names(
                self._view(), self.position, width, names.used, names.hashed, self.state
            )
        )
        stopped = end == self.position
        self._ready(end)
        if stopped:  # at one that gets another text
            _, time, size = _HEADER.unpack_from(self.data, end)
            begin = end + _HEADER.size
            name_id = bytes(self.data[begin : begin + width])
            text = names.texts[int.from_bytes(name_id, "big")]
            head = _HEADER.pack(_NAME, time, width + len(text))
            self.write(memoryview(head + name_id + text))
            self.position = begin + size

    def _segment(self, heap: _Heap, size: int, may_wrap: bool) -> None:
        """Copy a segment, or a heap dump whose length may be 0 or modulo 2^32."""
        left = size or _UNLIMITED
        done = 0
        while True:
            if len(self.data) > 8 * len(self._found):
                self._found = np.empty(len(self.data) // 4 + 1, np.uint64)
                self._places = np.empty(len(self.data) // 9 + 1, np.int64)
            begin = self.position
            end = int(
                blank_heap(
                    self._view(), begin, left - done, self.id_size, heap.masks,
                    self._places, self._found, self.state,
                )
            )  # fmt: skip
            heap.kept.extend(self._found[: self.state[FOUND]].tolist())
            for at in self._places[: self.state[CLASSES]].tolist():
                self._located(heap, at)
            done += end - begin
            self._ready(end)
            why = self.state[WHY]
            if why == END and may_wrap and left <= done and self._continues():
                left += -(-max(done + 1 - left, 1) >> 32) * (1 << 32)
            elif why == UNKNOWN:
                rest = left - done if left < _UNLIMITED >> 1 else _UNLIMITED
                before = self.told.blanked_bytes
                self._rest(rest, 0)
                self.told.unread_bytes += self.told.blanked_bytes - before
                return
            elif why == END:
                return
            elif not self._has(len(self.data) - self.position + 1):
                self._cut_record()
                self.told.is_cut |= left < _UNLIMITED >> 1
                return

    def _cut_record(self) -> None:
        """Copy what a record that is cut says before its values."""
        rest = len(self.data) - self.position
        if rest:
            width = self.id_size
            # An instance, an array of references, one of numbers; else, the kind.
            heads = {0x21: 9 + 2 * width, 0x22: 9 + 2 * width, 0x23: 10 + width}
            head = min(heads.get(self.data[self.position], 1), rest)
            self._ready(self.position + head)
            self._rest(rest - head, 0)

    def _continues(self) -> bool:
        """Whether more sub-records follow the recorded end of a heap dump."""
        if not self._has(1):
            return False
        tag = self.data[self.position]
        return tag in (0x20, 0x21, 0x22, 0x23, 0xC3, 0xFE, 0xFF) or 0x89 <= tag <= 0x90

    def _located(self, heap: _Heap, at: int) -> None:
        """Collect a class or a part of the heap; blank the values of a class."""
        width = self.id_size
        assert self.names is not None
        if self.data[at] == HEAP_INFO:
            if self.collects:
                name = self.data[at + 5 : at + 5 + width]
                self.names.add_space(int.from_bytes(name, "big"))
            return
        ids = Struct(">" + ("Q" if width == 8 else "I"))
        class_id = ids.unpack_from(self.data, at + 1)[0]
        p = at + 1 + 7 * width + 8
        for ahead in (2, width):  # constants, static fields
            count = int.from_bytes(self.data[p : p + 2], "big")
            p += 2
            for _ in range(count):
                code = self.data[p + ahead]
                value = p + ahead + 1
                end = value + _width(code, width)
                if ahead == width:
                    name = ids.unpack_from(self.data, p)[0]
                    self._static(heap, class_id, name, code, value, end)
                elif code >= FIRST_PRIMITIVE:
                    self._zero(value, end)
                p = end
        if self.collects:
            count = int.from_bytes(self.data[p : p + 2], "big")
            fields = bytes(self.data[p + 2 : p + 2 + count * (width + 1)])
            for begin in range(0, len(fields), width + 1):
                self.names.add_field(class_id, ids.unpack_from(fields, begin)[0])
            super_id = ids.unpack_from(self.data, at + 5 + width)[0]
            found = _RecordedClass(super_id, fields)
            if heap.classes.setdefault(class_id, found) != found:
                heap.classes[class_id] = None  # it says two things of one class

    def _static(
        self, heap: _Heap, owner: int, name: int, code: int, value: int, end: int
    ) -> None:
        """Collect a static field, or blank its number."""
        assert self.names is not None
        assert self.rules is not None
        if self.collects:
            self.names.add_field(owner, name)
            return
        field = self.names.table.get(name) or ""
        keeps = self.rules.keep and self.rules.keeps(
            self.names.class_name(owner), field
        )
        if code >= FIRST_PRIMITIVE:
            if not keeps:
                self._zero(value, end)
        elif keeps:
            heap.kept.append(int.from_bytes(self.data[value:end], "big"))

    def _zero(self, begin: int, end: int) -> None:
        self.data[begin:end] = bytes(end - begin)
        self.told.blanked_bytes += end - begin


def _width(code: int, id_size: int) -> int:
    if FIRST_PRIMITIVE <= code < FIRST_PRIMITIVE + len(WIDTHS):
        return WIDTHS[code - FIRST_PRIMITIVE]
    return id_size if code in (1, 2) else 0


def _is_size(owner: str, field: str) -> bool:
    """Whether a number is a length, or tells that an object's work is done."""
    known = (*_SIZES.get(owner, ()), *STATE_FIELDS.get(owner, ()))
    if field in known or END_FIELD.fullmatch(field):
        return True
    return any(
        owner.startswith(begin) and field in fields
        for begin, fields in _SIZES_OF.items()
    )


def _masks(heap: _Heap, names: _Names, rules: RedactionRules, id_size: int) -> Masks:
    """Which bytes stay of the instances of each class."""
    known = {class_id: one for class_id, one in heap.classes.items() if one}
    rows = {class_id: row for row, class_id in enumerate(known)}
    places = 4
    while places < 4 * len(known):
        places *= 2
    seed = np.array([secrets.randbits(64)], np.uint64)
    key, key_row = np.zeros(places, np.uint64), np.full(places, -1, np.int32)
    ids = np.fromiter(known, np.uint64, len(known))
    enter(key, key_row, seed, ids, np.arange(len(known), dtype=np.int32))
    parent = np.full(len(known), -1, np.int32)
    start = np.zeros(len(known) + 1, np.int64)
    keep, follow = bytearray(), bytearray()
    for class_id, one in known.items():
        row, owner = rows[class_id], names.class_name(class_id)
        parent[row] = rows.get(one.super_id, -1)
        for at in range(0, len(one.fields), id_size + 1):
            name = int.from_bytes(one.fields[at : at + id_size], "big")
            code = one.fields[at + id_size]
            field = names.table.get(name) or ""
            keeps = bool(rules.keep) and rules.keeps(owner, field)
            width = _width(code, id_size)
            if not width:  # nothing after it can be located
                parent[row] = -1
                break
            is_reference = code < FIRST_PRIMITIVE
            stays = is_reference or keeps or _is_size(owner, field)
            keep += (b"\1" if stays else b"\0") * width
            mark = FOLLOW if is_reference and keeps else 0
            if is_reference and (owner, field) == (_STRING, "value") and rules.keep:
                mark = FOLLOW_KEPT
            follow += bytes([mark]) + bytes(width - 1)
        start[row + 1] = len(keep)
    # Of bytearrays, so writable: kernels are compiled anew for read-only arrays.
    return heap.masks._replace(
        key=key, key_row=key_row, seed=seed, parent=parent, start=start,
        keep=np.frombuffer(keep, np.uint8),
        follow=np.frombuffer(follow, np.uint8),
    )  # fmt: skip


def redact(
    dump: str, rules: RedactionRules, write: Write, progress: Progress
) -> Removed:
    """Copy a dump without values; see `ingest.redact.rules.Redactor`.

    Memory: the names and classes of the file, and ids of what is kept.

    Raises:
        DumpError: it cannot be opened or read.
    """
    heaps: list[_Heap] = []

    def run(names: _Names | None, write: Write) -> _Pass:
        with open_source(dump) as source:
            source.allow_any_expansion()
            one = _Pass(source.chunks(progress, _CHUNK_BYTES), source.name, write)
            one.run(names, heaps, rules)
            one.told.is_cut |= source.truncated
        return one

    first = run(None, lambda _: None)
    names = first.names
    assert names is not None
    names.settle(rules)
    for heap in heaps:
        heap.masks = _masks(heap, names, rules, first.id_size)
    if rules.keep:
        for _ in range(2):  # what fields refer to, then the characters of these texts
            run(names, lambda _: None)
            for heap in heaps:
                heap.keep(())
    return run(names, write).told
