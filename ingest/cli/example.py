"""``example``: write the example dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.options import AsJson
from ingest.errors import IngestError


def example(
    path: Annotated[
        Path, typer.Argument(help="Where to; - writes to standard output.")
    ] = Path("example.gclog"),
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Overwrite the file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the example dump: a game that leaks its closed levels."""
    from ingest.readers.gclog.example import example_gclog

    text = example_gclog()
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\r\n") as out:
            out.write(text)
    except FileExistsError as error:
        raise IngestError(f"{path} is there already; --force overwrites it") from error
    except OSError as error:
        raise IngestError(f"{path} cannot be written ({error.strerror})") from error
    if as_json:
        typer.echo(json.dumps({"path": str(path), "bytes": path.stat().st_size}))
    else:
        typer.echo(f"wrote {path}")
