"""A style sheet of many rules in a real Dart VM, where there is one.

``HEAPROOTS_DART_VM`` as for ``tests/integration/test_dart_vm.py``: Sass watches a file
and keeps what it parsed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.dart import capture
from tests.bench.answers.cases import Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEADLINE_S = 60.0
_RULES = 12_000
_STATEMENTS = "package:sass/src/ast/sass/statement"


def style_sheet(folder: Path) -> Iterator[tuple[str, Path, list[Truth]]]:
    """Name, dump and right answers."""
    given = os.environ.get("HEAPROOTS_DART_VM")
    if not given:
        print("NOT RUN: no Dart VM (HEAPROOTS_DART_VM)", file=sys.stderr)
        return
    vm, source, made = Path(given), folder / "in.scss", folder / "out.css"
    rules = (f".rule{n} {{ width: {n}px }}\n" for n in range(_RULES))
    source.write_text("".join(rules), encoding="utf-8")
    log = folder / "sass.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(vm / "dart"), "--enable-vm-service=0", "--no-dds",
             "--no-serve-devtools", "--disable-dart-dev", str(vm / "sass.snapshot"),
             "--watch", "--poll", str(source), str(made)],
            stdout=out,
            stderr=out,
        )  # fmt: skip
    path = folder / "style-sheet.dartheap"
    try:
        until = time.monotonic() + _DEADLINE_S
        while "Compiled" not in log.read_text(encoding="utf-8"):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"Sass did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.2)
        address = re.search(r"http://\S+", log.read_text(encoding="utf-8"))
        assert address
        capture(address[0], path, force=True)
    finally:
        process.terminate()
        process.wait()
    rule = f"{_STATEMENTS}/style_rule.dart::StyleRule"
    sheet = f"{_STATEMENTS}/stylesheet.dart::Stylesheet"
    yield "style sheet", path, [Truth(rule, sheet, "children")]
