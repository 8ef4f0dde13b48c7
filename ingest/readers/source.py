"""The source of a dump's bytes: a file or standard input, compressed or not.

The first bytes tell the compression, the file's name does not.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

from ingest.arrays.spill import NEVER, can_start
from ingest.errors import DumpError, MalformedDump, NotEnoughMemory
from ingest.progress import silent
from ingest.system.memory import thread_count, used_bytes
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    from ingest.progress import Progress

SNIFF_BYTES = 65536
CHUNK_BYTES = 960 << 10
"""Less than `memory.return_large_arrays` gives back to the system, which would clear
the pages again for each piece."""
_ZSTD_STEP_BYTES = 4096
_GZIP_LEAST_BYTES = 18
_GZIP_THREADS = 4
_GZIP_NOTE = re.compile(rb"\x1f\x8b\x08\x10.{6}HPROF BLOCKSIZE=(\d{1,8})\0", re.DOTALL)
"""Beginning of a file that the JVM has compressed block by block."""
_GZIP_NOTE_BYTES = 64
_GZIP_BLOCK = b"\x1f\x8b\x08" + bytes(5)
"""Beginning of its other blocks."""
_GZIP_MOST_BLOCK_BYTES = 4 << 20
MOST_EXPANSION = 200
"""The most that a file may expand when decompressed, as a multiple of its size.

