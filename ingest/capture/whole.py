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
        try:
            self._file.write(data)
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._digest.update(data)
        self.byte_count += len(data)


def check_free(path: Path, *, force: bool) -> None:
    """See that a file can be made at ``path``, before any work is done for it.

    Raises:
        IngestError: it is there already and ``force`` is not given, or is a folder,
            or its folder is missing.
    """
    try:
        is_folder, is_there = path.is_dir(), path.exists()
        has_folder = path.parent.is_dir()
    except OSError as error:  # such as a name that is too long
        raise _unwritable(path, error) from error
    if is_folder:
        raise IngestError(f"{path} is a folder; name a file in it")
    if is_there and not force:
        raise _is_there(path)
    if not has_folder:
        raise IngestError(f"{path} cannot be written (no folder {path.parent})")


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[WholeFile]:
    """A file that gets its name at the end of the block, if nothing went wrong.

    Until then it lies beside ``path`` under another name; an exception removes it.
    Only its owner may read it, for a heap holds the secrets of its program.

    Raises:
        IngestError: it cannot be written, or is there already (even if it came
            during the block) and ``force`` is not given.
    """
    check_free(path, force=force)
    try:
        handle, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            whole = WholeFile(path, file)
            yield whole
            try:
                file.flush()
                os.fsync(file.fileno())
            except OSError as error:
                raise _unwritable(path, error) from error
        _name(part, path, force=force)
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, path: Path, *, force: bool) -> None:
    """Give the whole file its name."""
    try:
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
    except FileExistsError as error:
        raise _is_there(path) from error
    except OSError as error:
        raise _unwritable(path, error) from error


def _is_there(path: Path) -> IngestError:
    return IngestError(f"{path} is there already; --force overwrites it")


def _unwritable(path: Path, error: OSError) -> IngestError:
    why = error.strerror or type(error).__name__
    return IngestError(f"{path} cannot be written ({why})")
