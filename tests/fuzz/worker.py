"""Reads inputs one after another, and reports each on standard output.

It is a process of its own, so that one that hangs in compiled code can be ended. Each
line is one input: its number, the class of what came of it, milliseconds of processor
time, MiB, and where an unexpected error was raised.
"""

from __future__ import annotations

import importlib
import io
import resource
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError
from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers.source import Source
from ingest.tables.dump_properties import dump_row
from ingest.tables.heap_tables import HeapTables
from ingest.tables.schema import TABLES
from tests.fuzz.changes import changed
from tests.fuzz.others import OTHERS, all_seeds

_MOST_OBJECTS = 5_000
"""Objects of a heap that is analysed."""

VIRTUAL_BYTES = 2 << 30
"""Memory that an input may ask for beyond what is there; most is never used."""


_TABLES_OF = 16
"""Of so many inputs, one has its tables made too, which takes ten times as long."""

_TOLERANT = 2
"""The number of an input that is read without ``--strict``, and has tables."""


def input_of(package: str, seeds: list[bytes], seed: int, number: int) -> bytes:
    """An input; the same arguments give the same one."""
    return changed(seeds, package, Random(f"{seed} {number}"))


def outcome(package: str, data: bytes, number: int) -> tuple[str, str]:
    """What came of an input: ``ok`` or the class of an error, and where it was raised.

    Every eighth is read with ``--strict``, another eighth without folding. Every fourth
    is analysed.
    """
    try:
        if package in OTHERS:
            OTHERS[package][0](data)
            return "ok", ""
        of_package = importlib.import_module(f"ingest.readers.{package}").FORMAT
        fold = Fold.NONE if number % 8 == 1 else Fold.AUTO
        options = ReadOptions(strict=number % 8 == 0, fold=fold)
        source = Source("input", io.BytesIO(data), len(data))
        if not of_package.sniff(source.head):
            return "UnknownFormat", ""
        graph = of_package.reader.read(source, options, silent)
        if graph.object_count <= _MOST_OBJECTS and number % 4 == _TOLERANT:
            metrics = analyse(graph)
            if number % _TABLES_OF == _TOLERANT:
                _make_tables(HeapTables(graph, metrics))
    except DumpError as error:
        return type(error).__name__, ""
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"!{type(error).__name__}", f"{Path(last.filename).name}:{last.lineno}"
    return "ok", ""


def _make_tables(tables: HeapTables) -> None:
    """Make all rows that would be exported or loaded."""
    for table in TABLES:
        tables.part(table.name, 0, tables.rows(table.name))
    dump_row(tables.dump())


def _status_kib(name: str) -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def main(package: str, seed: int, begin: int, end: int) -> None:
    """Read the inputs from ``begin`` to ``end``."""
    seeds = all_seeds(package)
    for data in seeds:
        outcome(package, data, _TOLERANT)  # compiles the kernels
    now = _status_kib("VmSize:") << 10
    resource.setrlimit(resource.RLIMIT_AS, (now + VIRTUAL_BYTES,) * 2)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for number in range(begin, end):
        data = input_of(package, seeds, seed, number)
        _forget_peak()
        before, began = _status_kib("VmHWM:"), time.process_time()
        found, place = outcome(package, data, number)
        spent_ms = (time.process_time() - began) * 1000
        mib = max(0, _status_kib("VmHWM:") - before) / 1024
        sys.stdout.write(f"{number} {found} {spent_ms:.1f} {mib:.1f} {place}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
