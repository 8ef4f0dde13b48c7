"""``example``: write the example dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.options import AsJson
from ingest.system.files import output_file


def example(
    path: Annotated[
        Path, typer.Argument(help="Output file; - for standard output.")
    ] = Path("example.gclog"),
    levels: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="How many levels were closed before the dump."
        ),
    ] = 24,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the example dump: a game that leaks its closed levels."""
    from ingest.readers.gclog.example import example_gclog

    text = example_gclog(levels)
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    data = text.replace("\n", "\r\n").encode()
    is_there = path.is_file() and path.read_bytes() == data
    if not is_there:
        with output_file(path, force=force, private=False) as out:
            out.write(data)
    if as_json:
        typer.echo(json.dumps({"path": str(path), "bytes": len(data)}))
    else:
        typer.echo(f"{path} is there already" if is_there else f"wrote {path}")
