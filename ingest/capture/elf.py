"""Addresses of functions in a running process, from its maps and its ELF files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
_DYNSYM, _FUNCTIONS = 11, (2, 10)


class Mapping(NamedTuple):
    """A line of ``/proc/PID/maps``."""

    start: int
    end: int
    mode: str
    offset: int
    path: str


class Function(NamedTuple):
    """A function: where it begins and ends."""

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
    """Those of ``names`` that a file in the memory of a process exports.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    found: dict[str, Function] = {}
    bases: dict[str, int] = {}
    for one in mappings(pid):
        if one.path.startswith("/") and one.offset == 0:
            bases.setdefault(one.path, one.start)
    for path, base in bases.items():
        name = path.rpartition("/")[2]
        is_main = (PROC / str(pid) / "exe").readlink() == Path(path)
        if not (is_main or name.startswith(("libpython", "libc", "ld-", "libpthread"))):
            continue
        try:
            data = (PROC / str(pid) / "root" / path.lstrip("/")).read_bytes()
            symbols = _exported(data, names)
        except (OSError, struct.error, IndexError):
            continue
        for symbol, (value, size, bias) in symbols.items():
            start = base - bias + value
            found.setdefault(symbol, Function(start, start + size))
    return found


def _exported(data: bytes, names: set[str]) -> dict[str, tuple[int, int, int]]:
    """Value, size and the address that the file is linked for, of each name."""
    if data[:6] != b"\x7fELF\x02\x01":
        return {}
    headers, sections = struct.unpack_from("<QQ", data, 32)
    header_size, header_count, section_size, section_count = struct.unpack_from(
        "<HHHH", data, 54
    )
    bias = 0
    for at in range(header_count):
        kind, _, offset, address = struct.unpack_from(
            "<IIQQ", data, headers + at * header_size
        )
        if kind == 1:
            bias = address - offset & ~0xFFF
            break
    wanted = {name.encode(): name for name in names}
    found: dict[str, tuple[int, int, int]] = {}
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
            if not section or info & 15 not in _FUNCTIONS:
                continue
            end = data.index(b"\0", strings + name_at)
            if (name := wanted.get(data[strings + name_at : end])) is not None:
                found[name] = value, length, bias
    return found
