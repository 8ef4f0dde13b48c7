"""``ingest query --in``: rows of a file, and what only a database answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import ingest as package
from tests.dumps.gclog import large_gclog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "heap.gclog"
    path.write_bytes(large_gclog(2_000, 5_000))
    return str(path)


def test_rows_are_those_of_the_python_interface(
    ingest: Callable[..., Ran], dump: str
) -> None:
    given = {"limit": "3", "min_drop_bytes": "1"}
    options = [part for name in given for part in ("-p", f"{name}={given[name]}")]
    code, out, err = ingest("query", "big-drops", "--in", dump, *options, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    rows = package.open(dump).query("big-drops", **given).to_dicts()
    assert len(rows) == 3
    assert told["rows"] == rows
    assert told["about"]["dump"] == "heap"
    assert told["bound"].startswith("3 rows, the limit")


def test_types_and_addresses_may_be_spelled_as_users_do(
    ingest: Callable[..., Ran], dump: str
) -> None:
    heap = package.open(dump)
    address, name = heap.objects()["address"][0], heap.types()["name"][0]
    asked = ("query", "references-of", "--in", dump, "-f", "csv")
    plain = ingest(*asked, "-p", f"address={address}")
    assert plain[0] == 0
    assert ingest(*asked, "-p", f"address={address[2:].upper()}")[1] == plain[1]
    totals = ("query", "type-totals", "--in", dump, "-p")
    assert ingest(*totals, f"type={name.lower()}") == ingest(*totals, f"type={name}")
    assert ingest(*totals, "type=No.Such")[0] == 10


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["growth", "--in"], 5, "growth is about several dumps: load them"),
        (["fleet-leaks", "--in"], 5, "fleet-leaks is about several dumps"),
        (["big-drops", "-p", "limit=x", "--in"], 5, "limit"),
        (["big-drops", "--dump", "a", "--in"], 2, "cannot be used with --in"),
        (["big-drops", "--part"], 2, "options of reading a dump need --in DUMP"),
    ],
)
def test_what_a_file_cannot_be_asked(
    ingest: Callable[..., Ran], dump: str, arguments: list[str], code: int, said: str
) -> None:
    last = "1" if arguments[-1] == "--part" else dump
    found, out, err = ingest("query", *arguments, last)
    assert (found, out) == (code, "")
    assert said in err


def test_own_cypher_needs_a_database(
    ingest: Callable[..., Ran], dump: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.cypher").write_text("MATCH (n) RETURN n.key LIMIT 1")
    code, _, err = ingest("query", str(tmp_path / "mine.cypher"), "--in", dump)
    assert (code, err.count("\n")) == (5, 1)
    assert "your own Cypher needs the graph of a database" in err
