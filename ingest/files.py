"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EACCES, errno.EMLINK}


class WholeFile:
    """A file in the making.

    Attributes:
        byte_count: Bytes written so far.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._digest = hashlib.sha256()
        self.byte_count = 0

    @property
    def sha256(self) -> str:
        """Digest of what is written so far."""
        return self._digest.hexdigest()

    def write(self, data: bytes | memoryview) -> None:
        """Append ``data``.

        Raises:
            IngestError: the disk is full, or gone.
        """
        with _told(self._path):
            self._file.write(data)
        self._digest.update(data)
        self.byte_count += len(data)


def check_writable(path: Path, *, force: bool) -> None:
    """See that a file can be made at ``path``, before any work is done for it.

    Raises:
        IngestError: it is there already and ``force`` is not given, or is a folder,
            or its folder is missing.
    """
    with _told(path):  # such as of a name that is too long
        is_folder, is_there = path.is_dir(), path.exists()
        has_folder = path.parent.is_dir()
    if is_folder:
        raise IngestError(f"{path} is a folder; name a file in it")
    if is_there and not force:
        raise _is_there(path)
    if not has_folder:
        raise IngestError(f"{path} cannot be written (no folder {path.parent})")


@contextmanager
def whole_file(path: Path, *, force: bool, private: bool) -> Iterator[WholeFile]:
    """A file that gets its name at the end of the block, if nothing went wrong.

    Until then it lies beside ``path`` under another name; an exception removes it.
    A device (or a pipe) takes no file in its place: it is written as it comes.

    Args:
        path: Its name.
        force: Let it take the place of another, even of one that comes during the
            block.
        private: Only its owner may read it, and it takes the place of a link, as is
            right for the secrets of a program. Else it may be read as the one before
            it, or as the umask says, and goes where a link leads.

    Raises:
        IngestError: it cannot be written, or is there already and ``force`` is not
            given.
    """
    check_writable(path, force=force)
    with _told(path):
        target = path if private else path.resolve()
        is_device = target.exists() and not target.is_file()
        part, file = (target, target.open("wb")) if is_device else _part(target)
    try:
        try:
            yield WholeFile(path, file)
            with _told(path):
                file.flush()
                if not is_device:
                    os.fsync(file.fileno())
        finally:
            with _told(path):
                file.close()
        if not is_device:
            with _told(path):
                if not private:
                    part.chmod(_mode(target))
                _name(part, target, force=force)
    finally:
        if not is_device:
            part.unlink(missing_ok=True)


def _part(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside ``path`` that only its owner may read."""
    handle, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
    return Path(name), os.fdopen(handle, "wb")


def _mode(path: Path) -> int:
    """Who may read and write the file that is there, or else a new one."""
    if path.exists():
        return path.stat().st_mode
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _name(part: Path, path: Path, *, force: bool) -> None:
    """Give the whole file its name."""
    if not force:
        try:
            path.hardlink_to(part)  # unlike a rename, fails where there is one
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return
        if path.exists():
            raise FileExistsError(path)
    part.replace(path)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell a user of ``path`` what the system says of it."""
    try:
        yield
    except FileExistsError as error:
        raise _is_there(path) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise IngestError(f"{path} cannot be written ({why})") from error


def _is_there(path: Path) -> IngestError:
    return IngestError(f"{path} is there already; --force overwrites it")
