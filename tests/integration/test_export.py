"""Exports, read back by the programs that they are for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pytest

from ingest.database.connection import Database, connect
from ingest.database.dump_list import list_dumps
from ingest.database.importer import started_import
from ingest.database.indexes import ensure_needed
from ingest.database.questions import ask
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.pipeline import Loader
from ingest.queries.library import library
from ingest.readers.gclog.example import example_gclog
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.settings import settings
from tests.conftest import embedded_only, share_jars, start_quickly, take_any_ports
from tests.integration.commands import output
from tests.integration.content import content

pytestmark = pytest.mark.server

INGEST = (sys.executable, "-m", "ingest")
HISTOGRAM = """
SELECT t.name, count(*) AS instance_count, sum(o.shallow_bytes)::BIGINT AS bytes
FROM '{folder}/objects.{kind}' o JOIN '{folder}/types.{kind}' t ON o.type = t.type
GROUP BY t.type, t.name ORDER BY bytes DESC, instance_count DESC, t.name
"""
COLUMNS = ("type", "instance_count", "shallow_bytes")
TREE = """
WITH RECURSIVE below(object) AS (
  SELECT object FROM '{folder}/dominator_tree.parquet' WHERE object = {row}
  UNION ALL
  SELECT d.object FROM '{folder}/dominator_tree.parquet' d
  JOIN below b ON d.dominator = b.object
)
SELECT sum(o.shallow_bytes)::BIGINT, count(*)
FROM below JOIN '{folder}/objects.parquet' o USING (object)
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")
    return path


def export(dump: Path, folder: Path, kind: str) -> dict[str, int]:
    told = output("export", str(dump), str(folder), "--for", kind, "--json")
    return dict(json.loads(told)["bytes"])


def sql(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(text).fetchall()


@pytest.mark.parametrize("kind", ["parquet", "csv-raw"])
def test_duckdb_counts_what_the_query_counts(
    kind: str, example: Path, tmp_path: Path, empty_database: Database
) -> None:
    folder = tmp_path / "tables"
    files = export(example, folder, kind)
    number = Loader(Store(empty_database)).load(str(example)).number

    answer = ask(
        empty_database, library()["type-histogram"], {"limit": "100000"}, number
    )
    found = sql(HISTOGRAM.format(folder=folder, kind=kind.removesuffix("-raw")))

    columns = [answer.columns.index(c) for c in COLUMNS]
    theirs = [tuple(row[i] for i in columns) for row in answer.rows]
    assert sorted(found) == sorted(theirs)
    assert len(found) > 10
    assert set(files) == {path.name for path in folder.iterdir()}


def test_the_dominator_tree_sums_up_to_retained_sizes(
    example: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tables"
    export(example, folder, "parquet")
    largest = sql(
        "SELECT object, retained_bytes, retained_count "
        f"FROM '{folder}/objects.parquet' ORDER BY retained_bytes DESC LIMIT 5"
    )
    for row, retained_bytes, retained_count in largest:
        summed = sql(TREE.format(folder=folder, row=row))
        assert summed == [(retained_bytes, retained_count)]


@pytest.mark.deep  # bulk loads import the same files in the quick suite
@embedded_only("imports into a store of its own")
def test_neo4j_admin_imports_what_bolt_writes(
    example: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Arrange: a server of its own, never started, and the exported files beside it
    share_jars(home)
    take_any_ports(monkeypatch)
    start_quickly(monkeypatch)
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
    server = EmbeddedServer(settings())
    server.files.make()
    folder = server.home / "exported"
    export(example, folder, "neo4j-admin")

    # Act: the command of its README
    with started_import(server, folder, server.files.data) as started:
        started.run(["@import.args"], lambda _: None)
        started.finish()
    try:
        with connect(target_of(server.start())) as database:
            text = (folder / "schema.cypher").read_text("utf-8")
            for line in text.splitlines():  # cypher-shell's own words begin with a :
                if not line.startswith(":"):
                    database.run(line.removesuffix(";"))
            imported = content(database, "example")
            assert [dump.name for dump in list_dumps(database)] == ["example"]

            # Assert
            ensure_needed(database)
            Loader(Store(database), via=Via.BOLT, name="bolt", replace=True).load(
                str(example)
            )
            assert content(database, "bolt") == imported
    finally:
        server.stop()
