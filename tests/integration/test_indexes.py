"""When the indexes are made, and that they are all there after a load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database import bolt
from ingest.database.indexes import drop_late_indexes, wait_for
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.errors import StoreError
from ingest.readers.gclog.example import example_gclog
from ingest.tables.schema import (
    constraint_statements,
    first_statements,
    index_statements,
    late_statements,
)
from tests.integration.content import content

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.database.connection import Database

pytestmark = pytest.mark.server

ALL = index_statements().keys() | constraint_statements().keys()


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    return path


def online(database: Database) -> set[str]:
    text = "SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name"
    return {str(row[0]) for row in database.read(text, {})[1]}


@pytest.mark.deep
def test_the_first_large_dump_is_indexed_after_it_is_written(
    empty_database: Database, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Loader(Store(empty_database), name="early").load(str(example))
    assert online(empty_database) >= ALL
    before = content(empty_database, "early")
    empty_database.run("MATCH (n) DETACH DELETE n")

    monkeypatch.setattr(bolt, "_LATE_INDEXES", 0)
    seen: list[set[str]] = []

    def watch(stage: str, done: int, total: int | None) -> None:
        if stage == "write" and done == total:
            seen.append(online(empty_database))

    Loader(Store(empty_database), name="late", progress=watch).load(str(example))

    assert seen
    assert not seen[0] & late_statements().keys()
    assert online(empty_database) >= first_statements().keys()
    empty_database.run("CALL db.awaitIndexes(60)")  # some fill after the receipt
    assert online(empty_database) >= ALL
    assert content(empty_database, "late") == before


@pytest.mark.slow
def test_a_dump_beside_others_is_indexed_while_it_is_written(
    empty_database: Database,
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own dump must not lose its indexes, nor make all others wait for theirs."""
    monkeypatch.setattr(bolt, "_LATE_INDEXES", 0)
    small = tmp_path / "small.gclog"
    small.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    Loader(Store(empty_database)).load(str(small))
    drop_late_indexes(empty_database)
    seen: list[set[str]] = []

    def watch(stage: str, done: int, total: int | None) -> None:
        if stage == "write" and not seen:
            seen.append(online(empty_database))

    Loader(Store(empty_database), progress=watch).load(str(example))

    assert seen[0] >= ALL


@pytest.mark.slow
def test_an_index_that_cannot_be_populated_ends_the_wait(
    empty_database: Database,
) -> None:
    empty_database.run("CREATE (:Long {text: $text})", {"text": "x" * 100_000})
    empty_database.run("CREATE INDEX too_long FOR (n:Long) ON (n.text)")
    try:
        with pytest.raises(StoreError, match="could not populate the index too_long"):
            wait_for(empty_database, ["too_long"])
        wait_for(empty_database, ["there_is_none"])
    finally:
        empty_database.run("DROP INDEX too_long IF EXISTS")
