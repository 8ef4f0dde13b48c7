"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.errors import IngestError
from ingest.system import interrupts
from ingest.system.detached import start_detached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filelock import BaseFileLock

_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK}
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EACCES, errno.EMLINK}


class OutputFile:
    """A file being written for the user.

    Attributes:
        byte_count: Bytes written so far.
    """

    def __init__(self, path: Path, part: _Part) -> None:
        self._path = path
        self._part = part
        import hashlib  # takes 10 ms, which help need not spend

        self._digest = hashlib.sha256()
        self.byte_count = 0

    @property
    def sha256(self) -> str:
        """Digest of what is written so far."""
        return self._digest.hexdigest()

    def written(self) -> Path | None:
        """Path where the bytes so far can be read; ``None`` for a device or a pipe.

        Raises:
            IngestError: the disk is full, or gone.
        """
        with _explained(self._path):
            self._part.file.flush()
        return None if self._part.is_device else self._part.path

    def write(self, data: bytes | memoryview) -> None:
        """Append ``data``.

        Raises:
            IngestError: the disk is full, or gone.
        """
        with _explained(self._path):
            self._part.file.write(data)
        self._digest.update(data)
        self.byte_count += len(data)


def check_writable(path: Path, *, force: bool) -> None:
    """Check that a file can be made at ``path``, before any work is done for it.

    Raises:
        IngestError: it exists and ``force`` is not given, or is a folder, or its
            folder is missing.
    """
    with _explained(path):  # such as a name that is too long
        is_folder, exists = path.is_dir(), path.exists()
        has_folder = path.parent.is_dir()
    if is_folder:
        raise IngestError(f"{path} is a folder; name a file in it")
    if exists and not force:
        raise _already_exists(path)
    if not has_folder:
        raise IngestError(f"{path} cannot be written (no folder {path.parent})")


@contextmanager
def output_file(path: Path, *, force: bool, private: bool) -> Iterator[OutputFile]:
    """A file for the user that gets its name when the block ends without an error.

    As `replaced_file`, but errors name the file and its digest is computed.

    Args:
        path: Its name.
        force: Replace an existing file, even one that appears during the block.
        private: See `replaced_file`.

    Raises:
        IngestError: it cannot be written, or exists and ``force`` is not given.
    """
    check_writable(path, force=force)
    with _explained(path):
        part = _Part(path, private=private)
    with interrupts.at_the_end(part.discard):  # before it is there
        try:
            with _explained(path):
                part.open()
            yield OutputFile(path, part)
            with _explained(path):
                part.publish(force=force)
        finally:
            with _explained(path):
                part.discard()


def publish(part: Path, path: Path, *, force: bool) -> tuple[int, str]:
    """Give a complete file its place; afterwards only its owner can read it.

    Args:
        part: The file, which another program has written, in the same file system.
        path: Its name from now on.
        force: Replace an existing file.

    Returns:
        Its size in bytes, and its SHA-256 digest.

    Raises:
        IngestError: it cannot be read or renamed, or ``path`` exists and ``force`` is
            not given.
    """
    import hashlib  # takes 10 ms, which help need not spend

    with _explained(path):
        part.chmod(0o600)
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            byte_count = file.tell()
            os.fsync(file.fileno())
        _rename(part, path, force=force)
    return byte_count, digest


@contextmanager
def replaced_file(path: Path, *, private: bool) -> Iterator[BinaryIO]:
    """A file that replaces ``path`` when the block ends without an error.

    Until then it lies beside ``path`` under another name; an error removes it. A
    device or a pipe is not replaced: it is written to directly.

    Args:
        path: Its name.
        private: Only its owner may read it, and a link at ``path`` is replaced, as
            is right for secrets. Otherwise it has the mode of the file that it
            replaces, or that of a new file, and a link is followed.

    Raises:
        OSError: it cannot be written.
    """
    part = _Part(path, private=private)
    with interrupts.at_the_end(part.discard):  # before it is there
        try:
            yield part.open()
            part.publish(force=True)
        finally:
            part.discard()


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A new, empty ``folder``, removed when the block ends unless it was renamed.

    Files are complete before they get their final place: rename them, or the folder.

    Raises:
        OSError: it cannot be made.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_aside(*folders: Path) -> None:
    """Remove unused folders in a process for which nobody waits.

    Removing a gigabyte takes a second.
    """
    try:
        start_detached([sys.executable, "-I", "-S", "-c", _REMOVE, *map(str, folders)])
    except OSError:  # there can be no more processes
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


