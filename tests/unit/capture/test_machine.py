"""The frames from which a kernel lets a thread go on, read as the kernels read them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from ingest.capture.aarch64 import AARCH64
from ingest.capture.machine import (
    KEPT,
    KEPT_TOO,
    RESULT,
    FunctionCall,
    If,
    Load,
    StoreValue,
    SystemCall,
    Wanted,
)
from ingest.capture.x86_64 import X86_64
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from ingest.capture.machine import Libc, Step

STACK, SVC, NOP = 0x7FFFFF12_3450, 0xD4000001, 0xD503201F
NAMES = [*(f"x{number}" for number in range(31)), "sp", "pc", "pstate"]


class Tracee:
    """A thread of aarch64 that stands still."""

    def __init__(
        self,
        code: int = NOP,
        changed: dict[str, int] | None = None,
        *,
        scalable: bytes = b"",
    ) -> None:
        self.registers_now = {name: 1000 + at for at, name in enumerate(NAMES)}
        self.registers_now |= {"sp": STACK, "pc": 0x40_0000, "pstate": 0x6000_0C00}
        self.registers_now |= changed or {}
        self.code, self.scalable = code, scalable
        self.floats = bytes(range(256)) * 2 + struct.pack("<II", 7, 9) + bytes(8)

    def word(self, tid: int, at: int) -> int:
        assert (tid, at) == (5, 0x40_0000)
        return self.code | 0x1234 << 32

    def registers(self, tid: int, kind: int, most: int) -> bytes:
        assert tid == 5
        if kind == 1:
            data = struct.pack("<34Q", *self.registers_now.values())
        elif kind == 2:
            data = self.floats
        elif not self.scalable:
            raise OSError(22, "no such registers")
        else:
            data = self.scalable
        assert len(data) <= most
        return data

    @property
    def libc(self) -> Libc:
        return self  # type: ignore[return-value]


def went_on(tracee: Tracee, arguments: tuple[int, ...] = ()) -> dict[str, int]:
    """The registers after a call, which this looks at, and ``rt_sigreturn``.

    As `rt_sigreturn`, `restore_sigframe` and `parse_user_sigframe` of Linux do it.
    """
    memory = bytearray(1 << 16)
    base = STACK - len(memory)
    thread = AARCH64.thread(tracee.libc, 5)
    writes, called = AARCH64.prepared(thread, Wanted(77, arguments, 0x8888, 0x5))
    for at, data in writes:
        assert base <= at
        assert at + len(data) <= STACK - 128
        memory[at - base : at - base + len(data)] = data
    assert (called["pc"], called["x30"]) == (77, 0x8888)
    assert called["sp"] % 16 == 0
    assert not called["pstate"] & 0xC00, "branch type of what it was"
    for number, value in enumerate(arguments):
        assert called[f"x{number}"] == value
    frame = memory[called["sp"] - base :][:4688]
    context = frame[128 + 176 :]
    assert struct.unpack_from("<Q", frame, 128 + 40) == (5,), "blocked signals"
    records, at = {}, 288
    while (head := struct.unpack_from("<II", context, at)) != (0, 0):
        assert head[1] % 16 == 0
        assert at + head[1] <= 288 + 4096
        records[head[0]] = bytes(context[at + 8 : at + head[1]])
        at += head[1]
    floats = records.pop(0x46508001)
    assert len(floats) == 520
    assert floats[8:] + floats[:8] == tracee.floats[:520]
    tracee.scalable_then = records.pop(0x53564501, b"")  # type: ignore[attr-defined]
    assert not records
    return dict(zip(NAMES, struct.unpack_from("<34Q", context, 8), strict=True))


def test_a_thread_of_aarch64_goes_on_as_it_was() -> None:
    tracee = Tracee()

    assert went_on(tracee, (7, 0, 4096, 0)) == tracee.registers_now


SLEEP, CLOCK_SLEEP, FUTEX, RESTART, PPOLL = 101, 115, 98, 128, 73


@pytest.mark.parametrize(
    ("number", "arguments", "is_again"),
    [
        (PPOLL, {}, True),
        (CLOCK_SLEEP, {"x1": 1}, True),
        (CLOCK_SLEEP, {"x1": 0}, False),
        (SLEEP, {}, False),
        (SLEEP, {"x1": 1000}, False),
        (RESTART, {}, False),
        (FUTEX, {"x1": 128, "x3": 0}, True),
        (FUTEX, {"x1": 128, "x3": 0x7000}, False),
        (FUTEX, {"x1": 128 | 9, "x3": 0x7000}, True),
    ],
)
def test_a_call_that_was_interrupted_waits_no_longer_than_it_was_to(
    number: int, arguments: dict[str, int], is_again: bool
) -> None:
    """Linux shows a tracer the thread before the call, whatever it was to return."""
    tracee = Tracee(SVC, {"x8": number, **arguments})
    then = went_on(tracee)
    thread = AARCH64.thread(tracee.libc, 5)
    kind, general = thread.saved[-1]
    assert kind == 1
    kept = dict(zip(NAMES, struct.unpack("<34Q", general), strict=True))
    resumed = number if is_again else RESTART
    assert kept == {**tracee.registers_now, "x8": resumed}
    was = tracee.registers_now
    if not is_again and was["x0"] != was["x1"]:  # else that has the time left
        assert then["x0"] == (1 << 64) - 4
        assert then["pc"] == was["pc"] + 4
        then |= {"x0": was["x0"], "pc": was["pc"]}
    assert then == tracee.registers_now


def test_scalable_vectors_are_kept_where_they_are_in_use() -> None:
    length = 32
    size = 32 * length + 17 * length // 8
    data = bytes(at % 251 for at in range(size))
    head = struct.pack("<IIHHHH", 16 + size + 8, 9999, length, 256, 1, 0)
    tracee = Tracee(scalable=head + data + bytes(32))

    assert went_on(tracee) == tracee.registers_now
    kept = tracee.scalable_then  # type: ignore[attr-defined]
    assert struct.unpack_from("<HH", kept) == (length, 0)
    assert kept[8 : 8 + size] == data
    assert len(kept) + 8 == 16 + size + 15 & ~15

    unused = Tracee(scalable=struct.pack("<IIHHHH", 600, 9999, length, 256, 0, 0))
    went_on(unused)
    assert not unused.scalable_then  # type: ignore[attr-defined]
    large = struct.pack("<IIHHHH", 1 << 13, 1 << 13, 256, 256, 1, 0) + bytes(8800)
    with pytest.raises(CaptureError, match="kilobit"):
        went_on(Tracee(scalable=large))


STEPS: list[Step] = [
    FunctionCall(0x1122_3344_5566_7788, (2, 0xFFFF_0000_0000), keep=KEPT)
]
STEPS += [FunctionCall(0x10, (RESULT,)), FunctionCall(0x20, (KEPT, 5), keep=KEPT_TOO)]
MORE: list[Step] = [
    Load(0x30),
    If(is_zero=True, steps=(StoreValue(0x40, 1), StoreValue(0x50))),
]
MORE += [SystemCall("wait4", (RESULT, 0)), If(is_zero=False, steps=(Load(0x60),))]


def test_code_of_aarch64() -> None:
    """As an assembler makes it."""
    data = AARCH64.function([*STEPS, *MORE])
    words = struct.unpack(f"<{len(data) // 4}I", data)
    assert [f"{word:08x}" for word in words] == [
        "a9be7bfd", "a90153f3",  # stp x29, x30, [sp, -32]!; stp x19, x20, [sp, 16]
        "d2800001", "f2dfffe1",  # movz x1, 0; movk x1, 0xffff, lsl 32
        "d2800040",  # mov x0, 2
        "d28ef110", "f2aaacd0", "f2c66890", "f2e22450",  # x16, by 16 bits
        "d63f0200", "aa0003f3",  # blr x16; mov x19, x0
        "aa0003e0", "d2800210", "d63f0200",
        "d28000a1", "aa1303e0", "d2800410", "d63f0200",  # mov x1, 5; mov x0, x19
        "aa0003f4",  # mov x20, x0
        "d2800610", "f9400200",  # ldr x0, [x16]
        "350000c0",  # cbnz w0, 6 words on
        "d2800020", "d2800810", "f9000200", "d2800a10", "f9000200",  # str x0, [x16]
        "d2800001", "aa0003e0", "d2802088", "d4000001",  # mov x8, 260; svc 0
        "36f80060", "d2800c10", "f9400200",  # tbz w0, 31, 3 words on
        "d2800000", "a94153f3", "a8c27bfd", "d65f03c0",  # ldp, ldp; ret
    ]  # fmt: skip


def test_code_of_x86_64() -> None:
    """As an assembler makes it."""
    made = X86_64.function([*STEPS[1:], *MORE])
    zeros = " 00 00 00 00 00 00 00"
    words = [
        "53 41 54 48 83 ec 08",
        "48 89 c7 48 b8 10" + zeros + " ff d0",
        "48 89 df 48 be 05" + zeros + " 48 b8 20" + zeros + " ff d0 49 89 c4",
        "48 a1 30" + zeros,
        "85 c0 0f 85 1e 00 00 00",
        "48 b8 01" + zeros + " 48 a3 40" + zeros + " 48 a3 50" + zeros,
        "48 89 c7 48 be 00" + zeros + " 48 b8 3d" + zeros + " 0f 05",
        "85 c0 0f 89 0a 00 00 00 48 a1 60" + zeros,
        "31 c0 48 83 c4 08 41 5c 5b c3",
    ]
    assert made.hex(" ") == " ".join(words)


def test_where_a_structure_is_returned() -> None:
    step = FunctionCall(0x70, (1,), returned_at=0x80)
    data = AARCH64.function([step])
    words = struct.unpack(f"<{len(data) // 4}I", data)[2:-4]
    made = X86_64.function([step])[7:-10]

    # mov x8, 128; mov x0, 1; mov x16, 112; blr x16
    assert words == (0xD2801008, 0xD2800020, 0xD2800E10, 0xD63F0200)
    # mov rdi, 128; mov rsi, 1; mov rax, 112; call rax
    zeros = bytes(7).hex()
    assert made.hex() == f"48bf80{zeros}48be01{zeros}48b870{zeros}ffd0"


def test_matrices_of_x86_64_are_refused() -> None:
    """Their state is larger than what is written below the stack."""

    class Amx:
        def registers(self, tid: int, kind: int, most: int) -> bytes:
            del tid, most
            if kind == 1:
                return bytes(27 * 8)
            state = bytearray(11008)
            struct.pack_into("<Q", state, 512, 1 << 18)
            return bytes(state)

    with pytest.raises(CaptureError, match="AMX"):
        X86_64.thread(Amx(), 5)  # type: ignore[arg-type]
