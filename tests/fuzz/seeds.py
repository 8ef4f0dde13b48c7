"""What inputs are made of: small dumps of each format, with all that it can have."""

from __future__ import annotations

import struct
from importlib import import_module
from typing import TYPE_CHECKING

from ingest.readers import FORMATS
from ingest.readers.hrpy.chunks import Flag
from tests.dumps import (
    clrprofiler,
    dartheap,
    gcdump,
    gclog,
    hostile,
    hprof,
    hrpy,
    mlpd,
    nettrace,
    perfetto,
    pyheap,
    v8,
)
from tests.dumps.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Callable

_SMALL = 600
"""Bytes of files made to be costly; see `tests.dumps.hostile`."""


def _gclog() -> list[bytes]:
    log = gclog.Gclog().domain("game.exe", 5).type(1, "Game").type(2, "Ärger")
    log.object(16, 1, 32, [32, 0, 48]).object(32, 2, 8, [16]).object(16, 1, 32, [32])
    log.root(16, 4, 0, 1).root(32, 3, 2).root(48, 1).close("game.exe", 9)
    log.domain("other").object(16, 1, 8).root(16, 4, 0, 3).close("elsewhere")
    return [
        log.bytes(),
        log.bytes("\r\n", "utf-16"),
        log.bytes("\r"),
        gclog.large_gclog(30, 60),
    ]


def _clrprofiler() -> list[bytes]:
    several = clrprofiler.program()
    several.begin(1).root(0x100).object(0x100, 1, 8, [0x100]).end(1).counts(1, 2, 3)
    return [
        clrprofiler.program().bytes(),
        several.bytes("\n"),
        clrprofiler.sos_heap().sos_log(),
        clrprofiler.large_log(20, 40),
    ]


def _traverseheap() -> list[bytes]:
    heap = clrprofiler.sos_heap()
    return [
        heap.sos_xml(),
        heap.sos_xml_of_old(),
        heap.sos_xml().replace(b"<types>", b"<types><!-- read by the parser -->"),
        clrprofiler.large_xml(10, 20),
    ]


def _nettrace() -> list[bytes]:
    made = [
        nettrace.program(version=version, pointer=pointer, compressed=compressed).file()
        for version, pointer, compressed in (
            (4, 8, True), (4, 4, False), (5, 8, False), (6, 8, True), (6, 4, True),
        )
    ]  # fmt: skip
    return [*made, nettrace.large_trace(20, 40)]


def _gcdump() -> list[bytes]:
    made = [gcdump.program() for _ in range(4)]
    made[1].version, made[1].least_reader = 7, 4
    made[2].graph_reader, made[2].types[9] = 1, (None, 32, None)
    made[2].deferred = [(0x02000001, "/usr/App.dll", "[]"), (7, "", "")]
    made[3].by_type, made[3].average = [2.0] * 14, (3.0, 2.5)
    return [*(dump.file() for dump in made), gcdump.large_dump(20, 40)]


def _dart() -> list[bytes]:
    weak = dartheap.program()
    weak.cls("_WeakProperty", "dart:core", ["key_", "value_"])
    weak.obj("_WeakProperty", 8, [9, 10])
    large = dartheap.large_snapshot(20, 40, kinds=10)
    return [dartheap.program().bytes(), weak.bytes(), large]


def _hprof() -> list[bytes]:
    made = [hprof.program("1.0.2", 8), hprof.program("1.0.2", 4)]
    made.append(hprof.program("1.0.1", 4))
    made[2].in_one()  # what that version has
    made.append(plugins())
    return [*(dump.bytes() for dump in made), hprof.large_dump(100, 120)]


def _hrpy() -> list[bytes]:
    traced = hrpy.program()
    traced.records.append(hrpy.facts(b"SITE", [["a.py:3", "b.py:9"], ["a.py:7"]]))
    traced.roots["held"] = [["handler of signal 10", 0x800]]
    sites = hrpy.words([1, 0])
    traced.chunk("list", [0x800, 0x810], flags=Flag.SITES, values=sites)
    outside = struct.pack("<2Q", 0, 4096)
    traced.chunk("mmap.mmap", [0x820, 0x830], flags=Flag.OUTSIDE, values=outside)
    return [hrpy.example(), traced.bytes(), hrpy.large_dump(100, 200)]


def _pyheap() -> list[bytes]:
    plain = pyheap.PyHeap(texts=False).obj(0x100, "dict", content=[0x100, 0x200])
    plain.obj(0x200, "Thing", 0x100, 0x200, attributes=[("__dict__", 1), ("a", 0x200)])
    return [pyheap.example(), plain.bytes(), pyheap.large_dump(100, 200)]


def _v8() -> list[bytes]:
    return [
        v8.example(),
        v8.with_many_properties().bytes(),
        v8.julia().bytes(),
        v8.tracked().bytes(),
        v8.bun().bytes(),
        v8.large_snapshot(20, 40),
    ]


def _perfetto() -> list[bytes]:
    plain = perfetto.trace(*perfetto.shop().packets(2))
    return [perfetto.example(), plain, perfetto.large_trace(60, 150)]


def _mlpd() -> list[bytes]:
    forms = [mlpd.log(*mlpd.shop(form, 4), version=form) for form in (17, 15, 14)]
    return [*forms, mlpd.large_log(60, 150)]


def _example(package: str) -> Callable[[], list[bytes]]:
    """What ``example`` of the writer of a format makes."""
    return lambda: [import_module(f"tests.dumps.{package}").example()]


_SEVERAL: dict[str, Callable[[], list[bytes]]] = {
    "gclog": _gclog,
    "clrprofiler": _clrprofiler,
    "traverseheap": _traverseheap,
    "nettrace": _nettrace,
    "gcdump": _gcdump,
    "dart": _dart,
    "hprof": _hprof,
    "hrpy": _hrpy,
    "pyheap": _pyheap,
    "v8": _v8,
    "perfetto": _perfetto,
    "mlpd": _mlpd,
}
"""Of formats with more than one example."""

_PACKAGES = [one.package.rpartition(".")[2] for one in FORMATS]
SEEDS = {name: _SEVERAL.get(name, _example(name)) for name in _PACKAGES}
"""By the package that reads them."""

_HOSTILE = {"log": "clrprofiler", "xml": "traverseheap", "trace": "nettrace"}


def seeds_of(package: str) -> list[bytes]:
    """All seeds of a package, small hostile files among them."""
    found = SEEDS[package]()
    for name, made in hostile.HOSTILE.items():
        prefix = name.partition("-")[0]
        if _HOSTILE.get(prefix, prefix if prefix in SEEDS else "gclog") == package:
            found.append(made(_SMALL)[:20_000])
    return found
