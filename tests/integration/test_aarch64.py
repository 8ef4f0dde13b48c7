"""Captures of Python programs on aarch64, which is emulated.

``HEAPROOTS_AARCH64`` is a folder with the unpacked packages of Debian for arm64:
python3.11, python3-psutil, python3-zstandard, busybox-static, a linux-image, and what
they need; ``qemu-system-aarch64`` (Debian: qemu-system-arm) is on the PATH. No
privileges are needed: `apt-get download` with an ``APT_CONFIG`` of its own, then
`dpkg -x` of each.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pytest

from tests.unit.capture.test_cpython import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
UNNEEDED = ("boot", "lib/modules", "usr/share", "var")
KINDS = "scalable sleeping busy threaded polling waiting joining forking writing"

# Vectors of which more than 16 bytes are in use throughout, which a debugger that knows
# only those would change: z0 is counted up once, a loop, and compared with it counted
# again.
SCALABLE = """
def scalable():
    global count
    import ctypes, mmap, struct
    words = [
        0x04E14000, 0xF1000400, 0x54FFFFE1, 0x04E14002, 0x04A23000, 0x25D8E3E0,
        0x04D82000, 0x9E660000, 0xD65F03C0,
    ]
    code = mmap.mmap(-1, 4096, prot=7)
    code[:36] = struct.pack("<9I", *words)
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    loop = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)(at)
    while True:
        if loop(20000000):
            os._exit(3)
        count += 1

"""

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
export PATH=/usr/bin:/bin HOME=/tmp LANG=C.UTF-8
/usr/bin/python3.11 /project/tests/programs/emulated.py /target.py {arguments}
/bin/busybox poweroff -f
"""


class Archive:
    """Files for a kernel to begin with, as it unpacks them (newc of cpio)."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._count = out, 0

    def add(self, name: str, mode: int, data: bytes = b"", device: int = 0) -> None:
        self._count += 1
        told = name.encode() + b"\0"
        numbers = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, 5 * bool(device))
        head = b"".join(b"%08X" % n for n in (*numbers, device, len(told), 0))
        self._out.write(b"070701" + head + told)
        self._out.write(bytes(-self._out.tell() % 4) + data)
        self._out.write(bytes(-self._out.tell() % 4))

    def tree(self, folder: Path, within: str = "", skip: tuple[str, ...] = ()) -> None:
        for path in _below(folder, tuple(folder / one for one in skip)):
            name, mode = within + str(path.relative_to(folder)), path.lstat().st_mode
            if stat.S_ISLNK(mode):
                self.add(name, mode, os.fsencode(path.readlink()))
            elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                self.add(name, mode, path.read_bytes() if stat.S_ISREG(mode) else b"")


def _below(folder: Path, skip: tuple[Path, ...]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path in skip or path.name == "__pycache__":
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path, skip)


def archive(path: Path, given: Path, arguments: str) -> None:
    target = TARGET.replace("def busy():", f"{SCALABLE}def busy():", 1)
    with path.open("wb") as out:
        made = Archive(out)
        made.tree(given, skip=UNNEEDED)
        for name in ("dev", "proc", "sys", "tmp", "project", "project/ingest"):
            made.add(name, 0o40755)
        made.add("dev/console", 0o20600, device=1)
        made.tree(ROOT / "ingest", "project/ingest/")
        for name in ("project/tests", "project/tests/programs"):
            made.add(name, 0o40755)
        program = "tests/programs/emulated.py"
        made.add(f"project/{program}", 0o100644, (ROOT / program).read_bytes())
        made.add("target.py", 0o100644, target.encode())
        made.add("init", 0o100755, INIT.format(arguments=arguments).encode())
        made.add("TRAILER!!!", 0)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("processor", "kinds"),
    [
        ("max,pauth-impdef=on,sve256=on", KINDS),
        ("cortex-a72", KINDS.replace("scalable ", "")),
    ],
)
def test_programs_are_captured_and_go_on(
    processor: str, kinds: str, tmp_path: Path
) -> None:
    given, emulator = os.environ.get("HEAPROOTS_AARCH64"), "qemu-system-aarch64"
    if not given or not shutil.which(emulator):
        pytest.skip("aarch64: HEAPROOTS_AARCH64 names no folder (see this module)")
    (kernel,) = Path(given, "boot").glob("vmlinuz-*")
    archive(tmp_path / "begin.cpio", Path(given), f"{kinds} 4")
    done = subprocess.run(
        [emulator, "-M", "virt", "-cpu", processor, "-smp", "2", "-m", "2048",
         "-nographic", "-nic", "none", "-kernel", kernel, "-no-reboot",
         "-initrd", tmp_path / "begin.cpio",
         "-append", "console=ttyAMA0 quiet panic=1 rdinit=/init"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=1500,
        check=True,
    )  # fmt: skip

    right = [line for line in done.stdout.splitlines() if line.startswith("RIGHT")]
    assert [line.split()[1:3] for line in right] == [
        ["aarch64", kind] for kind in kinds.split()
    ], done.stdout
    assert "ALL RIGHT" in done.stdout
    assert sum(int(line.split()[-1]) for line in right) > len(right)
