"""The tool as its user runs it: a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def ingest(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command, however it ends."""
    return subprocess.run(
        [sys.executable, "-m", "ingest", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def output(*arguments: str) -> str:
    """What a command prints that must go well."""
    done = ingest(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def counted(name: str, folder: Path) -> dict[str, int]:
    """Objects and references of a dump, counted in the graph."""
    own = folder / "count.cypher"
    own.write_text(
        "MATCH (o:Object {dump: $dump}) RETURN count(o) AS objects, "
        "sum(COUNT { (o)-[:REFERENCES]->(:Object) }) AS references",
        encoding="utf-8",
    )
    (row,) = json.loads(output("query", str(own), "--dump", name, "--json"))
    return dict(row)
