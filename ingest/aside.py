"""Arrays that are kept in a file while nothing reads them.

The analysis has columns of the heap in memory that it does not use while it needs most
memory: ids and sizes. Their pages are given back to the system, and filled again from a
file without a name afterwards.

Columns that a reader writes once, and few read, are in such a file from then on. Their
memory is that file: they are read where they lie, and given back without a copy.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import IngestError
from ingest.spill import AUTO, NEVER, folder_with_room, is_started, is_supported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LEAST_BYTES = 32 << 20
"""Smaller arrays stay where they are: the time is better spent otherwise."""

_MADV_DONTNEED = 4


LEAST_COLUMN_BYTES = 4 << 20
"""A column that is a file is never copied: smaller ones are worth it, too. A file takes
less time than memory, of which the system clears each page before it is written."""


def folder_for(
    chosen: str, array: NDArray[Any], *, is_column: bool = False
) -> Path | None:
    """Where arrays of this size are to be kept; ``None`` where they stay in memory.

    Args:
        chosen: As for `ingest.spill.can_start`.
        array: One of them.
        is_column: Whether it becomes an `ArrayFile`.
    """
    least = LEAST_COLUMN_BYTES if is_column else LEAST_BYTES
    if chosen == NEVER or array.nbytes < least or not is_supported():
        return None
    if is_started():  # they are in files as it is
        return None
    if chosen != AUTO:
        return Path(chosen)
    return folder_with_room(4 * array.nbytes)


@contextmanager
def set_aside(folder: Path | None, *arrays: NDArray[Any]) -> Iterator[None]:
    """Keep arrays in files within the block, in which nothing may read them.

    Arrays that cannot be written stay where they are: the disk may be full. Those that
    are in files anyway are given back.

    Args:
        folder: Where the files are; ``None`` to leave all others in memory.
        arrays: What to keep there; those that share memory with others stay.

    Raises:
        IngestError: an array cannot be read back.
    """
    held: list[tuple[int, memoryview]] = []
    give_back(*arrays)
    try:
        for array in arrays if folder is not None else ():
            if _is_whole(array):
                file, content = _written(folder, array)
                if file >= 0:
                    held.append((file, content))
                    _give_back(array)
        yield
    finally:
        try:
            for file, content in held:
                _read_back(file, content)
        except OSError as error:
            raise IngestError(
                f"{folder}: a column that was kept there cannot be read: "
                f"{error.strerror}; use --spill none"
            ) from error
        finally:
            for file, _ in held:
                os.close(file)


def _is_whole(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array has memory of its own, and all of it."""
    flags = array.flags
    return bool(flags.owndata and flags.c_contiguous and array.nbytes >= LEAST_BYTES)


def _written(folder: Path | None, array: NDArray[Any]) -> tuple[int, memoryview]:
    """A file with the content of an array, or -1; and the array's memory, writable."""
    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    content = memoryview(memory).cast("B")
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as made:
            done = 0
            while done < len(content):
                done += made.write(content[done:])
            return os.dup(made.fileno()), content
    except OSError:
        return -1, content


def _give_back(array: NDArray[Any]) -> None:
    """Give the whole pages of an array back to the system: they are zero then."""
    page = mmap.PAGESIZE
    begin = -(-array.ctypes.data // page) * page
    end = (array.ctypes.data + array.nbytes) // page * page
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    advise(begin, end - begin, _MADV_DONTNEED)


def _read_back(file: int, content: memoryview) -> None:
    done = 0
    while done < len(content):
        count = os.preadv(file, [content[done:]], done)
        if not count:
            raise OSError(0, "its file has become shorter")
        done += count


class _File:
    """A file without a name, which is closed with the last that uses it.

    Raises:
        OSError: none can be made in the folder.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as made:
            self.number = os.dup(made.fileno())

    def __del__(self) -> None:
        if hasattr(self, "number"):  # not where there is no room for it
            os.close(self.number)


class _Mapping(mmap.mmap):
    """The memory of an array that is a file.

    Attributes:
        file: The file.
    """

    file: _File


class ArrayFile:
    """A column that is written to a file without a name, piece by piece.

    Args:
        folder: Where it is.

    Raises:
        OSError: no file can be made there.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _File(folder)

    def add(self, rows: NDArray[Any]) -> None:
        """Append rows.

        Raises:
            OSError: they cannot be written, such as to a full disk; some may be.
        """
        _append(self._file, rows)

    def content(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        """The first rows, of which there is at least one, as an array that is the file.

        It is in memory where no more files can be open.

        Raises:
            OSError: it cannot be read.
        """
        with suppress(OSError):
            return _array_of(self._file, dtype, count)
        rows = np.empty(count, dtype)
        _read_back(self._file.number, memoryview(rows.view(np.uint8).data))
        return rows


def _append(file: _File, rows: NDArray[Any]) -> None:
    content = memoryview(np.ascontiguousarray(rows).view(np.uint8).data)
    while len(content):
        content = content[os.write(file.number, content) :]


def _array_of(file: _File, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    memory = _Mapping(file.number, count * dtype.itemsize)
    memory.file = file
    return np.ndarray((count,), dtype, memory)


def _mapping_of(array: NDArray[Any]) -> _Mapping | None:
    """The memory of an array, if that is a file."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Mapping) else None


def give_back(*arrays: NDArray[Any]) -> None:
    """Let arrays that are files take no memory until they are read again.

    Others stay as they are.
    """
    for array in arrays:
        if (memory := _mapping_of(array)) is not None:
            memory.madvise(mmap.MADV_DONTNEED)


def extended(array: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """An array with more rows of its type; the file of one that is a file gets them."""
    memory = _mapping_of(array)
    if memory is not None and len(memory) == array.nbytes:
        with suppress(OSError):  # such as of a full disk
            os.lseek(memory.file.number, array.nbytes, os.SEEK_SET)
            _append(memory.file, rows)
            return _array_of(memory.file, array.dtype, len(array) + len(rows))
    return np.concatenate([array, rows])
