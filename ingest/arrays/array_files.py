"""Columns in files without a name, instead of in memory.

A column that is rarely read need not take memory. It is written piece by piece, then
mapped: the system reads its pages when they are used, and may drop them.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.arrays.spill import AUTO, NEVER, folder_with_room, is_started, is_supported

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_BYTES = 4 << 20
"""Smaller arrays stay in memory. A file takes less time than memory: the system clears
each page of memory before it is written."""


def folder_for(chosen: str, array: NDArray[Any]) -> Path | None:
    """The folder for arrays of this size; ``None`` if they stay in memory.

    Args:
        chosen: As for `ingest.arrays.spill.can_start`.
        array: An array of this size.
    """
    if chosen == NEVER or array.nbytes < LEAST_BYTES or not is_supported():
        return None
    if is_started():  # they are in files already
        return None
    if chosen != AUTO:
        return Path(chosen)
    return folder_with_room(4 * array.nbytes)


def in_file(folder: Path | None, array: NDArray[Any]) -> NDArray[Any]:
    """The array moved to a file, or unchanged if that is unwanted or impossible.

    Args:
        folder: Folder for the file; ``None`` to leave the array in memory.
        array: An array of one dimension.
    """
    if folder is None or not len(array):
        return array
    with suppress(OSError):  # such as of a full disk
        file = ArrayFile(folder)
        file.add(array)
        return file.content(array.dtype, len(array))
    return array


def _read_back(file: int, content: memoryview) -> None:
    done = 0
    while done < len(content):
        count = os.preadv(file, [content[done:]], done)
        if not count:
            raise OSError(0, "its file has become shorter")
        done += count


class _File:
    """A file without a name, which is closed after its last user.

    Raises:
        OSError: no file can be made in the folder.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as made:
            self.number = os.dup(made.fileno())

    def __del__(self) -> None:
        if hasattr(self, "number"):  # unset if there was no room for it
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
        folder: Folder of the file.

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
        """The first rows, at least one, as an array in the file.

        The array is in memory if no more files can be open.

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
    """The mapped memory of an array, if it is in a file."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Mapping) else None


def release_pages(*arrays: NDArray[Any]) -> None:
    """Let arrays that are files take no memory until they are read again.

    Their content is in the file, so a reader finds it. Others stay as they are.
    """
    for array in arrays:
        if (memory := _mapping_of(array)) is not None:
            memory.madvise(mmap.MADV_DONTNEED)


def extended(array: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """An array with more rows of its type, in the same file if it is in one."""
    memory = _mapping_of(array)
    if memory is not None and len(memory) == array.nbytes:
        with suppress(OSError):  # such as of a full disk
            os.lseek(memory.file.number, array.nbytes, os.SEEK_SET)
            _append(memory.file, rows)
            return _array_of(memory.file, array.dtype, len(array) + len(rows))
    return np.concatenate([array, rows])
