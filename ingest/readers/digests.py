"""Digests of files, computed on a thread while a server starts."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ingest.errors import DumpError
from ingest.readers import open_source
from ingest.readers.archive import file_of
from ingest.readers.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_rereadable(dump: str) -> bool:
    """Whether ``dump`` can be read twice: standard input and pipes cannot."""
    return dump != STDIN and Path(file_of(dump)).is_file()


def digest_of(dump: str, is_over: threading.Event | None = None) -> str | None:
    """SHA-256 of a decompressed file.

    Returns:
        ``None`` if the file cannot be read, which reading it as a dump explains, or if
            ``is_over`` was set in the meantime.
    """
    try:
        with open_source(dump) as source:
            source.expect_values()  # whatever its format
            for _ in source.chunks():
                if is_over is not None and is_over.is_set():
                    return None
            return source.sha256
    except DumpError:
        return None


class Digests:
    """SHA-256 of decompressed files, one after another on one thread.

    A context manager: the thread ends with it, even with files left.

    Args:
        dumps: Paths; files that can be read only once are left out.
    """

    def __init__(self, dumps: Iterable[str]) -> None:
        self._found: dict[str, Future[str | None]] = {
            dump: Future() for dump in dumps if is_rereadable(dump)
        }
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="digests", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def of(self, dump: str) -> str | None:
        """Wait for the digest of one of the files; see `digest_of`."""
        return self._found[dump].result()

    def _run(self) -> None:
        for dump, future in self._found.items():
            future.set_result(digest_of(dump, self._is_over))