The most regular dumps, lists of equal objects, expand up to 70 times.
"""
EXPANSION_FREE_BYTES = 16 << 20
"""Content up to this size may expand to any ratio, since it costs little."""
MOST_EXPANSION_OF_VALUES = 1000
"""The same if most of a dump may be large arrays of zeros, which are not stored."""
VALUES_FREE_BYTES = 1 << 30
_MEMORY_TO_JOIN = 1.6
"""Joining the columns takes this many times the memory that reading took."""
_CHECKED_BYTES = 2 << 20
"""Bytes read between two checks of memory."""
_MOST_PENDING = 3
"""The most pieces that are read and wait to be hashed."""
STDIN = "-"
_MOST_FILES = 1000
"""Files of a folder that are looked at for one whose name was misspelt."""

_DAMAGED = (
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
)


class _Rest(io.RawIOBase):
    """The rest of a stream, with the bytes already taken put back in front."""

    def __init__(self, taken: bytes, stream: BinaryIO) -> None:
        self._taken = memoryview(taken)
        self._stream = stream
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        if self._taken:
            count = min(len(view), len(self._taken))
            view[:count] = self._taken[:count]
            self._taken = self._taken[count:]
        else:
            count = self._stream.readinto(view)  # type: ignore[attr-defined]
        self.position += count
        return count


class _GzipBlocks(io.RawIOBase):
    """A file that the JVM has compressed block by block, decompressed in parallel.

    Each block is a gzip member of its own. The bytes of its header show where it
    begins. From the first block on that is not exactly as expected, such as the last
    one of a truncated file, the file is read like any other.

    Source: heapDumperCompression.cpp of HotSpot.
    """

    def __init__(self, raw: BinaryIO, block_bytes: int) -> None:
        """Open a file.

        Args:
            raw: The file.
            block_bytes: Decompressed size of a block.
        """
        from concurrent.futures import ThreadPoolExecutor

        self._raw = raw
        self._block_bytes = block_bytes
        self._threads = ThreadPoolExecutor(_GZIP_THREADS)
        self._blocks: deque[tuple[bytes, Future[bytes | None]]] = deque()
        self._rest = b""
        self._out = memoryview(b"")
        self._plain: BinaryIO | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._out and self._plain is None:
            while len(self._blocks) < 2 * _GZIP_THREADS and (block := self._split()):
                work = self._threads.submit(self._decompress, block)
                self._blocks.append((block, work))
            if not self._blocks:
                return 0
            block, work = self._blocks.popleft()
            found = work.result()
            if found is None:
                left = b"".join((block, *(one for one, _ in self._blocks), self._rest))
                self._blocks.clear()
                rest = cast("BinaryIO", _Rest(left, self._raw))
                self._plain = cast("BinaryIO", gzip.GzipFile(fileobj=rest))
            else:
                self._out = memoryview(found)
        if self._plain is not None:
            piece = self._plain.read1(len(view))  # type: ignore[attr-defined]
            view[: len(piece)] = piece
            return len(piece)
        count = min(len(view), len(self._out))
        view[:count] = self._out[:count]
        self._out = self._out[count:]
        return count

    def _split(self) -> bytes:
        """The next block, compressed; empty at the end."""
        data, at = self._rest, self._rest.find(_GZIP_BLOCK, 1)
        while at < 0 and len(data) <= 2 * self._block_bytes:
            searched = max(len(data) - len(_GZIP_BLOCK), 0) + 1
            if not (more := self._raw.read(self._block_bytes)):
                break
            data += more
            at = data.find(_GZIP_BLOCK, searched)
        at = len(data) if at < 0 else at
        self._rest = data[at:]
        return data[:at]

    def _decompress(self, block: bytes) -> bytes | None:
        """The content of a block; ``None`` if the bytes are not exactly one block."""
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            content = member.decompress(block, self._block_bytes + 1)
        except zlib.error:
            return None
        return content if member.eof and not member.unused_data else None

    def close(self) -> None:
        # Not waited for, since the garbage collector does this, too: see `threads`.
        self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()


def _open_gzip(raw: BinaryIO) -> BinaryIO:
    head = cast("io.BufferedReader", raw).peek(_GZIP_NOTE_BYTES)
    note = _GZIP_NOTE.match(head) if thread_count() > 1 else None
    if note and 0 < int(note[1]) <= _GZIP_MOST_BLOCK_BYTES:
        blocks = _GzipBlocks(raw, int(note[1]))
        return cast("BinaryIO", io.BufferedReader(blocks, 1 << 20))
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw))


def _open_xz(raw: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", lzma.LZMAFile(raw))


class _Zstd(io.RawIOBase):
    """Consecutive frames of zstd; ``EOFError`` at the end of a truncated one.

    The library's own reader ends silently there. Input is read in small steps, because
    a few bytes can decompress to many.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame = self._new_frame()
        self._begun = False
        self._out = memoryview(b"")

    @staticmethod
    def _new_frame() -> zstandard.ZstdDecompressionObj:
        return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._out:
            piece = b""
            if self._frame.eof:
                piece = self._frame.unused_data
                self._frame, self._begun = self._new_frame(), False
            piece = piece or self._raw.read(_ZSTD_STEP_BYTES)
            if not piece:
                if self._begun:
                    raise EOFError("a zstd frame is cut")
                return 0
            self._begun = True
            self._out = memoryview(self._frame.decompress(piece))
        count = min(len(view), len(self._out))
        view[:count] = self._out[:count]
        self._out = self._out[count:]
        return count


def _open_zstd(raw: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Zstd(raw), 1 << 20))


_COMPRESSIONS: tuple[tuple[str, bytes, Callable[[BinaryIO], BinaryIO]], ...] = (
    ("gz", b"\x1f\x8b", _open_gzip),
    ("xz", b"\xfd7zXZ\x00", _open_xz),
    ("zst", b"\x28\xb5\x2f\xfd", _open_zstd),
    ("bz2", b"BZh", lambda raw: cast("BinaryIO", bz2.BZ2File(raw))),
)

COMPRESSION_SUFFIXES = frozenset(f".{name}" for name, _, _ in _COMPRESSIONS)


