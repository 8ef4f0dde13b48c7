"""What a load finds out before it parses, held against a list of loaded dumps."""

from __future__ import annotations

import io
import json
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ingest import readers
from ingest.database.dump_list import DumpInfo
from ingest.database.loading import Loader
from ingest.database.store import Written
from ingest.errors import DumpError, StoreError
from ingest.heap.read_options import ReadOptions
from ingest.tables.mapping import Counts
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.database.claims import Place
    from ingest.database.loading import Receipt
    from ingest.database.store import Store
    from ingest.heap.identity import Identity
    from tests.conftest import Ran

GCLOG = "a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n"


class Loaded:
    """What is loaded, without a server.

    Attributes:
        loaded: The dumps, the newest first.
        reads: How often a file was parsed.
    """

    database = None

    def __init__(self) -> None:
        self.loaded: list[DumpInfo] = []
        self.reads = 0

    def ensure_constraints(self) -> None:
        """There is nothing to make."""

    def prepare(self) -> None:
        raise StoreError("what is prepared in vain is not told")

    def dumps(self) -> list[DumpInfo]:
        return list(self.loaded)

    def write(
        self, _tables: object, place: Place, *, identity: Identity, **_: object
    ) -> Written:
        number, name = len(self.loaded) + 1, place.name
        self.loaded.insert(
            0,
            DumpInfo(
                number, name, "f", "s", identity.sha256, identity.trace, identity.part,
                1, 1, 0, 0, 0, 0, 0, [], 0, 0, False,
                "strongest", "2026-01-02T03:04:05Z",
            ),
        )  # fmt: skip
        return Written(name, number, Counts())

    def loader(self, name: str | None = None, **options: Any) -> Loader:  # noqa: ANN401
        return Loader(cast("Store", self), name=name, **options)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    made = Loaded()

    def counting(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            made.reads += 1
            return function(*arguments)

        return call

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


def test_a_loaded_file_is_not_parsed_again(store: Loaded, gclog: str) -> None:
    first, second = (store.loader().load(gclog) for _ in range(2))

    assert (first.loaded, second.loaded, store.reads) == (True, False, 1)
    assert first.name == second.name == "a"
    assert store.loader(replace=True).load(gclog).loaded


def test_a_name_that_is_taken_is_found_before_parsing(
    store: Loaded, gclog: str, two_dumps: str
) -> None:
    store.loader(name="x").load(gclog)

    with pytest.raises(StoreError, match="another dump is named 'x'"):
        store.loader(name="x").load(two_dumps)
    assert store.reads == 1
    assert not store.loader(name="x").load(gclog).loaded


class Slow(Loaded):
    """A server that answers when a file is being read.

    Attributes:
        stages: What the reading has reported, the first before the answer.
        error: What it answers with.
    """

    def __init__(self, loaded: Loaded) -> None:
        super().__init__()
        self.loaded = loaded.loaded
        self.stages: list[str] = []
        self.error: Exception | None = None
        self._is_read = threading.Event()

    def dumps(self) -> list[DumpInfo]:
        assert self._is_read.wait(60)
        if self.error is not None:
            raise self.error
        return super().dumps()

    def progress(self, stage: str, _done: int, _total: int | None) -> None:
        self.stages.append(stage)
        self._is_read.set()
        for thread in threading.enumerate():
            if thread.name == "present":
                thread.join(60)

    def load(self, dump: str, **options: Any) -> Receipt:  # noqa: ANN401
        return self.loader(progress=self.progress, **options).load(dump)


@pytest.fixture
def slow(store: Loaded, monkeypatch: pytest.MonkeyPatch) -> Slow:
    monkeypatch.setattr("ingest.database.loading._AT_ONCE_S", 0)
    return Slow(store)


def test_a_file_is_read_while_the_server_is_asked(slow: Slow, gclog: str) -> None:
    assert slow.load(gclog).loaded
    assert "analyse" in slow.stages


def test_reading_in_vain_ends(
    store: Loaded, slow: Slow, gclog: str, two_dumps: str
) -> None:
    store.loader(name="x").load(gclog)
    assert not slow.load(gclog).loaded
    assert slow.stages == ["read"]

    with pytest.raises(StoreError, match="another dump is named 'x'"):
        Slow(store).load(two_dumps, name="x")


def test_a_refusal_of_the_server_comes_before_an_error_of_the_file(
    slow: Slow, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.gclog"
    bad.write_text(GCLOG + "o 1 1\n" * 9, encoding="utf-8")
    slow.error = StoreError("no")
    threading.Timer(0.2, slow._is_read.set).start()
    with pytest.raises(StoreError, match="no"):
        slow.load(str(bad))


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_a_callback_raises_comes_out(
    slow: Slow, gclog: str, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def raising(*_: object) -> None:
        if kind is ValueError:  # else nobody waits for the server
            slow._is_read.set()
        raise kind("mine")

    monkeypatch.setattr(slow, "progress", raising)
    with pytest.raises(kind, match="mine"):
        slow.load(gclog)
    assert slow._is_read.is_set() is (kind is ValueError)
    slow._is_read.set()


@pytest.mark.parametrize("text", [GCLOG, GCLOG.replace("10", "20")])
def test_standard_input_under_a_taken_name_is_not_parsed(
    store: Loaded, gclog: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    store.loader(name="x").load(gclog)
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    if text == GCLOG:
        assert not store.loader(name="x").load("-").loaded
    else:
        with pytest.raises(StoreError, match="another dump is named 'x'"):
            store.loader(name="x").load("-")
    assert store.reads == 1


def test_each_part_is_a_dump_of_its_own(store: Loaded, two_dumps: str) -> None:
    names = []
    for part in (None, 4, 3, 4):
        receipt = store.loader(options=ReadOptions(part=part)).load(two_dumps)
        names.append((receipt.name, receipt.loaded))

    # Without --part the dump of collection 3 is read.
    assert names == [
        ("two", True), ("two-part4", True), ("two", False), ("two-part4", False),
    ]  # fmt: skip
    assert store.reads == 2
    assert {dump.part for dump in store.loaded} == {3, 4}
    assert len({(dump.sha256, dump.trace) for dump in store.loaded}) == 1


def test_all_parts_are_loaded_from_one_parse(
    store: Loaded, two_dumps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(two_dumps, "rb") as file:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        found = list(store.loader(name="x").load_all("-"))

    assert [one.name for one in found if not isinstance(one, DumpError)] == [
        "x-part3",
        "x-part4",
    ]
    assert store.reads == 1
    again = list(store.loader().load_all(two_dumps))
    assert [one.loaded for one in again if not isinstance(one, DumpError)] == [
        False
    ] * 2
    assert store.reads == 1


@pytest.fixture
def command(
    store: Loaded, monkeypatch: pytest.MonkeyPatch, ingest: Callable[..., Ran]
) -> Callable[..., Ran]:
    """The command line, with the dumps of ``store``."""

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Loaded]:
        yield store

    monkeypatch.setattr("ingest.database.dump_list.objects_to_remove", lambda _: 0)
    monkeypatch.setattr("ingest.database.store.Store.open", opened)
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
