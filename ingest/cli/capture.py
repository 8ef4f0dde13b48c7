"""``ingest capture``: a dump out of a running program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ingest.capture import TIMEOUT_S
from ingest.cli.bars import Bars
from ingest.cli.options import AsJson
from ingest.text import printable

app = typer.Typer(
    name="capture",
    help="Take a heap dump of a running program, which goes on unharmed.",
    no_args_is_help=True,
)


@app.command()
def dart(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="Its VM service, as the program printed it: "
            "http://127.0.0.1:8181/TOKEN=/ or ws://127.0.0.1:8181/TOKEN=/ws.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write it to this file; else to the isolate's name with .dartheap.",
        ),
    ] = None,
    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|ID|NUMBER",
            help="An isolate of the group to take; needed where there are several.",
        ),
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds to wait for a sign of life."),
    ] = TIMEOUT_S,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a heap snapshot of a Dart or Flutter program over its VM service.

    Start it with `dart run --enable-vm-service`; Flutter prints an address in debug
    and profile mode. All isolates of one group share a heap and are in the snapshot.
    The program stands still while the VM writes it, and goes on. Exit 11: no
    snapshot came.
    """
    from ingest.capture.dart import capture

    with Bars() as progress:
        taken = capture(
            address,
            output,
            isolate=isolate,
            force=force,
            timeout_s=timeout_s,
            progress=progress,
        )
    if as_json:
        facts = {
            "file": str(taken.path),
            "bytes": taken.byte_count,
            "sha256": taken.sha256,
            "isolates": [
                {"id": entry.id, "name": entry.name, "number": entry.number}
                for entry in taken.isolates
            ],
            "vm_version": taken.vm_version,
            "protocol": taken.protocol,
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    names = ", ".join(f"{entry.name} ({entry.id})" for entry in taken.isolates)
    typer.echo(f"wrote {printable(str(taken.path))}, {taken.byte_count:,} bytes")
    typer.echo(f"isolates  {printable(names)}")
    typer.echo(f"VM        {printable(taken.vm_version)}")
    typer.echo(f"sha256    {taken.sha256}")
