"""Files that the user of another program writes, read without trusting them.

They are opened below a folder without following links, must be regular files of that
user, and are read from the descriptor that was checked. So root can safely read files
of another user, and of a container.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.elf import PROC
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # nobody may write to a FIFO


@contextmanager
def temporary_folder_of(pid: int) -> Iterator[Path]:
    """The ``/tmp`` of a process, which stays in reach if that ends.

    A link there would lead into this process's own root folder, so it is followed only
    if both have the same root folder.

    Raises:
        CaptureError: it has none.
    """
    root = PROC / str(pid) / "root"
    try:
        is_same = root.samefile("/")
        flags = _FOLDER & ~os.O_NOFOLLOW if is_same else _FOLDER
        entered = os.open(root / "tmp", flags)
    except PermissionError:
        raise
    except OSError as error:
        raise CaptureError(
            f"process {pid} has no folder /tmp for its dump ({error.strerror}); give "
            "it one that it can write to"
        ) from error
    try:
        yield PROC / "self/fd" / str(entered)
    finally:
        os.close(entered)


class UntrustedFolder:
    """A folder of another user.

    Args:
        path: The folder, which was made a moment ago.
        user: Number of the user whose files are read.

    Raises:
        CaptureError: it is not that user's.
    """

    def __init__(self, path: Path, user: int) -> None:
        self._fd, self._user = os.open(path, _FOLDER), user
        if os.fstat(self._fd).st_uid not in (user, os.geteuid()):
            os.close(self._fd)
            raise CaptureError(f"{path} is not a folder of the program's user")

    def close(self) -> None:
        """Close the folder."""
        os.close(self._fd)

    def remove(self) -> None:
        """Remove all files in it."""
        shutil.rmtree(PROC / "self/fd" / str(self._fd), ignore_errors=True)

    def write(self, name: str, data: bytes) -> None:
        """Make a file that only its user can read.

        Raises:
            OSError: it cannot be made.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=self._fd), "wb") as file:
            file.write(data)

    @contextmanager
    def opened(self, name: str) -> Iterator[int | None]:
        """A file of that user; ``None`` for anything else, and if there is none."""
        try:
            file = os.open(name, _FILE, dir_fd=self._fd)
        except OSError:
            yield None
            return
        try:
            found = os.fstat(file)
            is_file = stat.S_ISREG(found.st_mode) and found.st_uid == self._user
            yield file if is_file else None
        finally:
            os.close(file)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        with self.opened(name) as file:
            return file is not None

    def size(self, name: str) -> int:
        """Bytes of a file; 0 if there is none."""
        with self.opened(name) as file:
            return 0 if file is None else os.fstat(file).st_size

    def text(self, name: str, most: int) -> str:
        """At most so many bytes of a file, as text; empty if there is none."""
        with self.opened(name) as file, suppress(OSError):
            data = b"" if file is None else os.read(file, most)
            return data.decode("utf-8", "replace")
        return ""

    def is_abandoned(self, name: str) -> bool:
        """Whether who writes a file, and has a lock on it, has ended."""
        if not self.has("writer"):
            return False
        with self.opened(name) as file:
            if file is None:
                return False
            try:
                os.lockf(file, os.F_TEST, 0)
            except OSError:
                return False
            return True

    def free_bytes(self) -> int:
        """Room for files in it."""
        found = os.fstatvfs(self._fd)
        return found.f_bavail * found.f_frsize
