"""Zip archives: one dump is read from an archive, and nothing is unpacked to a file.

A member is decompressed as it is read, so a small archive of a huge file costs no more
memory than the file would. Members that are not compressed by ``deflate`` are refused,
because the library decompresses them in unbounded steps.
"""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from ingest.errors import DumpError, MalformedDump, UnknownFormat
from ingest.readers.source import STDIN, Source, errors_of, opened_file
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

MAGIC = (b"PK\3\4", b"PK\5\6")
"""First bytes of an archive with members, and of an empty one."""

MOST_MEMBERS = 1000
"""The most members whose first bytes are read to find the dump."""

_MOST_NAMED = 10
_SEPARATOR = "::"  # which no shell interprets
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 1
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    ValueError,
)


def file_of(dump: str) -> str:
    """The file that contains ``dump``: for ``ARCHIVE.zip::MEMBER``, the archive."""
    return _split(dump)[0]


def member_of(dump: str) -> str | None:
    """The member that ``dump`` names, as ``ARCHIVE.zip::MEMBER``."""
    return _split(dump)[1]


def _split(dump: str) -> tuple[str, str | None]:
    archive, _, member = dump.partition(_SEPARATOR)
    if not member or _is_file(dump) or not _is_file(archive):
        return dump, None
    return archive, member


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # its name is too long
        return False


@contextmanager
def open_dump(dump: str, is_dump: Callable[[Source], bool]) -> Iterator[Source]:
    """Open ``dump``, once: a file, the dump in a zip archive, or standard input.

    Args:
        dump: A path, ``ARCHIVE.zip::MEMBER``, or ``-`` for standard input.
        is_dump: Tells which members of an archive are dumps.

    Raises:
        DumpError: it cannot be opened or is empty, the archive does not have exactly
            one dump, or a file of which a member is named is no archive.
    """
    if dump == STDIN:
        if sys.stdin is None:
            raise DumpError("standard input is closed", path="<stdin>")
        yield Source("<stdin>", sys.stdin.buffer, None)
        return
    path, wanted = _split(dump)
    with opened_file(path) as (file, size):
        with errors_of(path):
            # The bytes of a pipe can be read only once.
            is_archive = size is not None and os.pread(file.fileno(), 4, 0) in MAGIC
            source = None if is_archive else Source(dump, file, size)
        if source is not None:
            if wanted:
                raise DumpError(
                    f"no zip archive; leave out {_SEPARATOR}{wanted}", path=path
                )
            yield source
            return
        try:
            archive = zipfile.ZipFile(file)
        except _UNREADABLE as error:
            raise MalformedDump(
                "a damaged or truncated zip archive; get the file again", path=path
            ) from error
        with archive:
            name = wanted or _only_dump(archive, path, is_dump)
            with _member(archive, path, name, dump) as source:
                yield source


def _files(archive: zipfile.ZipFile) -> list[str]:
    """Members that can be dumps, without folders and macOS metadata."""
    return [
        member.filename
        for member in archive.infolist()
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and not PurePosixPath(member.filename).name.startswith(".")
    ]


def _only_dump(
    archive: zipfile.ZipFile, path: str, is_dump: Callable[[Source], bool]
) -> str:
    """Name of the only dump in an archive.

    Raises:
        UnknownFormat: there is no dump, or there are several.
    """
    names = _files(archive)
    if len(names) == 1:
        return names[0]  # of any format, so that an error is about that file
    if len(names) > MOST_MEMBERS:
        raise UnknownFormat(
            f"a zip archive of {counted(len(names), 'files')}; name one: {path}::FILE",
            path=path,
        )
    found = []
    for name in names:
        try:
            with _member(archive, path, name, f"{path}::{name}") as source:
                if is_dump(source):
                    found.append(name)
        except DumpError:
            continue  # empty, encrypted or damaged
    if len(found) == 1:
        return found[0]
    listed = ", ".join((found or names)[:_MOST_NAMED])
    if len(found or names) > _MOST_NAMED:
        listed += ", …"
    if not names:
        raise UnknownFormat("a zip archive without files", path=path)
    if not found:
        raise UnknownFormat(
            f"a zip archive without a dump that can be read: {listed}", path=path
        )
    raise UnknownFormat(
        f"a zip archive with {len(found)} dumps; name one, such as "
        f"{path}::{found[0]}: {listed}",
        path=path,
    )


@contextmanager
def _member(
    archive: zipfile.ZipFile, path: str, name: str, dump: str
) -> Iterator[Source]:
    """Open one member.

    Raises:
        DumpError: there is no such member, or it cannot be read.
    """
    try:
        member = archive.getinfo(name)
    except KeyError as error:
        listed = ", ".join(_files(archive)[:_MOST_NAMED])
        raise DumpError(
            f"no file named {name} in the archive, which has: {listed}", path=path
        ) from error
    if member.is_dir():
        raise DumpError(f"{name} is a folder; name a dump in it", path=path)
    if member.flag_bits & _ENCRYPTED:
        raise UnknownFormat(f"{name} is encrypted; unpack the archive first", path=path)
    if member.compress_type not in _READABLE:
        raise UnknownFormat(
            f"{name} is not compressed by deflate; unpack the archive first", path=path
        )
    with ExitStack() as stack:  # errors of the caller's block are the caller's
        try:
            stream = stack.enter_context(archive.open(member))
            stored = min(member.compress_size, Path(path).stat().st_size)
            source = Source(dump, cast("BinaryIO", stream), member.file_size, stored)
        except _UNREADABLE as error:
            raise MalformedDump(
                f"{name} cannot be read ({error}); get the archive again", path=path
            ) from error
        yield source
