"""A redacted dump: none of its values is in anything that the tool writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.dumps.dartheap import DartHeap, latin1, named, program, utf16

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.database.connection import Database
    from tests.conftest import Ran

pytestmark = pytest.mark.server

SECRET = "hunter2"


def secretive(count: int = 40) -> DartHeap:
    """A heap with the secret in every kind of text; its strings are a suspect."""
    heap = program()
    heap.name = SECRET
    heap.hashes = None
    strings = [
        heap.obj("_OneByteString", 4000, data=latin1(f"{SECRET}-{i % 3}"))
        for i in range(count)
    ]
    heap.cls("_TwoByteString", "dart:core")
    strings.append(heap.obj("_TwoByteString", 4000, data=utf16(f"{SECRET} ☃")))
    owner = heap.obj("Cache", 32, [*strings, 0, 0], named(SECRET))
    heap.outside(owner, 100, SECRET)
    root = heap.objects[0]
    heap.objects[0] = root[:-6] + bytes([6]) + root[-5:] + bytes([owner])
    heap.reference_count += 1
    return heap


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / f"{SECRET}.dartheap"
    path.write_bytes(secretive().bytes())
    return path


def written(folder: Path) -> str:
    """All files of a folder as text; tables decoded."""
    texts = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            texts.append(pl.read_parquet(path).write_ndjson())
        else:
            texts.append(path.read_text(encoding="utf-8"))
    return "\n".join(texts)


@pytest.mark.parametrize("kind", ["parquet", "csv", "neo4j-admin"])
def test_no_value_is_exported(
    ingest: Callable[..., Ran], dump: Path, tmp_path: Path, kind: str
) -> None:
    plain, redacted = tmp_path / "plain", tmp_path / "redacted"

    assert ingest("export", str(dump), str(plain), "--for", kind)[0] == 0
    assert ingest("export", str(dump), str(redacted), "--for", kind, "--redact")[0] == 0

    assert SECRET in written(plain)
    assert SECRET not in written(redacted)


def test_no_value_is_in_what_the_gate_finds(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    dumps = []
    for count in (40, 50, 60):
        dumps.append(tmp_path / f"{SECRET}-{count}.dartheap")
        dumps[-1].write_bytes(secretive(count).bytes())
    names = ["o.sarif", "o.xml", "o.md", "o.json", "o.txt"]
    texts = []
    for options in ([], ["--redact"]):
        folder = tmp_path / f"out{len(options)}"
        folder.mkdir()
        files = [f"--save={folder / name}" for name in names]
        code, out, _ = ingest("check", *map(str, dumps), *files, *options)
        assert code == 20
        texts.append(out + written(folder))

    assert SECRET in texts[0]
    assert SECRET not in texts[1]


@pytest.mark.slow
def test_no_value_is_in_the_graph_or_in_what_is_made_of_it(
    empty_database: Database,
    on_server: Callable[..., Ran],
    dump: Path,
    tmp_path: Path,
) -> None:
    ingest = on_server
    assert ingest("load", str(dump), "--name", "open")[0] == 0

    code, out, _ = ingest("load", str(dump), "--redact", "--json")

    assert code == 0
    assert json.loads(out)[0]["loaded"], "the redacted dump is another dump"
    name = json.loads(out)[0]["name"]
    assert name == "redacted"
    assert SECRET in everything(empty_database, "open")
    assert SECRET not in everything(empty_database, name)
    pages = []
    for page, *command in (
        ("report.html", "report", "--redact"),
        ("why.html", "why", "Cache"),
    ):
        path = tmp_path / page
        assert ingest(*command, "--dump", name, "--html", str(path))[0] == 0
        pages.append(path.read_text(encoding="utf-8"))
    for command in (
        ["report", "--redact"],
        ["report", "--redact", "--json"],
        ["report", "--redact", "-f", "markdown"],
        ["why", "Cache", "--json"],
        ["query", "strings", "--json"],
        ["query", "leak-suspects", "--json"],
        ["browse", "--print", "guide"],
    ):
        code, out, _ = ingest(*command, "--dump", name)
        assert code == 0
        pages.append(out)
    assert SECRET not in "\n".join(pages)
    code, out, err = ingest("report", "--redact", "--dump", "open")
    assert (code, out) == (1, "")
    assert "load its file again with --redact" in err


def everything(database: Database, name: str) -> str:
    """All properties of all nodes and relationships of a dump."""
    _, rows = database.read(
        """
        MATCH (d:Dump {name: $name})
        OPTIONAL MATCH (n) WHERE n.dump = d.number
        OPTIONAL MATCH (n)-[r]->()
        RETURN properties(d), properties(n), properties(r)
        """,
        {"name": name},
    )
    return repr(rows)
