"""Redacted Java heap dumps: what is gone, and that nothing else is."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from ingest.errors import DumpError
from tests.dumps.hprof import BYTE, CHAR, INT, LONG, OBJECT, Hprof, program
from tests.unit.redact.heaps import (
    SECRET,
    check_same,
    encodings,
    read_file,
    redacted,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

NUMBER = 0x4142434445464748


def _text(dump: Hprof) -> None:
    dump.numbers(0x20000, BYTE, SECRET.encode())
    dump.obj(0x10200, "java/lang/String", value=0x20000)


def _thread_name(dump: Hprof) -> None:
    _text(dump)
    dump.obj(0x10220, "java/lang/Thread", name=0x10200)


def _instance_of_no_class(dump: Hprof) -> None:
    head = b"\x21" + dump.id(0x20000) + bytes(4) + dump.id(0x9999)
    dump.sub(head + struct.pack(">I", len(SECRET)) + SECRET.encode())


def _constant(dump: Hprof) -> None:
    data = b"\x20" + dump.id(0x2400) + bytes(4) + 6 * dump.id(0) + bytes(4)
    dump.sub(data + struct.pack(">HHBqHH", 1, 5, LONG, NUMBER, 0, 0))


def _unreadable(dump: Hprof) -> None:
    dump.segment()
    dump.sub(b"\x77" + SECRET.encode())


def _folder(dump: Hprof) -> None:
    ids = (1, dump.name("run"), dump.name("()V"), dump.name(f"/home/{SECRET}/P.java"))
    serial = list(dump.classes).index("app/Page") + 1
    frame = b"".join(map(dump.id, ids)) + struct.pack(">Ii", serial, 3)
    dump.records.append(dump.record(4, frame))


PLACES: dict[str, Callable[[Hprof], object]] = {
    "text": _text,
    "thread name": _thread_name,
    "characters": lambda d: d.numbers(0x20000, CHAR, SECRET.encode("utf-16-be")),
    "bytes": lambda d: d.numbers(0x20000, BYTE, SECRET.encode()),
    "number": lambda d: d.obj(0x20000, "java/lang/Long", value=NUMBER),
    "static number": lambda d: d.cls(
        "app/Keys", 0x2300, "java/lang/Object", statics={"key": (LONG, NUMBER)}
    ),
    "constant": _constant,
    "unused field bytes": _instance_of_no_class,
    "name that nothing has": lambda d: d.name(SECRET),
    "long name": lambda d: d.records.append(
        d.record(1, d.id(1) + bytes(1 << 20) + SECRET.encode())
    ),
    "started thread": lambda d: d.records.append(
        d.record(10, bytes(8) + d.id(5) + bytes(4) + 3 * d.id(d.name(SECRET)))
    ),
    "folder of a source file": _folder,
    "record that is not known": lambda d: d.records.append(
        d.record(0x55, SECRET.encode())
    ),
    "rest of a class": lambda d: d.records.append(
        d.record(2, bytes(4) + d.id(0x7777) + bytes(4) + d.id(0) + SECRET.encode())
    ),
    "sub-record that is not known": _unreadable,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("id_size", [4, 8])
def test_a_secret_is_gone_from_each_place(
    place: str, id_size: int, tmp_path: Path
) -> None:
    dump = program(id_size=id_size)
    PLACES[place](dump)
    data = dump.bytes()
    secrets = [*encodings(SECRET), struct.pack(">q", NUMBER)]
    assert any(one in data for one in secrets)

    copy, told = redacted(data, tmp_path)

    assert not any(one in copy for one in secrets)
    assert told.byte_count == len(copy)
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after)
    assert after.is_redacted
    assert not before.is_redacted
    assert after.values is not None
    if place not in ("sub-record that is not known", "record that is not known"):
        assert not told.told.unread_bytes
    assert not told.told.is_cut


def test_names_lengths_and_states_stay(tmp_path: Path) -> None:
    dump = program()
    dump.cls("app/Door", 0x2100, "java/lang/Object", {"closed": 4, "code": INT})
    dump.cls("java/util/ArrayList", 0x2110, "java/lang/Object", {"size": INT})
    dump.obj(0x20000, "app/Door", closed=1, code=77)
    dump.obj(0x20020, "java/util/ArrayList", size=0x31415926)

    copy, _ = redacted(dump.bytes(), tmp_path)

    for stays in (b"app/Chapter", b"notes", b"\x31\x41\x59\x26", b"\1" + bytes(4)):
        assert stays in copy
    assert struct.pack(">i", 77) not in copy


def test_the_values_of_kept_fields_stay(tmp_path: Path) -> None:
    dump = program()
    dump.cls("app/Key", 0x2100, "java/lang/Object", {"data": OBJECT, "id": LONG},
             statics={"one": (INT, 0x21222324), "two": (INT, 0x31323334)})  # fmt: skip
    dump.numbers(0x20000, BYTE, SECRET.encode())
    dump.obj(0x20040, "app/Key", data=0x20000, id=NUMBER)
    keep = ("app.Key.data", "app.*.title", "app.Key.one")

    copy, _ = redacted(dump.bytes(), tmp_path, keep=keep)

    assert SECRET.encode() in copy
    assert "Café".encode("latin-1") in copy  # a text, after the object that has it
    assert b"\x21\x22\x23\x24" in copy
    assert b"\x31\x32\x33\x34" not in copy
    assert struct.pack(">q", NUMBER) not in copy
    values = read_file(tmp_path / "copy").values
    assert values is not None
    assert "Café" in values.pick(values.object_index)


def test_names_of_types_are_hashed_as_in_memory(tmp_path: Path) -> None:
    dump = program()
    dump.cls("[Lapp/Page;", 0x2200, "java/lang/Object")
    dump.array(0x20000, "[Lapp/Page;", [0x10000])
    dump.frame(1, "app/Page", "turn", 3)

    copy, told = redacted(dump.bytes(), tmp_path, types=["app.*"])

    for gone in (b"Chapter", b"app", b"turn", b"title"):
        assert gone not in copy
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    expected = told.rules.redaction.applied(before, told.source_sha256)
    assert sorted(after.type_names) == sorted(expected.type_names)
    assert "java.util.HashMap$Node" in after.type_names


def test_a_cut_dump_is_redacted_as_far_as_it_goes(tmp_path: Path) -> None:
    dump = program()
    _text(dump)
    data = dump.bytes()

    assert redacted(data, tmp_path)[1].told.is_cut is False
    for end in range(len(data) - 250, len(data) - 10, 9):
        copy, told = redacted(data[:end], tmp_path)

        assert told.told.is_cut, end
        assert SECRET.encode()[:8] not in copy
        before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
        check_same(before, after)
        kinds = [one.kind for one in before.irregularities]
        assert [one.kind for one in after.irregularities] == kinds


def test_an_object_that_claims_too_much_stays_without_its_values(
    tmp_path: Path,
) -> None:
    dump = program()
    dump.cls("app/Empty", 0x9999)
    dump.segment()
    _instance_of_no_class(dump)
    dump.segments = dump.segments[-1:]
    data = dump.bytes()
    at = data.rindex(SECRET.encode()) - 4
    data = data[:at] + b"\xff" + data[at + 1 :]

    copy, told = redacted(data, tmp_path)

    assert told.told.is_cut
    assert SECRET.encode() not in copy
    check_same(read_file(tmp_path / "dump"), read_file(tmp_path / "copy"))


def test_nothing_of_a_file_that_is_no_dump_is_written(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    dump, copy = tmp_path / "dump.hprof", tmp_path / "copy.hprof"
    dump.write_bytes(program().bytes()[:19] + b"\0\0\0\x05" + bytes(8))

    assert ingest("redact", str(dump), str(copy))[0] == 3
    assert not copy.exists()
    dump.write_bytes(program().bytes())
    assert ingest("redact", str(dump), str(copy))[0] == 0
    assert ingest("redact", str(dump), str(copy))[0] == 1
    code, _, err = ingest("redact", str(dump), str(copy), "--keep", "name", "--force")
    assert (code, "write TYPE.name, or '*.name'" in " ".join(err.split())) == (2, True)
    assert ingest("redact", "-", str(copy), "--force")[0] == 3
    assert ingest("redact", str(dump), str(copy), "--level", "structure")[0] == 2


def test_names_of_android_keep_their_dots(tmp_path: Path) -> None:
    dump = program("1.0.3")
    dump.cls("app.Late", 0x9000, "java/lang/Object")

    assert b"app.Late" in redacted(dump.bytes(), tmp_path)[0]
    assert b"Late" not in redacted(dump.bytes(), tmp_path, types=["app.*"])[0]


@pytest.mark.parametrize("dumps", [1, 2])
def test_each_heap_of_a_file_has_its_own_classes(dumps: int, tmp_path: Path) -> None:
    one = Hprof("1.0.1")
    one.cls("java/lang/Object", 0x10)
    one.cls("app/A", 0x20, "java/lang/Object", {"x": OBJECT})
    one.obj(0x100, "app/A", x=0x120)
    one.obj(0x120, "app/A")
    other = Hprof("1.0.1")
    other.names, other.classes = one.names, one.classes
    other.cls("java/lang/Object", 0x10)
    other.cls("app/A", 0x20, "java/lang/Object", {"y": LONG})
    other.obj(0x100, "app/A", y=NUMBER)
    rest = other.bytes()[len(other.head()) :]

    copy, _ = redacted(one.bytes() + rest * (dumps - 1), tmp_path)

    assert struct.pack(">q", NUMBER) not in copy
    assert struct.pack(">q", 0x120) in copy


def test_the_id_size_is_checked(tmp_path: Path) -> None:
    with pytest.raises(DumpError):
        redacted(program().bytes()[:25], tmp_path)
