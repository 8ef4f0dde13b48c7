"""Exports, read back by the programs that they are for."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import duckdb
import pytest

from ingest.database.bulk import count
from ingest.database.connection import Database, connect
from ingest.database.dump_list import list_dumps
from ingest.database.indexes import ensure_needed
from ingest.database.loading import Loader
from ingest.database.questions import ask
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.progress import silent
from ingest.queries.library import library
from ingest.readers.gclog.example import example_gclog
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.server.launch import environment, packaged_java, temporary_flags
from ingest.system.settings import settings
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


@pytest.mark.slow(every=2)
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


_ADMIN = """#!/bin/sh
# neo4j-admin, of the jars of the embedded server
exec {java} {flags} org.neo4j.cli.AdminTool "$@"
"""
_SERVER = """#!{python}
# neo4j start, neo4j stop
import sys
from ingest.server.embedded import EmbeddedServer
from ingest.system.settings import settings
getattr(EmbeddedServer(settings()), sys.argv[1])()
"""
_SHELL = """#!{python}
# cypher-shell, with the file of -f, or standard input
import sys
from pathlib import Path
from ingest.database.connection import connect
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.system.settings import settings
text = Path(sys.argv[2]).read_text() if "-f" in sys.argv else sys.stdin.read()
with connect(target_of(EmbeddedServer(settings()).start())) as database:
    for line in text.splitlines():
        if not line.startswith(":"):  # its own words
            database.run(line.removesuffix(";"))
"""
_DOCKER = """#!/bin/sh
# docker run OPTIONS IMAGE COMMAND, docker start NAME, docker exec -i NAME COMMAND
case $1 in
  run) while [ "${1#neo4j:}" = "$1" ]; do shift; done; shift; exec "$@" ;;
  start) exec neo4j start ;;
  exec) shift 3; exec "$@" ;;
esac
exit 2
"""
_KUBECTL = """#!/bin/bash
# kubectl cp . POD:/tmp/heap, kubectl exec [-i] POD -- COMMAND
case $1 in
  cp) exec cp -r "$2" "$PODS/${3#POD:/tmp/}" ;;
  exec) while [ "$1" != -- ]; do shift; done; shift; exec "${@//\\/tmp/$PODS}" ;;
esac
exit 2
"""


def shims(server: EmbeddedServer, folder: Path) -> None:
    """Programs of the page, which do to the embedded server what it says."""
    folder.mkdir()
    jars = server.jars(silent)
    java, _ = packaged_java(server.version)
    variables = environment(server.home, jars)
    exported = "".join(
        f"export {name}={shlex.quote(variables[name])}\n"
        for name in variables
        if os.environ.get(name) != variables[name]
    )
    flags = " ".join(temporary_flags(server.files.temporary))
    admin = _ADMIN.format(java=java, flags=flags).replace("exec", f"{exported}exec")
    for name, text in {
        "neo4j-admin": admin,
        "neo4j": _SERVER.format(python=sys.executable),
        "cypher-shell": _SHELL.format(python=sys.executable),
        "docker": _DOCKER,
        "kubectl": _KUBECTL,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)


def blocks_of(page: str) -> dict[str, str]:
    """What is pasted from each chapter."""
    chapters = re.split(r"^## (.*)$", page, flags=re.MULTILINE)[1:]
    return {
        title: textwrap.dedent("\n".join(re.findall(r"^    .*$", text, re.MULTILINE)))
        for title, text in zip(chapters[::2], chapters[1::2], strict=True)
    }


@pytest.mark.deep  # bulk loads import the same files in the quick suite
@embedded_only("imports into a store of its own")
@pytest.mark.parametrize("chapter", ["Plain", "Docker", "Kubernetes"])
def test_neo4j_admin_imports_what_bolt_writes(
    chapter: str, example: Path, home: Path, monkeypatch: pytest.MonkeyPatch
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
    shims(server, server.home / "shims")
    (server.home / "pods").mkdir()
    monkeypatch.setenv("PODS", str(server.home / "pods"))
    path = f"{server.home / 'shims'}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)

    # Act: the commands of its README
    page = (folder / "README.md").read_text("utf-8")
    try:
        done = subprocess.run(
            ["bash", "-ec", blocks_of(page)[chapter]],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        with connect(target_of(server.start())) as database:
            imported = content(database, "example")
            assert [dump.name for dump in list_dumps(database)] == ["example"]
            found = count(database)
            assert f"{sum(found.nodes.values()):,} nodes and " in page
            assert f"{sum(found.relationships.values()):,} relationships" in page

            # Assert
            ensure_needed(database)
            Loader(Store(database), via=Via.BOLT, name="bolt", replace=True).load(
                str(example)
            )
            assert content(database, "bolt") == imported
    finally:
        server.stop()
