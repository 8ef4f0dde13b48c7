"""``ingest capture``: a dump out of a running program."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
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


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the .NET programs that can be captured: those with a diagnostics port.

    Sockets that dead programs left behind are not shown. A Dart program tells its
    address itself, when it starts.
    """
    from ingest.capture.dotnet_processes import targets

    found = targets()
    if as_json:
        facts = [
            {
                "pid": entry.pid,
                "name": entry.name,
                "user": entry.user,
                "socket": str(entry.socket),
                "can_capture": entry.is_ours,
            }
            for entry in found
        ]
        typer.echo(json.dumps(facts, indent=2))
        return
    if not found:
        typer.echo("no .NET program runs here that can be captured", err=True)
    for entry in found:
        note = "" if entry.is_ours else f"  (of {entry.user}: run this as that user)"
        line = f"{entry.pid:>7}  {entry.name}  {entry.socket}{note}"
        typer.echo(printable(line))


@app.command()
def dotnet(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|NAME",
            help="The process, or the name that ingest capture list shows.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write it to this file; else to the program's name with .nettrace.",
        ),
    ] = None,
    heap: Annotated[
        bool, typer.Option("--heap", help="Take one heap dump: the default.")
    ] = False,
    track_s: Annotated[
        float | None,
        typer.Option(
            "--track",
            metavar="SECONDS",
            min=0.1,
            help="Take a dump, all collections of these seconds with what they move "
            "and keep, and a second dump; all in one file.",
        ),
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds to wait for a sign of life."),
    ] = TIMEOUT_S,
    buffer_mib: Annotated[
        int,
        typer.Option(
            "--buffer",
            min=16,
            max=16384,
            metavar="MIB",
            help="What the program may buffer; more where events are lost.",
        ),
    ] = 1024,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take heap dumps of a .NET program over its diagnostics port.

    Nothing of .NET need be installed. The program must run .NET (Core) 3.0 or later
    on this machine, as the same user; it stands still while it writes its heap, and
    goes on. Exit 11: no dump came.
    """
    from ingest.capture.dotnet import capture

    if heap and track_s is not None:
        raise typer.BadParameter("--heap takes one dump and --track two; choose")
    with Bars() as progress:
        taken = capture(
            program,
            output,
            track_s=track_s,
            force=force,
            timeout_s=timeout_s,
            buffer_mib=buffer_mib,
            progress=progress,
        )
    if as_json:
        facts = {
            "file": str(taken.path),
            "bytes": taken.byte_count,
            "sha256": taken.sha256,
            "pid": taken.pid,
            "name": taken.name,
            "dumps": [
                {"objects": objects, "references": references}
                for objects, references in zip(
                    taken.object_counts, taken.edge_counts, strict=True
                )
            ],
            "collections": taken.gc_count,
            "events_with_moves": taken.moved_count,
            "types": taken.type_count,
            "types_without_name": taken.nameless_count,
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(f"wrote {printable(str(taken.path))}, {taken.byte_count:,} bytes")
    typer.echo(f"program      {printable(taken.name)} ({taken.pid})")
    for objects, references in zip(taken.object_counts, taken.edge_counts, strict=True):
        typer.echo(f"heap dump    {objects:,} objects, {references:,} references")
    typer.echo(f"types        {taken.type_count:,}, {taken.nameless_count:,} nameless")
    typer.echo(f"collections  {taken.gc_count:,}, those of heap dumps too")
    typer.echo(f"sha256       {taken.sha256}")
    if len(taken.object_counts) > 1:
        path = quote(printable(str(taken.path)))
        typer.echo(f"next         ingest load {path} --all-dumps")
