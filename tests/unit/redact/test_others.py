"""Redacted dumps of CPython, Dart and the .NET Compact Framework."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from ingest.errors import DumpError
from ingest.readers.hrpy.chunks import Flag
from tests.dumps import dartheap, gclog, hprof, hrpy, v8
from tests.dumps.hrpy import HrpyHeap, facts, record
from tests.unit.redact.heaps import SECRET, check_same, read_file, redacted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.dumps.dartheap import DartHeap
    from tests.dumps.gclog import Gclog

NUMBER = 0x4142434445464748


def _int(heap: HrpyHeap) -> None:
    values = struct.pack("<q", NUMBER)
    heap.chunk("int", [0x999], flags=Flag.INTEGERS, values=values)


def _float(heap: HrpyHeap) -> None:
    values = struct.pack("<q", NUMBER)
    heap.chunk("float", [0x999], flags=Flag.FLOATS, values=values)


def _frame(**told: object) -> Callable[[HrpyHeap], object]:
    return lambda heap: heap.roots["threads"][0]["frames"][0].update(told)


PYTHON: dict[str, Callable[[HrpyHeap], object]] = {
    "text": lambda h: h.texts([0x999], [SECRET]),
    "text with other characters": lambda h: h.texts([0x999], ["ключ" + SECRET]),
    "int": _int,
    "float": _float,
    "key of a dict": lambda h: h.texts([0x999], [SECRET]).dict(0x990, {0x999: 0x400}),
    "name of a thread": lambda h: h.roots["threads"][0].update(name=SECRET),
    "file of a frame": _frame(file=f"/home/{SECRET}/app.py"),
    "setting": lambda h: h.header.update(argv=[SECRET], platform=3),
    "site": lambda h: h.records.append(facts(b"SITE", [[f"/srv/{SECRET}/x/a.py:3"]])),
    "attribute that looks like a token": lambda h: h.name(SECRET),
    "unknown record": lambda h: h.records.append(record(b"MORE", SECRET.encode())),
    "place in C": lambda h: h.roots.update(held=[[f"/home/{SECRET}/x", 0x400]]),
}


@pytest.mark.parametrize("place", PYTHON)
def test_a_secret_is_gone_from_each_place_in_python(place: str, tmp_path: Path) -> None:
    heap = hrpy.program()
    PYTHON[place](heap)
    secrets = SECRET.encode(), struct.pack("<q", NUMBER)
    data = heap.bytes() + SECRET.encode()

    copy, told = redacted(data, tmp_path)

    assert not any(secret in copy for secret in secrets)
    assert not told.told.is_cut
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "ref_field", "root_field")
    assert after.is_redacted
    assert b"SESSIONS" in copy  # a variable of a module
    assert b"app.Session" in copy


def test_python_keeps_what_is_asked_for(tmp_path: Path) -> None:
    heap = hrpy.program()
    heap.texts([0x999, 0x99A], [SECRET, "other text"])
    heap.chunk("app.Key", [0x9A0], named={"code": [0x999], "more": [0x99A]})

    copy, _ = redacted(heap.bytes(), tmp_path, keep=["app.Key.code"])

    assert SECRET.encode() in copy
    assert b"other text" not in copy


DART: dict[str, Callable[[DartHeap], object]] = {
    "text": lambda h: h.obj("_OneByteString", 8, data=dartheap.latin1(SECRET)),
    "wide text": lambda h: h.obj("_OneByteString", 8, data=dartheap.utf16(SECRET)),
    "number": lambda h: h.obj("_Smi", 8, data=dartheap.number(0x41424344)),
    "double": lambda h: h.obj(
        "_Smi", 8, data=b"\4" + struct.pack("<q", NUMBER)
    ),
    "isolate": lambda h: setattr(h, "name", SECRET),
    "isolate object": lambda h: h.obj("Isolate", 0, data=dartheap.named(SECRET)),
    "script": lambda h: h.obj(
        "Library", 8, data=dartheap.named(f"file:///home/{SECRET}/main.dart")
    ),
    "library of a class": lambda h: h.cls("Late", f"file:///{SECRET}/a.dart"),
    "memory": lambda h: h.outside(9, 8, f"https://{SECRET}/picture"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("place", DART)
def test_a_secret_is_gone_from_each_place_in_dart(place: str, tmp_path: Path) -> None:
    heap = dartheap.program()
    heap.hashes = None
    DART[place](heap)
    data = heap.bytes()
    secrets = [
        SECRET.encode(), SECRET.encode("utf-16-le"), dartheap.uleb(0x41424344),
        struct.pack("<q", NUMBER),
    ]  # fmt: skip
    assert any(secret in data for secret in secrets)

    copy, told = redacted(data, tmp_path)

    assert not any(secret in copy for secret in secrets)
    assert not told.told.is_cut
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "type_names")
    assert after.is_redacted


def test_dart_keeps_static_fields_and_hashes_types(tmp_path: Path) -> None:
    data = dartheap.program().bytes()

    copy, _ = redacted(data, tmp_path)
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after)
    assert before.field_names == after.field_names
    assert b"_cache" in copy

    copy, _ = redacted(data, tmp_path, types=["package:app*"])
    after = read_file(tmp_path / "copy")
    assert b"Cache" not in copy
    assert len(before.type_names) == len(after.type_names)

    copy, _ = redacted(data, tmp_path, keep=["package:app/cache.dart::Cache.name"])
    assert "Café".encode("latin-1") in copy


GCLOG: dict[str, Callable[[Gclog], object]] = {
    "domain": lambda g: g.domain(SECRET, 77).close(SECRET),
    "path in a type": lambda g: g.type(9, f"/home/{SECRET}/x/y"),
    "unknown line": lambda g: g._line(f"x {SECRET}"),
    "object that is none": lambda g: g._line(f"o 1 2 {SECRET}"),
}


@pytest.mark.parametrize("place", GCLOG)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_secret_is_gone_from_each_place_in_a_gclog(
    place: str, end: str, tmp_path: Path
) -> None:
    log = (
        gclog.Gclog().domain("app.exe", 10).type(1, "App.Node").object(16, 1, 24, [32])
    )
    log.root(16).root(32, 4, 0, 1).close("app.exe")
    GCLOG[place](log)
    data = log.bytes(end)

    copy, told = redacted(data, tmp_path)

    assert SECRET.encode() not in copy
    assert b"app.exe" not in copy
    assert not told.told.is_cut
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "type_names")
    assert "App.Node" in after.type_names


WRITERS = {
    "hrpy": hrpy.example(),
    "dart": dartheap.program().bytes(),
    "gclog": b"a 2 app.exe 1f\nt 1 App.Node\no 10 1 20 20\nr 10 1 0\nc app.exe\n",
}  # fmt: skip


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", WRITERS)
def test_a_cut_dump_is_redacted_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    data = WRITERS[name]
    for end in range(len(data) * 3 // 4, len(data) - 9, 7):
        copy, told = redacted(data[:end], tmp_path)

        assert told.told.is_cut, end
        assert len(copy) <= len(data) + 60
        before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
        assert len(before.object_id) == len(after.object_id)


CHANGED = {**WRITERS, "hprof": hprof.program().bytes(), "v8": v8.program().bytes()}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_dump_is_redacted_or_refused(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    for _ in range(25):
        data = bytearray(CHANGED[name])
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(20, len(data))] = rng.randrange(256)
        with suppress(DumpError):
            redacted(bytes(data), tmp_path, keep=["*.name"])
