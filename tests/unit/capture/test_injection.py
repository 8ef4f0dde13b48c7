"""What is found in the memory of a process before anything is written into it."""

from __future__ import annotations

import ctypes
import os
import struct

import pytest

from ingest.capture.elf import Function
from ingest.capture.injection import _lock_of
from ingest.capture.ptrace import machine, unsupported

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())

HOLDER, CODE = 0x7F12_3456_7000, 0x5555_8000_0000


def lock(
    *, waited: int = 20, first: int = 18, users: int = 3, others: int = 0
) -> bytes:
    """Interval, holder, locked; twice a condition and a mutex."""
    condition = struct.pack("<2Q", waited, first).ljust(36, b"\0") + struct.pack(
        "<I", 2
    )
    mutex = struct.pack("<5I", 0, 0, 0, users, 0).ljust(24, b"\0")
    mutex += struct.pack("<2Q", others, others)
    pair = condition.ljust(48, b"\0") + mutex.ljust(machine().mutex_bytes, b"\0")
    return struct.pack("<4Q", 5000, HOLDER, 1, 9) + 2 * pair


@pytest.mark.parametrize(
    "beside",
    [
        lock(waited=CODE, first=CODE - 64),  # pointers where counts are in a lock
        lock(waited=7, first=8),  # a group that begins after what waits
        lock(users=CODE & 0xFFFFFFFF),
        lock(others=CODE),
    ],
)
@pytest.mark.parametrize("is_before", [True, False])
def test_objects_beside_the_lock_are_not_taken_for_it(
    beside: bytes, *, is_before: bool
) -> None:
    parts = [beside, lock()] if is_before else [lock(), beside]
    data = bytes(64) + b"".join(parts) + bytes(256)
    memory = ctypes.create_string_buffer(data, len(data))
    start = ctypes.addressof(memory)
    at = start + 64 + (len(beside) if is_before else 0)

    words = _lock_of(os.getpid(), Function(start, start + len(data)))

    assert [address for address, _ in words] == [
        at + 32 + 8 * number for number in range(2 * (48 + machine().mutex_bytes) // 8)
    ]
    assert sum(word != 0 for _, word in words) == 2  # the clock of each condition


def test_two_that_look_so_are_none() -> None:
    data = 2 * lock() + bytes(256)
    memory = ctypes.create_string_buffer(data, len(data))
    start = ctypes.addressof(memory)

    assert _lock_of(os.getpid(), Function(start, start + len(data))) == []
