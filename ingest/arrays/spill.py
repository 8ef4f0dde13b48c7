"""Large arrays in files instead of memory, for heaps that do not fit into it.

NumPy asks a handler for the data of each array, and the handler can be replaced. Ours
maps a file for every large array: the system writes its pages to the disk when memory
is short, and reads them when they are used again. No other code has to know. A file
has no name once it is mapped, so nothing is left, whatever ends the process.

Source: NumPy Enhancement Proposal 49, Data allocation strategies; NumPy's C API,
``PyDataMem_Handler`` (the structure) and ``PyDataMem_SetHandler`` (entry 304 of the
table that ``_ARRAY_API`` points to).
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

NEVER, AUTO = "none", "auto"
"""Instead of a folder: refuse what does not fit into memory; choose one with room."""

LEAST_BYTES = 1 << 16
"""Smaller arrays stay in memory. Readers make their columns of pieces not much larger
than this, which together are as large as the columns."""

_HEADER_BYTES = 64
"""Before the data of an array: how many bytes are mapped, or 0 for memory."""

_SET_HANDLER = 304
_CAPSULE = b"mem_handler"


class _MemoryHandler(ctypes.Structure):
    """``PyDataMem_Handler``: a name, a version, and ``PyDataMemAllocator``."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class _Spill:
    """Objects that must live as long as any array.

    Attributes:
        folder: Folder of the files.
        state: int64 (2,). The number of the last system error of a file, and how many
            files have been mapped.
        capsule: The handler as NumPy takes it.
        kept: Objects to which the handler refers.
    """

    folder: Path
    state: np.ndarray[Any, Any]
    capsule: object
    kept: tuple[object, ...]


_started: list[_Spill] = []
_listeners: list[Callable[[str], None]] = []


def is_supported() -> bool:
    """Whether this system supports it."""
    return sys.platform == "linux"


def is_started() -> bool:
    """Whether new large arrays are made in files."""
    return bool(_started)


def folder_with_room(needed_bytes: int) -> Path | None:
    """A folder for temporary files with enough room on its disk; ``None`` for none."""
    for folder in (Path(tempfile.gettempdir()), Path("/var/tmp")):
        with suppress(OSError):
            room = shutil.disk_usage(folder).free
            if room >= needed_bytes and not _is_in_memory(folder):
                return folder
    return None


def _is_in_memory(folder: Path) -> bool:
    """Whether files of a folder take memory instead of a disk."""
    import psutil

    place = folder.resolve()
    found = [
        (len(mount.mountpoint), mount.fstype)
        for mount in psutil.disk_partitions(all=True)
        if place.is_relative_to(mount.mountpoint)
    ]
    return max(found, default=(0, ""))[1] in ("tmpfs", "ramfs")


