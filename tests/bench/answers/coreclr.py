"""Leaking programs under a real .NET runtime, where there is one.

``HEAPROOTS_DOTNET`` and ``mcs`` as for ``tests/integration/test_dotnet.py``. A trace
names static fields but not their types, and no fields of objects; a nested type has
its own name alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.dotnet import capture
from tests.bench.answers.cases import Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "programs" / "Leaks.cs"
_LIBRARIES = (
    "System.Private.CoreLib", "System.Runtime", "System.Runtime.Extensions",
    "System.Collections", "System.Collections.Concurrent", "System.Console",
)  # fmt: skip


def _harbor(kind: str, holder: str = "", static: str | None = None) -> Truth:
    return Truth(f"Harbor.{kind}", f"Harbor.{holder}" if holder else None, static)


MODES: dict[str, tuple[int, list[Truth]]] = {
    "static-event": (4_000, [_harbor("Crane", static="Arrived")]),
    "event": (4_000, [_harbor("Crane", "Signal")]),
    "static-list": (12_000, [_harbor("Container", static="yard")]),
    "strings": (15_000, [Truth("System.String", None, "lines")]),
    "closures": (6_000, [_harbor("Cargo", static="later"),
                         Truth("<Later>c__AnonStorey0", None, "later")]),
    "handles": (10_000, [_harbor("Anchor")]),
    "timers": (5_000, [_harbor("Pilot")]),
    "chain": (12_000, [_harbor("Buoy", "Lane")]),
    "queue": (12_000, [_harbor("Request", "Berth")]),
    "map": (9_000, [_harbor("Manifest", "Office")]),
    "buffers": (2_500, [Truth("System.Byte[]", "Harbor.Pool")]),
    "wrapped": (9_000, [_harbor("Manifest", "Office")]),
    "thread-static": (12_000, [_harbor("Voyage")]),
    "sessions": (3_000, [_harbor("Visit", "Gate")]),
    "tree": (9_000, [_harbor("Region", "Atlas")]),
    "healthy": (0, []),
}  # fmt: skip
"""How many objects pile up, and the right answers."""


def programs(folder: Path) -> Iterator[tuple[str, Path, list[Truth]]]:
    """Run each and take its dump: name, dump and right answers."""
    runtime = Path(os.environ.get("HEAPROOTS_DOTNET", ""))
    if not os.environ.get("HEAPROOTS_DOTNET") or not shutil.which("mcs"):
        print("NOT RUN: no .NET (HEAPROOTS_DOTNET), or no mcs", file=sys.stderr)
        return
    assembly = _compiled(runtime, folder)
    for mode, (count, truths) in MODES.items():
        path = folder / f"{mode}.nettrace"
        process = subprocess.Popen(
            [str(runtime / "dotnet"), str(assembly), mode, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline() != "ready\n":
                sys.exit(f"{SOURCE.name} {mode} did not start")
            capture(str(process.pid), path, force=True)
        finally:
            process.communicate("\n", timeout=60)
        yield mode, path, truths


def _compiled(runtime: Path, folder: Path) -> Path:
    (framework,) = (runtime / "shared" / "Microsoft.NETCore.App").iterdir()
    assembly = folder / "Leaks.dll"
    references = [f"-r:{framework / name}.dll" for name in _LIBRARIES]
    subprocess.run(
        ["mcs", "-nostdlib", "-noconfig", f"-out:{assembly}", *references, str(SOURCE)],
        check=True,
    )
    wanted = {"name": "Microsoft.NETCore.App", "version": framework.name}
    (folder / "Leaks.runtimeconfig.json").write_text(
        json.dumps({"runtimeOptions": {"framework": wanted}}), encoding="utf-8"
    )
    return assembly
