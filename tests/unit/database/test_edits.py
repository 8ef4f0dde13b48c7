"""Whose writing is over: it must not hide what a user writes later."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from ingest.database.connection import Database
from ingest.database.edits import Unedited
from ingest.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("error", [StoreError, KeyboardInterrupt])
def test_a_database_that_is_lost_while_it_is_written_has_no_writer_left(
    error: type[BaseException], tmp_path: Path
) -> None:
    database = Database.__new__(Database)
    database.server = SimpleNamespace(home=tmp_path)  # type: ignore[assignment]
    database._lock, database._writing = Lock(), 0
    noted = Unedited(tmp_path)
    noted.add([1], "a", is_new=True)

    with (
        mock.patch.object(Database, "_bookmark", side_effect=["a", error("lost")]),
        suppress(KeyboardInterrupt),
        database.writing(),
    ):
        assert noted.has(1, "b"), "the tool itself writes"

    assert not noted.has(1, "b")
    assert not noted.has(1, "a"), "nobody knows what was written"
