"""Whether the stored tables of a dump still have what its graph has.

A bookmark names the last transaction that has changed a database. All that the tool
writes is between `Unedited.begin` and `end`; another bookmark than the noted one is a
change by somebody else: `SET` in Browser, a deleted relationship. Then every dump that
was there is asked in its graph until it is loaded again. Only what is changed while the
tool itself writes is not told apart: see `Database.writing`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from ingest.system.files import file_lock, write_private
from ingest.system.process_names import is_alive, this_process

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from filelock import BaseFileLock


class _Noted(TypedDict):
    """What the file has.

    Attributes:
        bookmark: Of the last transaction that is the tool's own.
        dumps: Numbers of those whose tables and graphs are the same.
        writers: Processes of the tool that are writing.
    """

    bookmark: str
    dumps: list[int]
    writers: list[str]


class Unedited:
    """Which dumps nobody has edited, in a file beside the store.

    Args:
        home: The folder of the server.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / "unedited.json"

    def begin(self, bookmark: str) -> None:
        """Note that this process is going to write; the database is at a bookmark."""
        with self._locked():
            noted = self._read()
            if noted["bookmark"] != bookmark and not noted["writers"]:
                noted["dumps"] = []
            noted["writers"].append(this_process())
            self._write(noted)

    def end(self, bookmark: str) -> None:
        """Note that this process has finished writing, and the bookmark after that."""
        with self._locked():
            noted, mine = self._read(), this_process()
            if mine in noted["writers"]:
                noted["writers"].remove(mine)
            self._write(noted | {"bookmark": bookmark})

    def add(self, numbers: Iterable[int], bookmark: str, *, is_new: bool) -> None:
        """Note dumps whose tables are stored, and which were written until now.

        Args:
            numbers: The dumps.
            bookmark: Where the database is now.
            is_new: Whether it is another store, which has no other dumps.
        """
        with self._locked():
            noted = self._read()
            kept = set() if is_new else {*noted["dumps"]}
            dumps = sorted(kept | {*numbers})
            self._write(noted | {"bookmark": bookmark, "dumps": dumps})

    def has(self, number: int, bookmark: str) -> bool:
        """Whether nobody has edited a dump, given the present bookmark."""
        noted = self._read()
        is_same = noted["bookmark"] == bookmark or bool(noted["writers"])
        return is_same and number in noted["dumps"]

    def _locked(self) -> BaseFileLock:
        return file_lock(self._path.with_suffix(".lock"))

    def _read(self) -> _Noted:
        """The file; processes that have ended, killed, write no more."""
        try:
            noted: _Noted = json.loads(self._path.read_text(encoding="utf-8"))
            alive = [one for one in noted["writers"] if is_alive(one) is not False]
            return {**noted, "writers": alive}
        except (OSError, ValueError, KeyError, TypeError):  # none yet, or cut
            return {"bookmark": "", "dumps": [], "writers": []}

    def _write(self, noted: _Noted) -> None:
        write_private(self._path, json.dumps(noted))
