"""What a load finds out before it parses, held against a list of loaded dumps."""

from __future__ import annotations

import io
import json
import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from ingest import readers
from ingest.database import dumps as database_dumps
from ingest.database import indexes, writing
from ingest.database.dumps import DumpInfo
from ingest.errors import DumpError, StoreError
from ingest.heap.identity import Identity
from ingest.heap.read_options import ReadOptions
from ingest.pipeline import Loader
from ingest.tables.mapping import Counts
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.database.connection import Database
    from tests.conftest import Ran

GCLOG = "a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n"


class Store:
    """What is loaded, without a server.

    Attributes:
        loaded: The dumps, the newest first.
        reads: How often a file was parsed.
    """

    def __init__(self) -> None:
        self.loaded: list[DumpInfo] = []
        self.reads = 0

    def write(
        self, _tables: object, _database: object, *, name: str, **about: object
    ) -> writing.Written:
        identity = cast("Identity", about["identity"])
        number = len(self.loaded) + 1
        self.loaded.insert(
            0,
            DumpInfo(
                number, name, "f", "s", identity.sha256, identity.trace, identity.part,
                1, 1, 0, 0, 0, 0, 0, [], 0, 0, False,
                "strongest", "2026-01-02T03:04:05Z",
            ),
        )  # fmt: skip
        return writing.Written(name, number, Counts())


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store()

    def counting(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            made.reads += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(indexes, "ensure_schema", lambda _: None)
    monkeypatch.setattr(database_dumps, "list_dumps", lambda _: list(made.loaded))
    monkeypatch.setattr(writing, "write", made.write)
    monkeypatch.setattr("ingest.dumps.read", counting(readers.read))
    monkeypatch.setattr("ingest.dumps.read_all", counting(readers.read_all))
    return made


@pytest.fixture
def gclog(tmp_path: Path) -> str:
    path = tmp_path / "a.gclog"
    path.write_text(GCLOG, encoding="utf-8")
    return str(path)


@pytest.fixture
def two_dumps(tmp_path: Path) -> str:
    trace = NetTrace()
    for number in (3, 4):
        trace.start(number)
        trace.nodes([(0x100 * i, 16, 0x7000, 0) for i in range(1, number)])
        trace.end(number)
    path = tmp_path / "two.nettrace"
    path.write_bytes(trace.file())
    return str(path)


NOWHERE = cast("Database", None)


def test_a_loaded_file_is_not_parsed_again(store: Store, gclog: str) -> None:
    first, second = (Loader(NOWHERE).load(gclog) for _ in range(2))

    assert (first.loaded, second.loaded, store.reads) == (True, False, 1)
    assert first.name == second.name == "a"
    assert Loader(NOWHERE, replace=True).load(gclog).loaded


def test_a_name_that_is_taken_is_found_before_parsing(
    store: Store, gclog: str, two_dumps: str
) -> None:
    Loader(NOWHERE, name="x").load(gclog)

    with pytest.raises(StoreError, match="another dump is named 'x'"):
        Loader(NOWHERE, name="x").load(two_dumps)
    assert store.reads == 1
    assert not Loader(NOWHERE, name="x").load(gclog).loaded


@pytest.mark.parametrize("text", [GCLOG, GCLOG.replace("10", "20")])
def test_standard_input_under_a_taken_name_is_not_parsed(
    store: Store, gclog: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    Loader(NOWHERE, name="x").load(gclog)
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    if text == GCLOG:
        assert not Loader(NOWHERE, name="x").load("-").loaded
    else:
        with pytest.raises(StoreError, match="another dump is named 'x'"):
            Loader(NOWHERE, name="x").load("-")
    assert store.reads == 1


def test_each_part_is_a_dump_of_its_own(store: Store, two_dumps: str) -> None:
    names = []
    for part in (None, 4, 3, 4):
        receipt = Loader(NOWHERE, options=ReadOptions(part=part)).load(two_dumps)
        names.append((receipt.name, receipt.loaded))

    # Without --part the dump of collection 3 is read.
    assert names == [
        ("two", True), ("two-part4", True), ("two", False), ("two-part4", False),
    ]  # fmt: skip
    assert store.reads == 2
    assert {dump.part for dump in store.loaded} == {3, 4}
    assert len({(dump.sha256, dump.trace) for dump in store.loaded}) == 1


def test_all_parts_are_loaded_from_one_parse(
    store: Store, two_dumps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(two_dumps, "rb") as file:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        found = list(Loader(NOWHERE, name="x").load_all("-"))

    assert [one.name for one in found if not isinstance(one, DumpError)] == [
        "x-part3",
        "x-part4",
    ]
    assert store.reads == 1
    again = list(Loader(NOWHERE).load_all(two_dumps))
    assert [one.loaded for one in again if not isinstance(one, DumpError)] == [
        False
    ] * 2
    assert store.reads == 1


@pytest.fixture
def command(
    store: Store, monkeypatch: pytest.MonkeyPatch, ingest: Callable[..., Ran]
) -> Callable[..., Ran]:
    """The command line, with the dumps of ``store``."""

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[tuple[None, None]]:
        yield None, None

    monkeypatch.setattr("ingest.database.dumps.objects_to_remove", lambda _: 0)
    monkeypatch.setattr("ingest.cli.options.open_store", opened)
    return ingest


@pytest.mark.parametrize("option", [[], ["--all-dumps"]])
def test_receipts_are_printed_when_a_later_dump_fails(
    command: Callable[..., Ran], gclog: str, tmp_path: Path, option: list[str]
) -> None:
    bad = tmp_path / "bad.nettrace"
    bad.write_bytes(b"Nettrace" + b"\xff" * 100)

    code, out, err = command("load", gclog, str(bad), "--json", *option)

    assert code == 3
    assert [receipt["name"] for receipt in json.loads(out)] == ["a"]
    assert err.startswith(f"error: {bad}")
    code, out, _ = command("load", str(bad), "--json", *option)
    assert (code, out) == (3, "")


def test_list_shows_parts(command: Callable[..., Ran], two_dumps: str) -> None:
    command("load", two_dumps, "--all-dumps")

    out = command("list")[1]
    listed = json.loads(command("list", "--json")[1])

    assert "part" in out.splitlines()[0].split()
    assert [(dump["name"], dump["part"]) for dump in listed] == [
        ("two-part4", 4),
        ("two-part3", 3),
    ]


def test_info_lists_parts(command: Callable[..., Ran], two_dumps: str) -> None:
    found = json.loads(command("info", two_dumps, "--json", "--part", "4")[1])
    out = command("info", two_dumps)[1]

    assert found["part"] == 4
    assert found["parts"] == [
        {"number": 3, "objects": 2, "process": None, "is_read": False},
        {"number": 4, "objects": 3, "process": None, "is_read": True},
    ]
    assert "--part 3: 2 objects, this one\n  --part 4: 3 objects\n" in out
