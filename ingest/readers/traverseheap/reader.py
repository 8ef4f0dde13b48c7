"""Reads SOS's XML: a compiled scan of objects, expat for everything else."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from ingest.errors import DumpError, MalformedDump
from ingest.heap.graph import EPHEMERON, NO_FIELD, RootKind
from ingest.readers.dotnet.segments import FREE_SPACE
from ingest.readers.shared.columns import (
    MAX_SIZE_BYTES,
    InteriorRoots,
    ObjectColumns,
    RootColumns,
    compact_counts,
)
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import decode, to_utf8
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.readers.traverseheap import NAME
from ingest.readers.traverseheap.scan import buffers_for, skim
from ingest.runtimes import DOTNET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source
    from ingest.readers.traverseheap.scan import ElementBuffers

PRODUCER = "SOS"

LONGEST_TAG_BYTES = 1 << 20
_STEP_BYTES = 1 << 18
_PIECE_ROWS = 1 << 14
_DEEPEST = 16
"""The most levels of elements; SOS writes four."""
_MOST_NAMES = 10_000
"""The most different names of elements and attributes; SOS writes 20."""
_LARGEST_ID = (1 << 64) - 1

_CONTROL = bytes(range(9)) + b"\x0b\x0c" + bytes(range(14, 32))
_BLANKED = bytes.maketrans(_CONTROL, b"?" * len(_CONTROL))
"""Characters that XML forbids; names made by obfuscators have them."""

_ROOT_KINDS = {
    "stack": RootKind.LOCAL,
    "handle": RootKind.HANDLE,
    "finalizer": RootKind.FINALIZER_QUEUE,
}
_PARTS = frozenset({"gcheap", "types", "roots", "objects"})


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes an object and 13 a reference.

    Raises:
        MalformedDump: it is not XML, declares a document type, or has elements that
            SOS does not write.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    elements = _Elements(counter)
    _parse(_pieces(to_utf8(source.chunks(progress)), counter), elements, counter)
    if source.truncated:
        counter.add("truncated_compression", 1, elements.line, None)
    if not elements.object_count:
        raise DumpError("it has no objects; write it again", path=source.name)
    return elements.graph()


def _pieces(chunks: Iterable[bytes], counter: IrregularityCounter) -> Iterator[bytes]:
    """The text as UTF-8, cut after tags, without characters that XML forbids.

    Raises:
        MalformedDump: a tag is longer than `LONGEST_TAG_BYTES`.
    """
    rest = b""
    before = 0
    for chunk in chunks:
        for at in range(0, len(chunk), _STEP_BYTES):
            piece = rest + chunk[at : at + _STEP_BYTES]
            cut = piece.rfind(b">") + 1
            piece, rest = piece[:cut], piece[cut:]
            if len(rest) > LONGEST_TAG_BYTES:
                raise MalformedDump(
                    "a tag of more than 1 MiB; get the file again",
                    path=counter.name,
                    offset=before + cut,
                )
            before += cut
            yield _clean(piece)
    yield _clean(rest)


def _clean(piece: bytes) -> bytes:
    if not piece.isascii():
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError:
            piece = b"\n".join(
                decode(line).encode("utf-8") for line in piece.split(b"\n")
            )
    return piece.translate(_BLANKED)


def _parse(
    pieces: Iterable[bytes], elements: _Elements, counter: IrregularityCounter
) -> None:
    """Feed XML to ``elements``; a document that ends too early is counted.

    Raises:
        MalformedDump: it is not XML, or declares a document type.
    """
    try:
        for piece in pieces:
            elements.take(piece)
    except expat.ExpatError as error:
        raise MalformedDump(
            f"it is not XML ({expat.ErrorString(error.code)}); write the file again",
            path=counter.name,
            line=error.lineno,
            offset=elements.offset,
        ) from error
    try:
        elements.finish()
    except expat.ExpatError as error:
        counter.add("truncated_document", 1, error.lineno, elements.offset)


class _Single:
    """Objects found by the XML parser, one by one; see `ObjectColumns`."""

    def __init__(self) -> None:
        self.address, self.type_id = array("Q"), array("Q")
        self.size, self.line = array("q"), array("q")
        self.first, self.target = array("q"), array("Q")
        self.nulls = array("i")

    def columns(self) -> ObjectColumns:
        """The objects as columns."""
        counts = np.diff(np.array(self.first, np.int64), append=len(self.target))
        return ObjectColumns(
            id=np.array(self.address, np.uint64),
            type_id=np.array(self.type_id, np.uint64),
            size_bytes=np.array(self.size, np.int64),
            ref_count=counts.astype(np.int32),
            ref_id=[np.array(self.target, np.uint64)],
            null_count=compact_counts(np.array(self.nulls, np.int32)),
            line=np.array(self.line, np.uint32),
        )


class _Elements:
    """Collects the elements of a document.

    Objects that are spelled as the writers do are scanned and removed from the text;
    the XML parser gets as many line ends instead. The first comment or the like may
    contain text that looks like an object, so from there on the parser gets everything.
    """

    def __init__(self, counter: IrregularityCounter) -> None:
        self._parser = expat.ParserCreate("utf-8", intern=None)
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._is_plain = True
        self._depth = 0
        self._names: set[str] = set()
        self._line_ends = 0
        self._removed_bytes = 0
        self._buffers, self._buffer_bytes = buffers_for(0), 0
        self._counter = counter
        self._types: dict[int, str] = {}
        self._roots: list[tuple[int, RootKind, int]] = []
        self._pieces: list[ObjectColumns] = []
        self._dependent = array("q")
        self._target_count = 0
        self._single = _Single()
        self._is_object = False
        self._others = {
            "object": self._object,
            "loaderallocator": self._member,
            "type": self._type,
            "root": self._root,
        }

    @property
    def object_count(self) -> int:
        """Objects so far."""
        return len(self._single.size) + sum(len(p.size_bytes) for p in self._pieces)

    @property
    def line(self) -> int:
        """The line being parsed."""
        return int(self._parser.CurrentLineNumber)

    @property
    def offset(self) -> int:
        """The byte being parsed, or at fault."""
        return int(self._parser.CurrentByteIndex) + self._removed_bytes

    def take(self, piece: bytes) -> None:
        """Parse a piece of the document.

        Raises:
            ExpatError: it is not XML.
            MalformedDump: it declares a document type.
        """
        if not self._is_plain or b"<!" in piece or b"<?" in piece:
            self._is_plain = False
            self._parser.Parse(piece, False)
            return
        data = np.frombuffer(piece, np.uint8)
        if len(piece) > self._buffer_bytes:
            self._buffer_bytes = len(piece)
            self._buffers = buffers_for(len(piece))
        buffers = self._buffers
        used = np.zeros(5, np.int64)
        at = 0
        while at < len(piece):
            skim(data, at, buffers, used)
            begin, end, objects, references, line_ends = used.tolist()
            self._parser.Parse(piece[at:begin], False)
            self._line_ends += piece.count(b"\n", at, begin)
            at = begin
            if objects:
                self._put(buffers, objects, references)
                self._parser.Parse(b"\n" * line_ends, False)
                self._line_ends += line_ends
                self._removed_bytes += end - begin - line_ends
                at = end

    def _put(self, buffers: ElementBuffers, objects: int, references: int) -> None:
        self._flush()
        line = (buffers.line[:objects] + self._line_ends + 1) % 2**32
        self._pieces.append(
            ObjectColumns(
                id=buffers.address[:objects].copy(),
                type_id=buffers.type_id[:objects].copy(),
                size_bytes=buffers.size_bytes[:objects].copy(),
                ref_count=np.diff(buffers.first[:objects], append=references).astype(
                    np.int32
                ),
                ref_id=[buffers.target[:references].copy()],
                null_count=compact_counts(buffers.null_count[:objects]),
                line=line.astype(np.uint32),
            )
        )
        self._target_count += references
        self._is_object = False

    def _flush(self) -> None:
        """Make a piece of the objects found by the XML parser."""
        if self._single.size:
            self._pieces.append(self._single.columns())
            self._single = _Single()

    def finish(self) -> None:
        """Parse the end of the document.

        Raises:
            ExpatError: it ends too early.
        """
        self._parser.Parse(b"", True)

    def _count(self, kind: str) -> None:
        self._counter.add(kind, 1, self.line, self.offset)

    def _refuse(self, *_: object) -> None:
        raise MalformedDump(
            "it declares a document type, which SOS never writes; write it again",
            path=self._counter.name,
            line=self.line,
            offset=self.offset,
        )

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._names.add(name)
        self._names.update(attributes)
        if self._depth > _DEEPEST or len(self._names) > _MOST_NAMES:
            raise MalformedDump(
                "its elements are not those that SOS writes; write it again",
                path=self._counter.name,
                line=self.line,
                offset=self.offset,
            )
        if name == "member":
            self._member(attributes)
        elif handle := self._others.get(name):
            try:
                handle(attributes)
            except (KeyError, ValueError, OverflowError):
                self._count("malformed_element")
        elif name not in _PARTS:
            self._count("unknown_element")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "object":
            self._is_object = False

    def _member(self, attributes: dict[str, str]) -> None:
        if not self._is_object:
            self._count("member_outside_object")
            return
        try:
            target = int(attributes["address"], 16)
            if target:
                self._single.target.append(target)
                self._target_count += 1
            else:
                self._single.nulls[-1] += 1
                return
        except (KeyError, ValueError, OverflowError):
            self._count("malformed_reference")
            return
        if attributes.get("dependentHandle", "0") != "0":
            self._dependent.append(self._target_count - 1)

    def _object(self, attributes: dict[str, str]) -> None:
        self._is_object = False
        address, type_id = int(attributes["address"], 16), int(attributes["typeid"])
        size = int(attributes["size"])
        if not (0 <= address <= _LARGEST_ID and 0 <= type_id <= _LARGEST_ID):
            raise ValueError(address, type_id)
        if not 0 <= size <= MAX_SIZE_BYTES:
            self._count("size_out_of_range")
            # Old versions of SOS write sizes as signed 32-bit numbers.
            size = size + (1 << 32) if -(1 << 31) <= size < 0 else 0
        if not address:
            self._count("zero_object_id")
        if len(self._single.size) >= _PIECE_ROWS:
            self._flush()
        single = self._single
        single.address.append(address)
        single.type_id.append(type_id)
        single.size.append(size)
        single.line.append(self.line % 2**32)
        single.first.append(len(single.target))
        single.nulls.append(0)
        self._is_object = True

    def _type(self, attributes: dict[str, str]) -> None:
        ident = int(attributes["id"])
        if not 0 <= ident <= _LARGEST_ID:
            raise ValueError(ident)
        name = attributes["name"] or f"<unnamed {ident}>"
        if self._types.setdefault(ident, name) != name:
            self._count("conflicting_type")

    def _root(self, attributes: dict[str, str]) -> None:
        address = int(attributes["address"], 16)
        if not 0 <= address <= _LARGEST_ID:
            raise ValueError(address)
        kind = _ROOT_KINDS.get(attributes["kind"])
        if kind is None:
            self._count("unknown_root_kind")
        if address:
            self._roots.append((address, kind or RootKind.OTHER, self.line % 2**32))

    def graph(self) -> HeapGraph:
        """The graph, once the document is parsed."""
        self._flush()
        names = self._describe_dependents()
        many = len(self._roots)
        roots = RootColumns(
            id=np.array([root[0] for root in self._roots], np.uint64),
            kind=np.array([root[1] for root in self._roots], np.uint8),
            flags=np.zeros(many, np.uint8),
            line=np.array([root[2] for root in self._roots], np.uint32),
            is_location=np.ones(many, np.bool_),
            interior=InteriorRoots.ANY,
        )
        types = TypeTable(self._counter, implied=FREE_SPACE)
        for ident, name in self._types.items():
            types.declare(ident, name)
        return HeapResolver(self._pieces, types, self._counter).graph(
            roots,
            format_name=NAME,
            runtime=DOTNET.name,
            producer=PRODUCER,
            field_names=names,
        )

    def _describe_dependents(self) -> tuple[str, ...]:
        """Mark references of dependent handles; return the names of fields."""
        if not len(self._dependent):
            return ()
        dependent = np.array(self._dependent, np.int64)
        begin = 0
        for piece in self._pieces:
            many = sum(map(len, piece.ref_id))
            piece.ref_field = np.full(many, NO_FIELD, np.int32)
            inside = (dependent >= begin) & (dependent < begin + many)
            piece.ref_field[dependent[inside] - begin] = 0
            begin += many
        return (EPHEMERON,)
