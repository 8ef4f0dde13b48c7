"""``ingest capture``: heap dumps of running programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ingest.capture import TIMEOUT_S
from ingest.cli.bars import Bars
from ingest.cli.examples import examples
from ingest.cli.options import AsJson
from ingest.command_line import command
from ingest.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from ingest.capture.dotnet import DotnetCapture

app = typer.Typer(
    name="capture",
    help="Capture a heap dump of a running program.",
    no_args_is_help=True,
)

Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for a response.")
]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@app.command(epilog=examples("capture dart"))
def dart(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="Address of its VM service, as printed by the program: "
            "http://127.0.0.1:8181/TOKEN=/ or ws://127.0.0.1:8181/TOKEN=/ws.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file; default: the isolate's name with .dartheap.",
        ),
    ] = None,
    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|ID|NUMBER",
            help="An isolate of the group to capture; needed if there are several.",
        ),
    ] = None,
    timeout_s: Timeout = TIMEOUT_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap snapshot of a Dart or Flutter program through its VM service.

    Start it with `dart run --enable-vm-service`; Flutter prints an address in debug
    and profile mode. The snapshot contains all isolates of the group, which share a
    heap. The program stops while the VM writes it, and then continues. Exit 11: no
    snapshot was captured.
    """
    from ingest.api.calls import capture
    from ingest.capture.dart import DartCapture

    with Bars() as progress:
        taken = capture(
            address,
            output,
            runtime="dart",
            isolate=isolate,
            force=force,
            timeout_s=timeout_s,
            progress=progress,
        )
    assert isinstance(taken, DartCapture)
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
    typer.echo(
        f"wrote {printable(str(taken.path))}, {counted(taken.byte_count, 'bytes')}"
    )
    typer.echo(f"isolates  {printable(names)}")
    typer.echo(f"VM        {printable(taken.vm_version)}")
    typer.echo(f"sha256    {taken.sha256}")


Target = Annotated[
    str | None,
    typer.Option(
        metavar="ID|TEXT",
        help="The target by its id, or a part of its title or URL; needed if there are "
        "several.",
    ),
]
SnapshotFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Output file; default: the target's title with .heapsnapshot.",
    ),
]


@app.command(epilog=examples("capture node"))
def node(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|HOST:PORT",
            help="Process id, or the address of its inspector, such as 127.0.0.1:9229.",
        ),
    ],
    output: SnapshotFile = None,
    target: Target = None,
    start_inspector: Annotated[
        bool,
        typer.Option(
            "--start-inspector",
            help="Send a program without an inspector SIGUSR1, which starts one.",
        ),
    ] = False,
    timeout_s: Timeout = TIMEOUT_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap snapshot of a Node.js program through its inspector.

    Start it with node --inspect, or add --start-inspector: until the program ends,
    programs of this machine can then debug it. The program stops while V8 writes its
    heap, for which it needs about as much memory again, and then continues. Exit 11: no
    snapshot was captured.
    """
    _snapshot(
        program,
        output,
        target,
        runtime="node",
        start_inspector=start_inspector,
        timeout_s=timeout_s,
        force=force,
        as_json=as_json,
    )


@app.command(epilog=examples("capture chrome"))
def chrome(
    address: Annotated[
        str,
        typer.Argument(
            metavar="HOST:PORT",
            help="Address of the browser's inspector, such as 127.0.0.1:9222.",
        ),
    ],
    output: SnapshotFile = None,
    target: Target = None,
    timeout_s: Timeout = TIMEOUT_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap snapshot of a page or worker in Chrome, Edge or Electron.

    Start the browser with --remote-debugging-port=9222. The page stops while V8 writes
    its heap, and then continues. Exit 11: no snapshot was captured.
    """
    _snapshot(
        address,
        output,
        target,
        runtime="chrome",
        timeout_s=timeout_s,
        force=force,
        as_json=as_json,
    )


