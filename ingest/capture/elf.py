"""Addresses of functions in a running process, from its maps and its ELF files."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc")
_DYNSYM, _KINDS = 11, (1, 2, 10)
_ELF = b"\x7fELF\x02\x01"
_REGISTERS = b"\0__register_atfork\0"


class Mapping(NamedTuple):
    """A line of ``/proc/PID/maps``."""

    start: int
    end: int
    mode: str
    offset: int
    path: str


class Function(NamedTuple):
    """A function, or a variable: where it begins and ends."""

    start: int
    end: int


def mappings(pid: int) -> list[Mapping]:
    """The memory of a process.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    found = []
    for line in (PROC / str(pid) / "maps").read_text(errors="replace").splitlines():
        span, mode, offset, _, _, *path = line.split(maxsplit=5)
        start, end = (int(part, 16) for part in span.split("-"))
        name = path[0] if path else ""
        found.append(Mapping(start, end, mode, int(offset, 16), name))
    return found


def functions(pid: int, names: set[str]) -> dict[str, Function]:
    """Functions of ``names`` that files in the memory of a process export.

    Variables are included.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    found: dict[str, Function] = {}
    for base, data in _files(pid, ("libpython", "libc", "ld-", "libpthread")):
        try:
            symbols = _exported(data, names)
        except (struct.error, IndexError, ValueError):
            continue
        for symbol, (value, size) in symbols.items():
            start = base - _bias(data) + value
            found.setdefault(symbol, Function(start, start + size))
    return found


def section(pid: int, name: str) -> int | None:
    """Address of a section of a process's program, or of its libpython.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    for base, data in _files(pid, ("libpython",)):
        try:
            address = _section(data, name.encode())
        except (struct.error, IndexError, ValueError):
            continue
        if address is not None:
            return base - _bias(data) + address
    return None


def has_fork_handlers(pid: int) -> bool:
    """Whether a library of a process can have told the C library what ``fork`` calls.

    Those that have an allocator in the place of the C library's do not count: they only
    free its locks in the copy.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    paths = {one.path for one in mappings(pid) if one.path.startswith("/")}
    for path in paths:
        file = _in(pid, path)
        with suppress(OSError, struct.error, IndexError, ValueError):
            with file.open("rb") as opened:
                strings = _dynamic_strings(opened)
            is_asked = _REGISTERS in strings
            if is_asked and not _exported(file.read_bytes(), {"malloc"}):
                return True
    return False


def _dynamic_strings(file: BinaryIO) -> bytes:
    """The names that an ELF file exports and asks for; none of another file."""
    head = file.read(64)
    if head[:6] != _ELF:
        return b""
    (sections,) = struct.unpack_from("<Q", head, 40)
    section_size, section_count = struct.unpack_from("<HH", head, 58)
    file.seek(sections)
    rows = file.read(section_size * section_count)
    for at in range(0, len(rows), section_size):
        kind, link = (struct.unpack_from("<I", rows, at + here)[0] for here in (4, 40))
        if kind == _DYNSYM:
            offset, size = struct.unpack_from("<QQ", rows, link * section_size + 24)
            file.seek(offset)
            return file.read(size)
    return b""


def _in(pid: int, path: str) -> Path:
    """A file by the path that it has for a process."""
    return PROC / str(pid) / "root" / path.lstrip("/")


def _files(pid: int, names: tuple[str, ...]) -> Iterator[tuple[int, bytes]]:
    """Addresses and contents of a process's program and of libraries by name."""
    bases: dict[str, int] = {}
    for one in mappings(pid):
        if one.path.startswith("/") and one.offset == 0:
            bases.setdefault(one.path, one.start)
    for path, base in bases.items():
        is_main = (PROC / str(pid) / "exe").readlink() == Path(path)
        if not (is_main or path.rpartition("/")[2].startswith(names)):
            continue
        try:
            data = _in(pid, path).read_bytes()
        except OSError:
            continue
        if data[:6] == _ELF:
            yield base, data


def _bias(data: bytes) -> int:
    """The address that a file is linked for."""
    (headers,) = struct.unpack_from("<Q", data, 32)
    header_size, header_count = struct.unpack_from("<HH", data, 54)
    for at in range(header_count):
        kind, _, offset, address = struct.unpack_from(
            "<IIQQ", data, headers + at * header_size
        )
        if kind == 1:
            bias: int = address - offset & ~0xFFF
            return bias
    return 0


def _section(data: bytes, wanted: bytes) -> int | None:
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    (names_at,) = struct.unpack_from("<Q", data, sections + names * size + 24)
    for at in range(count):
        name, _, _, address = struct.unpack_from("<IIQQ", data, sections + at * size)
        begin = names_at + name
        if data[begin : data.index(b"\0", begin)] == wanted:
            found: int = address
            return found
    return None


def _exported(data: bytes, names: set[str]) -> dict[str, tuple[int, int]]:
    """Value and size of each name."""
    (sections,) = struct.unpack_from("<Q", data, 40)
    section_size, section_count = struct.unpack_from("<HH", data, 58)
    wanted = {name.encode(): name for name in names}
    found: dict[str, tuple[int, int]] = {}
    for at in range(section_count):
        begin = sections + at * section_size
        _, kind, _, _, offset, size, link, _, _, entry = struct.unpack_from(
            "<IIQQQQIIQQ", data, begin
        )
        if kind != _DYNSYM or not entry:
            continue
        (strings,) = struct.unpack_from("<Q", data, sections + link * section_size + 24)
        for place in range(offset, offset + size, entry):
            name_at, info, _, section, value, length = struct.unpack_from(
                "<IBBHQQ", data, place
            )
            if not section or info & 15 not in _KINDS:
                continue
            end = data.index(b"\0", strings + name_at)
            if (name := wanted.get(data[strings + name_at : end])) is not None:
                found[name] = value, length
    return found
