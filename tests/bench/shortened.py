"""What original names of a large mapping cost: a table of ``make bench-limits``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.bench.home import HOME
from tests.bench.java_peers import print_limit
from tests.bench.measure import INGEST, head, run
from tests.dumps.hprof import OBJECT, SYSTEM_CLASS, jdk

if TYPE_CHECKING:
    from pathlib import Path

OBJECTS, CLASSES, MAPPING_BYTES = 1_000_000, 4_000, 50 << 20
MORE_CPU_S = 1.0
"""The limit of what ``--mapping`` adds to the processor time of ``ingest info``."""

_RUNS = 3
_FIRST, _FIRST_CLASS, _APART = 0x100000, 0x80000000, 64


def _short(number: int) -> str:
    text = ""
    while True:
        text = chr(97 + number % 26) + text
        number //= 26
        if not number:
            return text


def _write_mapping(path: Path) -> None:
    """Classes with 6 fields and 14 methods each, as R8 writes them."""
    parts, size = ["# compiler: R8\n"], 0
    while size < MAPPING_BYTES:
        number = len(parts)
        name = f"com.example.feature{number % 97}.module{number % 1009}.Class{number}"
        lines = [f"{name} -> a.{_short(number)}:"]
        lines.append(f'# {{"id":"sourceFile","fileName":"Class{number}.kt"}}')
        lines += [f"    java.util.List field{n} -> {_short(n)}" for n in range(6)]
        for n in range(14):
            range_ = f"{10 * n + 1}:{10 * n + 9}"
            lines += [
                f"    {range_}:void method{n}(java.lang.String):{20 * n}:{20 * n + 8} "
                f"-> {_short(n)}",
                '      # {"id":"com.android.tools.r8.residualsignature",'
                '"signature":"(La/b;)V"}',
            ]
        parts.append("\n".join(lines) + "\n")
        size += len(parts[-1])
    path.write_text("".join(parts), encoding="utf-8")


def _write_dump(path: Path) -> None:
    """A binary tree of instances of so many shortened classes."""
    dump = jdk()
    fields = {"a": OBJECT, "b": OBJECT, "c": OBJECT}
    for row in range(CLASSES):
        class_id = _FIRST_CLASS + _APART * row
        dump.cls(f"a/{_short(5 * row + 1)}", class_id, "java/lang/Object", fields)
    kind = np.dtype([
        ("tag", "u1"), ("id", ">u8"), ("stack", ">u4"), ("class", ">u8"),
        ("size", ">u4"), ("a", ">u8"), ("b", ">u8"), ("c", ">u8"),
    ])  # fmt: skip
    rows, index = np.zeros(OBJECTS, kind), np.arange(OBJECTS)
    rows["tag"], rows["id"], rows["size"] = 0x21, _FIRST + _APART * index, 24
    chosen = np.random.default_rng(1).integers(0, CLASSES, OBJECTS)
    rows["class"] = _FIRST_CLASS + _APART * chosen
    for field, child in (("a", 2 * index + 1), ("b", 2 * index + 2)):
        rows[field] = np.where(child < OBJECTS, _FIRST + _APART * child, 0)
    dump.sub(rows.tobytes())
    dump.root(SYSTEM_CLASS, _FIRST)
    path.write_bytes(dump.bytes())


def one_table() -> None:
    """Measure ``ingest info`` in turns with and without the mapping."""
    head("original names of a mapping of 50 MiB, a million Java objects")
    dump, mapping = HOME / "shortened.hprof", HOME / "shortened.txt"
    HOME.mkdir(exist_ok=True)
    if not dump.exists():
        _write_mapping(mapping)
        _write_dump(dump)
    commands = [[], ["--mapping", str(mapping)]]
    spent = [
        [run(*INGEST, "info", str(dump), *more).cpu_s for more in commands]
        for _ in range(_RUNS)
    ]
    plain, named = (min(times) for times in zip(*spent, strict=True))
    print_limit("ingest info --mapping: processor time more", named - plain,
                MORE_CPU_S, "s")  # fmt: skip


if __name__ == "__main__":
    one_table()