@contextmanager
def reported(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener`` with a line when arrays begin to be in files."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def can_start(chosen: str, needed_bytes: int, why: str) -> bool:
    """Keep large arrays in files from now on, if that is possible and wanted.

    Arrays that exist stay where they are.

    Args:
        chosen: The folder of the files, `NEVER`, or `AUTO` for that of temporary
            files, where its disk has room.
        needed_bytes: About how many bytes all arrays take.
        why: Text on what needs how much, for a line to the user.

    Returns:
        Whether new large arrays are in files.

    Raises:
        IngestError: no file can be made in the chosen folder.
    """
    if chosen == NEVER or not is_supported():
        return False
    if _started:
        return True
    folder = folder_with_room(needed_bytes) if chosen == AUTO else Path(chosen)
    if folder is None:
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = human_bytes(shutil.disk_usage(folder).free)
    except OSError as error:
        raise IngestError(
            f"{folder}: no files can be made there for --spill: {error.strerror}"
        ) from error
    made = _handler(folder)
    _use(made.capsule)
    _started.append(made)
    for listener in _listeners:
        listener(
            f"{why}: columns are kept in files in {folder} ({free} free), which "
            "takes longer"
        )
    return True


def why_no_file() -> str | None:
    """Why an array could not be allocated in a file; ``None`` if that did not fail."""
    if not _started or not (number := int(_started[0].state[0])):
        return None
    return (
        f"{_started[0].folder}: {os.strerror(number)}, so no more columns can be kept "
        "there: make room, or name another folder with --spill"
    )


def _use(capsule: object) -> None:
    """Use a handler in this context; a thread needs a copy of the context."""
    core = import_module("numpy._core._multiarray_umath")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(
        pointer_of(core._ARRAY_API, None),
        ctypes.POINTER(ctypes.c_void_p),
    )
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
    set_handler(table[_SET_HANDLER])(capsule)


def _handler(folder: Path) -> _Spill:
    """The functions that allocate, compiled; they run with the interpreter's lock."""
    import numpy as np
    from numba import carray, cfunc, njit, types
    from numba.extending import intrinsic

    library = ctypes.CDLL(None)
    size, pointer, number = ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_int

    def system(name: str, result: Any, *args: Any) -> Any:  # noqa: ANN401
        function = getattr(library, name)
        # A fresh object: others may have given the library's own one other types.
        typed = ctypes.CFUNCTYPE(result, *args)
        return typed(ctypes.cast(function, ctypes.c_void_p).value or 0)

    malloc = system("malloc", pointer, size)
    calloc = system("calloc", pointer, size, size)
    realloc = system("realloc", pointer, pointer, size)
    free = system("free", None, pointer)
    copy = system("memcpy", pointer, pointer, pointer, size)
    mkstemp = system("mkstemp", number, pointer)
    unlink = system("unlink", number, pointer)
    close = system("close", number, number)
    reserve = system("posix_fallocate", number, number, ctypes.c_long, ctypes.c_long)
    mmap = system("mmap", pointer, pointer, size, number, number, number, ctypes.c_long)
    munmap = system("munmap", number, pointer, size)
    errno_at = system("__errno_location", pointer)
    usable = system("malloc_usable_size", size, pointer)

    template = os.fsencode(folder / ".heaproots-XXXXXX")
    name = np.frombuffer(template + b"\0", np.uint8).copy()
    pristine = name.copy()
    state = np.zeros(2, np.int64)
    name_at, pristine_at = name.ctypes.data, pristine.ctypes.data
    state_at, name_bytes = state.ctypes.data, len(name)
    read_write, shared, failed = 3, 1, -1
    least, header = LEAST_BYTES, _HEADER_BYTES
    interrupted = errno.EINTR

    @intrinsic
    def word_at(_typing: object, _address: object) -> object:
        """The memory at an address, as a pointer."""
        signature = types.CPointer(types.int64)(types.intp)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> object:  # noqa: ANN401
            kind = context.get_value_type(sig.return_type)
            return builder.inttoptr(args[0], kind)

        return signature, generate

    @njit
    def set_word(address: Any, at: Any, value: Any) -> None:  # noqa: ANN401
        carray(word_at(address), (2,))[at] = value

    @njit
    def word(address: Any) -> Any:  # noqa: ANN401
        return carray(word_at(address), (1,))[0]

    @njit
    def mapped(count: Any) -> Any:  # noqa: ANN401
        """The address of zeros in a new file; 0 if that fails."""
        copy(name_at, pristine_at, name_bytes)
        file = mkstemp(name_at)
        if file < 0:
            set_word(state_at, 0, word(errno_at()) & 0xFFFFFFFF)
            return 0
        unlink(name_at)
        error = reserve(file, 0, count)
        while error == interrupted:
            error = reserve(file, 0, count)
        if error:
            close(file)
            set_word(state_at, 0, error)
            return 0
        address = mmap(0, count, read_write, shared, file, 0)
        close(file)
        if address == failed:  # too many mappings: it may still fit into memory
            return calloc(1, count)
        set_word(address, 0, count)
        set_word(state_at, 1, word(state_at + 8) + 1)
        return address

    @njit
    def new(count: Any, is_zero: Any) -> Any:  # noqa: ANN401
        whole = count + header
        if whole >= least:
            address = mapped(whole)
        elif is_zero:
            address = calloc(1, whole)
        else:
            address = malloc(whole)
            if address:
                set_word(address, 0, 0)
        if address == 0:
            return 0
        return address + header

    @njit
    def drop(data: Any) -> None:  # noqa: ANN401
        address = data - header
        count = word(address)
        if count:
            munmap(address, count)
        else:
            free(address)

    word_type, nothing = types.intp, types.void

    @cfunc(word_type(word_type, word_type))
    def of_malloc(_context: Any, count: Any) -> Any:  # noqa: ANN401
        return new(count, False)

    @cfunc(word_type(word_type, word_type, word_type))
    def of_calloc(_context: Any, count: Any, each: Any) -> Any:  # noqa: ANN401
        return new(count * each, True)

    @cfunc(word_type(word_type, word_type, word_type))
    def of_realloc(_context: Any, data: Any, count: Any) -> Any:  # noqa: ANN401
        if data == 0:
            return new(count, False)
        address = data - header
        had = word(address)
        if had == 0 and count + header < least:
            moved = realloc(address, count + header)
            return moved + header if moved else 0
        if had and count + header <= had:
            return data
        made = new(count, False)
        if made:
            before = had if had else usable(address)
            copy(made, data, min(before - header, count))
            drop(data)
        return made

    @cfunc(nothing(word_type, word_type, word_type))
    def of_free(_context: Any, data: Any, _count: Any) -> None:  # noqa: ANN401
        if data:
            drop(data)

    functions = (of_malloc, of_calloc, of_realloc, of_free)
    handler = _MemoryHandler(
        b"heaproots", 1, None, *(function.address for function in functions)
    )
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(ctypes.addressof(handler), _CAPSULE, None)
    kept = (*functions, handler, name, pristine, template)
    return _Spill(folder, state, capsule, kept)