def _snapshot(
    address: str,
    output: Path | None,
    target: str | None,
    *,
    runtime: Literal["chrome", "node"],
    start_inspector: bool = False,
    timeout_s: float,
    force: bool,
    as_json: bool,
) -> None:
    """Capture a snapshot of V8, and print what it is."""
    from ingest.api.calls import capture
    from ingest.capture.javascript import JavaScriptCapture

    with Bars() as progress:
        taken = capture(
            address,
            output,
            runtime=runtime,
            target=target,
            start_inspector=start_inspector,
            force=force,
            timeout_s=timeout_s,
            progress=progress,
        )
    assert isinstance(taken, JavaScriptCapture)
    if as_json:
        facts = {
            "file": str(taken.path),
            "bytes": taken.byte_count,
            "sha256": taken.sha256,
            "inspector": str(taken.place),
            "target": {
                "id": taken.target.id,
                "type": taken.target.kind,
                "title": taken.target.title,
                "url": taken.target.url,
            },
            "seconds": round(taken.duration_s, 3),
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    title = f"{taken.target.title} ({taken.target.kind}, {taken.place})"
    typer.echo(
        f"wrote {printable(str(taken.path))}, {counted(taken.byte_count, 'bytes')}"
    )
    typer.echo(f"target  {printable(title)}")
    typer.echo(f"took    {taken.duration_s:.1f} s")
    typer.echo(f"sha256  {taken.sha256}")
    typer.echo(f"next    {command('load', str(taken.path))}")


@app.command("list", epilog=examples("capture list"))
def list_(as_json: AsJson = False) -> None:
    """List the programs that can be captured: of .NET, the JVM, and CPython.

    Sockets that ended .NET programs left behind are not listed. A JVM is listed with
    its main class or jar, Python with its script. A Dart program prints its address.
    """
    from ingest.capture.dotnet_processes import DOTNET
    from ingest.capture.jvm_processes import JVM
    from ingest.capture.processes import PROC
    from ingest.capture.python_processes import PYTHON

    found = [
        (finder.runtime, entry)
        for finder in (DOTNET, JVM, PYTHON)
        for entry in finder.programs(PROC)
    ]
    if as_json:
        facts = [
            {
                "runtime": runtime,
                "pid": entry.pid,
                "name": entry.name,
                "user": entry.user,
                "can_capture": entry.is_ours,
            }
            | ({"socket": str(entry.socket)} if entry.socket else {})
            for runtime, entry in found
        ]
        typer.echo(json.dumps(facts, indent=2))
        return
    if not found:
        typer.echo("no program that can be captured is running", err=True)
    for runtime, entry in found:
        parts = [f"{runtime:<6}", f"{entry.pid:>7}", entry.name]
        if entry.socket:
            parts.append(str(entry.socket))
        if not entry.is_ours:
            parts.append(f"(belongs to {entry.user}: run this as that user)")
        typer.echo(printable("  ".join(parts)))


@app.command(epilog=examples("capture jvm"))
def jvm(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|NAME",
            help="Process id, or the main class or jar that ingest capture list shows.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file; default: the program's name with .hprof or .hprof.gz.",
        ),
    ] = None,
    all_objects: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Include unreachable objects, and do not collect garbage first.",
        ),
    ] = False,
    gzip: Annotated[
        bool,
        typer.Option(
            "--gzip",
            help="Have the JVM (17 or later) compress the file, which makes the pause "
            "longer; implied by -o FILE.gz.",
        ),
    ] = False,
    timeout_s: Timeout = TIMEOUT_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap dump of a program that runs in a JVM, with no JDK installed.

    The program runs HotSpot (OpenJDK 8 or later) on this machine, also in a container,
    as the same user; it stops while it writes its heap, and then continues. Exit 11:
    no dump was captured.
    """
    from ingest.api.calls import capture
    from ingest.capture.jvm import JvmCapture

    with Bars() as progress:
        taken = capture(
            program,
            output,
            runtime="jvm",
            all_objects=all_objects,
            gzip=gzip,
            force=force,
            timeout_s=timeout_s,
            progress=progress,
        )
    assert isinstance(taken, JvmCapture)
    if as_json:
        facts = {
            "file": str(taken.path),
            "bytes": taken.byte_count,
            "sha256": taken.sha256,
            "pid": taken.pid,
            "name": taken.name,
            "vm_version": taken.vm_version,
            "seconds": round(taken.duration_s, 3),
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(
        f"wrote {printable(str(taken.path))}, {counted(taken.byte_count, 'bytes')}"
    )
    typer.echo(f"program  {printable(taken.name)} ({taken.pid})")
    if taken.vm_version:
        typer.echo(f"VM       {printable(taken.vm_version)}")
    typer.echo(f"took     {taken.duration_s:.1f} s")
    typer.echo(f"sha256   {taken.sha256}")
    typer.echo(f"next     {command('load', str(taken.path))}")


@app.command(epilog=examples("capture python"))
def python(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|NAME",
            help="Process id, or the script that ingest capture list shows.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file; default: the script's name with .hrpy. With .gz at its "
            "end it is compressed.",
        ),
    ] = None,
    mode: Annotated[
        Literal["auto", "fork", "stop"],
        typer.Option(
            help="Whether a copy of the program writes, which needs as much memory, or "
            "the program itself, which stands still meanwhile.",
        ),
    ] = "auto",
    no_values: Annotated[
        bool,
        typer.Option(
            "--no-values",
            help="Leave out what texts and numbers are, but not the names in the "
            "program's code.",
        ),
    ] = False,
    timeout_s: Timeout = TIMEOUT_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap dump of a program that CPython runs; it needs no preparation.

    The program runs CPython 3.8 or later on this machine (Linux, x86-64), also in a
    container, as the same user; it stands still only while it copies itself. Exit 11:
    no dump was captured.
    """
    from ingest.api.calls import capture
    from ingest.capture.cpython import PythonCapture

    with Bars() as progress:
        taken = capture(
            program,
            output,
            runtime="python",
            mode=mode,
            values=not no_values,
            force=force,
            timeout_s=timeout_s,
            progress=progress,
        )
    assert isinstance(taken, PythonCapture)
    if as_json:
        facts = {
            "file": str(taken.path),
            "bytes": taken.byte_count,
            "sha256": taken.sha256,
            "pid": taken.pid,
            "name": taken.name,
            "mode": taken.mode,
            "pause_seconds": round(taken.pause_s, 4),
            "copied_bytes": taken.copied_bytes,
            "seconds": round(taken.duration_s, 3),
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(
        f"wrote {printable(str(taken.path))}, {counted(taken.byte_count, 'bytes')}"
    )
    typer.echo(f"program  {printable(taken.name)} ({taken.pid})")
    copied = f", copied {human_bytes(taken.copied_bytes)}" if taken.copied_bytes else ""
    typer.echo(f"mode     {taken.mode}{copied}")
    typer.echo(f"paused   {taken.pause_s:.3f} s, took {taken.duration_s:.1f} s")
    typer.echo(f"sha256   {taken.sha256}")
    typer.echo(f"next     {command('load', str(taken.path))}")


@app.command(epilog=examples("capture dotnet"))
def dotnet(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|NAME",
            help="Process id, or the name that ingest capture list shows.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file; default: the program's name with .nettrace.",
        ),
    ] = None,
    heap: Annotated[
        bool, typer.Option("--heap", help="Capture one heap dump (default).")
    ] = False,
    track_s: Annotated[
        float | None,
        typer.Option(
            "--track",
            metavar="SECONDS",
            min=0.1,
            help="Capture a dump, all collections within SECONDS with the objects that "
            "move and survive, and a second dump, in one file.",
        ),
    ] = None,
    timeout_s: Timeout = TIMEOUT_S,
    buffer_mib: Annotated[
        int,
        typer.Option(
            "--buffer",
            min=16,
            max=16384,
            metavar="MIB",
            help="Buffer size in the program; increase it if events are lost.",
        ),
    ] = 1024,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture heap dumps of a .NET program through its diagnostics port.

    No .NET tools are needed. The program must run .NET (Core) 3.0 or later on this
    machine, as the same user; it stops while it writes its heap, and then continues.
    Exit 11: no dump was captured.
    """
    from ingest.api.calls import capture
    from ingest.capture.dotnet import DotnetCapture

    if heap and track_s is not None:
        raise typer.BadParameter(
            "--heap captures one dump and --track two; use one of them"
        )
    with Bars() as progress:
        taken = capture(
            program,
            output,
            runtime="dotnet",
            track_s=track_s,
            force=force,
            timeout_s=timeout_s,
            buffer_mib=buffer_mib,
            progress=progress,
        )
    assert isinstance(taken, DotnetCapture)
    _show(taken, as_json=as_json)


def _show(taken: DotnetCapture, *, as_json: bool) -> None:
    """Print what a capture of a .NET program contains."""
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
    typer.echo(
        f"wrote {printable(str(taken.path))}, {counted(taken.byte_count, 'bytes')}"
    )
    typer.echo(f"program      {printable(taken.name)} ({taken.pid})")
    for objects, references in zip(taken.object_counts, taken.edge_counts, strict=True):
        typer.echo(
            f"heap dump    {counted(objects, 'objects')}, "
            f"{counted(references, 'references')}"
        )
    typer.echo(
        f"types        {taken.type_count:,}, {taken.nameless_count:,} without name"
    )
    typer.echo(f"collections  {taken.gc_count:,}, including those of heap dumps")
    typer.echo(f"sha256       {taken.sha256}")
    if len(taken.object_counts) > 1:
        following = command("load", str(taken.path), "--all-dumps")
        typer.echo(f"next         {following}")