_REMOVE = """
import shutil, sys
for folder in sys.argv[1:]:
    shutil.rmtree(folder, ignore_errors=True)
"""


def file_lock(path: Path, *, poll_s: float = 0.05) -> BaseFileLock:
    """A lock between processes, after a check that the file system has locks.

    On some network file systems ``flock`` fails. Versions of filelock take that for a
    lock that another process has and wait for ever, or lock in a way that a killed
    process leaves locked.

    Args:
        path: Its file, in a folder that exists.
        poll_s: Seconds between two looks whether it is free.

    Raises:
        IngestError: the file system has no locks.
        OSError: the file cannot be made.
    """
    from filelock import FileLock

    _check_locks(path)
    return FileLock(path, poll_interval=poll_s)


def _check_locks(path: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _TAKEN:
            why = error.strerror or type(error).__name__
            raise IngestError(
                f"{path.parent} is on a file system that locks no files ({why}), so "
                "that two commands could harm each other: use a folder on a local disk "
                "(INGEST_HOME, or --to of a fleet)"
            ) from error
    finally:
        os.close(handle)


def write_private(path: Path, text: str) -> None:
    """Replace a file by one with ``text`` that only its owner may read."""
    with replaced_file(path, private=True) as file:
        file.write(text.encode())


class _Part:
    """A file that is written next to its target, or to a device directly.

    Attributes:
        path: Where it is written.
        is_device: Whether the target is a device, and is written to directly.
    """

    def __init__(self, path: Path, *, private: bool) -> None:
        self._private = private
        self._target = path if private else path.resolve()
        self.is_device = self._target.exists() and not self._target.is_file()
        self.path = self._target
        if not self.is_device:
            name = f".{self._target.name}.{os.urandom(4).hex()}.part"
            self.path = self._target.with_name(name)
        self._file: BinaryIO | None = None

    def open(self) -> BinaryIO:
        """Make the file, which only its owner may read."""
        if self.is_device:
            self._file = self.path.open("wb")
        else:
            made = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            self._file = os.fdopen(made, "wb")
        return self._file

    @property
    def file(self) -> BinaryIO:
        """The file, once it has been opened."""
        assert self._file is not None
        return self._file

    def publish(self, *, force: bool) -> None:
        """Make the file durable, and give it its name."""
        self.file.flush()
        if not self.is_device:
            os.fsync(self.file.fileno())
        self.file.close()
        if not self.is_device:
            if not self._private:
                self.path.chmod(_mode(self._target))
            _rename(self.path, self._target, force=force)

    def discard(self) -> None:
        """Close the file, and remove it unless it has its name."""
        try:
            if self._file is not None:
                self._file.close()
        finally:
            if not self.is_device:
                self.path.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """The mode of the existing file, or else of a new one."""
    if path.exists():
        return path.stat().st_mode
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _rename(part: Path, path: Path, *, force: bool) -> None:
    """Give the complete file its name."""
    if not force:
        try:
            path.hardlink_to(part)  # unlike a rename, fails if the name is taken
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return
        if path.exists():
            raise FileExistsError(path)
    part.replace(path)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that names ``path``."""
    try:
        yield
    except FileExistsError as error:
        raise _already_exists(path) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise IngestError(f"{path} cannot be written ({why})") from error


def _already_exists(path: Path) -> IngestError:
    return IngestError(f"{path} already exists; --force overwrites it")