def _content_bytes(raw: BinaryIO, compression: str, size_bytes: int) -> int:
    """The least size of a compressed file's content, as far as the file tells.

    Source: RFC 1952, section 2.3.1 (ISIZE, of the last member, modulo 2^32);
    RFC 8878, section 3.1.1.1.4.
    """
    if not raw.seekable():
        return size_bytes
    position, least = raw.tell(), size_bytes
    try:
        if compression == "gz" and size_bytes > _GZIP_LEAST_BYTES:
            raw.seek(-4, io.SEEK_END)
            least = int.from_bytes(raw.read(4), "little")
        elif compression == "zst":
            raw.seek(0)
            least = max(least, zstandard.frame_content_size(raw.read(18)))
    except (OSError, zstandard.ZstdError):
        pass  # reading it explains why
    finally:
        raw.seek(position)
    return max(least, size_bytes)


class _Digest:
    """SHA-256 of what is read, computed on a separate thread a few pieces later."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._thread: ThreadPoolExecutor | None = None
        self._pending: deque[Future[None]] = deque()

    def update(self, piece: bytes) -> None:
        """Add bytes."""
        if self._thread is None:
            if len(piece) <= SNIFF_BYTES or thread_count() == 1:
                self._digest.update(piece)
                return
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1)
        while len(self._pending) >= _MOST_PENDING:
            self._pending.popleft().result()
        self._pending.append(self._thread.submit(self._digest.update, piece))

    def hexdigest(self) -> str:
        """The digest so far."""
        while self._pending:
            self._pending.popleft().result()
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
        return self._digest.hexdigest()


class Source:
    """The decompressed bytes of one dump, read once from front to back.

    Attributes:
        name: The path as the user gave it, ``<stdin>`` for standard input.
        head: The first `SNIFF_BYTES` bytes, or all if there are fewer.
        compression: ``gz``, ``xz``, ``zst``, ``bz2``, or empty.
        truncated: Whether the compressed stream ended before its own end; known after
            all chunks are read.
        content_bytes: Length of the content, or a lower bound; ``None`` if unknown.
        max_memory_bytes: Memory that this process may occupy; ``None`` for no limit.
        spill: Folder for columns beyond that limit; see `spill.can_start`.
    """

    def __init__(
        self,
        name: str,
        raw: BinaryIO,
        size_bytes: int | None,
        stored_bytes: int | None = None,
    ) -> None:
        """Open a stream.

        Args:
            name: See the class.
            raw: The stream.
            size_bytes: Its length, if known.
            stored_bytes: Its size in an archive; ``None`` outside of one.
        """
        self.name = name
        self._stored_bytes = stored_bytes
        self._size_bytes = size_bytes
        self._expansion = MOST_EXPANSION, EXPANSION_FREE_BYTES
        self._unfinished_bytes = 0
        self.max_memory_bytes: int | None = None
        self.spill = NEVER
        magic = raw.read(8)
        self._raw = _Rest(magic, raw)
        stream = cast("BinaryIO", io.BufferedReader(self._raw, 1 << 20))
        self.compression = ""
        for compression, mark, opener in _COMPRESSIONS:
            if magic.startswith(mark):
                self.compression = compression
                stream = opener(stream)
        self.content_bytes = size_bytes
        if self.compression and size_bytes is not None and stored_bytes is None:
            self.content_bytes = _content_bytes(raw, self.compression, size_bytes)
        self._stream = stream
        self._digest = _Digest()
        self._offset = 0
        self._is_begun = False
        self.truncated = False
        self.head = self._read(SNIFF_BYTES)
        if not self.head:
            what = "is cut before its first byte" if self.truncated else "is empty"
            raise DumpError(f"the file {what}", path=name)

    def _read(self, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end."""
        parts: list[bytes] = []
        while size > 0 and not self.truncated:
            try:
                # Not read(), which loses what it has already taken if it fails.
                part = self._stream.read1(size)  # type: ignore[attr-defined]
            except EOFError:
                self.truncated = True
                break
            except (*_DAMAGED, OSError) as error:
                raise MalformedDump(
                    f"the {self.compression or 'file'} data cannot be read ({error}); "
                    "get the file again",
                    path=self.name,
                    offset=self._offset + sum(map(len, parts)),
                ) from error
            if not part:
                break
            parts.append(part)
            size -= len(part)
        data = b"".join(parts)
        self._offset += len(data)
        stored = self._raw.position
        if self._stored_bytes is not None:
            stored = min(stored, self._stored_bytes)
        most, free_bytes = self._expansion
        if self._offset > max(free_bytes, most * stored):
            raise DumpError(
                f"its content is more than {most:,} times as large as the file, which "
                "no heap dump is: if you trust it, add --allow-any-expansion",
                path=self.name,
            )
        self._check_memory(len(data))
        return data

    def _check_memory(self, read_bytes: int) -> None:
        """Stop before the system ends the process.

        Raises:
            NotEnoughMemory: what was read does not fit, or joining it would not.
        """
        self._unfinished_bytes += read_bytes
        if self.max_memory_bytes is None or self._unfinished_bytes < _CHECKED_BYTES:
            return
        self._unfinished_bytes = 0
        needed = int(used_bytes() * _MEMORY_TO_JOIN)
        if needed > self.max_memory_bytes:
            limit = human_bytes(self.max_memory_bytes)
            why = (
                f"{self.name}: it needs more memory than {limit}, found after "
                f"{human_bytes(self._offset)} of it"
            )
            if not can_start(self.spill, 2 * needed, why):
                raise NotEnoughMemory(
                    f"{why}: free some, name a folder with room with --spill, or "
                    "allow more with --max-memory"
                )

    def expect_values(self) -> None:
        """Allow more expansion, for skipped values of arrays compress well."""
        most, free_bytes = self._expansion
        self._expansion = (
            max(most, MOST_EXPANSION_OF_VALUES),
            max(free_bytes, VALUES_FREE_BYTES),
        )

    def allow_any_expansion(self) -> None:
        """Read the file however large its content is."""
        self._expansion = sys.maxsize, sys.maxsize

    def chunks(
        self, progress: Progress = silent, size: int = CHUNK_BYTES
    ) -> Iterator[bytes]:
        """All bytes from the first on, in pieces of about ``size``; once only."""
        piece = self.head
        self._is_begun = True
        while piece:
            self._digest.update(piece)
            yield piece
            progress("read", self._raw.position, self._size_bytes)
            piece = self._read(size)

    def drain(self) -> None:
        """Read what the reader has left unread, so that the digest is complete."""
        if not self._is_begun:
            self._is_begun = True
            self._digest.update(self.head)
        while piece := self._read(CHUNK_BYTES):
            self._digest.update(piece)

    @property
    def sha256(self) -> str:
        """Digest of the decompressed bytes read by `chunks` and `drain` so far."""
        return self._digest.hexdigest()


def no_such_file(path: str) -> DumpError:
    """The error that a file is missing, with the one beside it that may be meant."""
    place, names = Path(path), list[str]()
    with suppress(OSError):
        names = [found.name for found in islice(place.parent.iterdir(), _MOST_FILES)]
    near = get_close_matches(place.name, sorted(names), 1)
    meant = f"; did you mean {place.with_name(near[0])}" if near else ""
    return DumpError(f"no such file{meant}", path=path)


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Says why a file cannot be opened, or its first bytes not be read.

    Raises:
        DumpError: it cannot.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise no_such_file(path) from error
    except PermissionError as error:
        raise DumpError("may not be read; check its permissions", path=path) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DumpError(f"cannot be read ({why})", path=path[:200]) from error


@contextmanager
def opened_file(path: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """A file or a pipe, and the bytes of a file.

    Raises:
        DumpError: there is no such file, or it cannot be opened.
    """
    with ExitStack() as stack:
        with errors_of(path):  # and not of the caller's block
            place = Path(path)
            if place.is_dir():
                raise DumpError("is a folder; name a dump in it", path=path)
            file = stack.enter_context(place.open("rb"))
            size = place.stat().st_size if place.is_file() else None
        yield file, size
