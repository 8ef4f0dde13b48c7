"""``ingest capture``: heap dumps of running programs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from ingest.capture import EVERY_S, TIMEOUT_S, WHOLE_S, Captured
from ingest.cli.bars import Bars
from ingest.cli.examples import examples
from ingest.cli.options import AsJson, expanded, usage_errors
from ingest.words.command_line import command
from ingest.words.text import counted, human_bytes, human_seconds, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.capture.dotnet import DotnetCapture
    from ingest.capture.javascript import JavaScriptCapture

_Capture = TypeVar("_Capture", bound=Captured)

app = typer.Typer(
    name="capture",
    help="Capture a heap dump of a running program.",
    no_args_is_help=True,
)

Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for a response.")
]
Whole = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds that all may take.")
]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def _output(default: str) -> Any:  # noqa: ANN401  # as typer declares it
    return typer.Option("--output", "-o", help=f"Output file; default: {default}.")


@app.command("list", epilog=examples("capture list"))
def list_(as_json: AsJson = False) -> None:
    """List the programs that can be captured, and their runtimes.

    Sockets that ended .NET programs left behind are not listed. A JVM is listed with
    its main class or jar, Python and Node.js with their script. A Dart program prints
    its address.
    """
    from ingest.capture.capturers import CAPTURERS
    from ingest.capture.processes import figures_of

    found = [
        (one.name, entry, figures_of(entry.pid))
        for one in CAPTURERS.values()
        for entry in one.running()
    ]
    if as_json:
        facts = [
            {
                "runtime": runtime,
                "pid": entry.pid,
                "name": entry.name,
                "user": entry.user,
                "can_capture": entry.is_ours,
                "resident_bytes": known and known.resident_bytes,
                "running_seconds": known and round(known.running_s, 1),
            }
            | ({"socket": str(entry.socket)} if entry.socket else {})
            for runtime, entry, known in found
        ]
        typer.echo(json.dumps(facts, indent=2))
        return
    if not found:
        typer.echo("no program that can be captured is running", err=True)
        return
    pids = {entry.pid for _, entry, _ in found}
    lines: list[tuple[str, ...]] = [
        ("runtime", "pid", "program", "memory", "runs for", "")
    ]
    for runtime, entry, known in found:
        notes, size, age = list[str](), "", ""
        if known is not None:
            size = human_bytes(known.resident_bytes)
            age = human_seconds(known.running_s)
            if known.parent in pids:
                notes.append(f"child of {known.parent}")
        if entry.socket:
            notes.append(str(entry.socket))
        if not entry.is_ours:
            notes.append(f"(belongs to {entry.user}: run this as that user)")
        row = (runtime, str(entry.pid), entry.name, size, age, "  ".join(notes))
        lines.append((*map(printable, row),))
    widest = min(max(len(program) for _, _, program, *_ in lines), _WIDEST_PROGRAM)
    for runtime, pid, program, size, age, note in lines:
        line = f"{runtime:<7}  {pid:>7}  {program:<{widest}}  {size:>8}  {age:>13}"
        typer.echo(f"{line}  {note}".rstrip())
    typer.echo(f"\nnext  {command('capture', 'RUNTIME', 'PID')}")


_WIDEST_PROGRAM = 32


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
        _output("the isolate's name with .dartheap"),
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
    """Capture a snapshot of a Dart or Flutter program by its VM service.

    Start it with `dart run --enable-vm-service`; Flutter prints an address in debug
    and profile mode. The snapshot contains all isolates of the group, which share a
    heap. The program stops while the VM writes it, and then continues. Exit 11: no
    snapshot was captured.
    """
    from ingest.capture.dart import DartCapture

    taken = _captured(
        DartCapture,
        address,
        output,
        runtime="dart",
        isolate=isolate,
        force=force,
        timeout_s=timeout_s,
    )
    facts = {
        "isolates": [
            {"id": entry.id, "name": entry.name, "number": entry.number}
            for entry in taken.isolates
        ],
        "vm_version": taken.vm_version,
        "protocol": taken.protocol,
    }
    names = ", ".join(f"{entry.name} ({entry.id})" for entry in taken.isolates)
    _show(
        taken, facts, [("isolates", names), ("VM", taken.vm_version)], as_json=as_json
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """The options of all commands that take snapshots of V8."""

    output: Annotated[Path | None, _output("the target's title with .heapsnapshot")] = (
        None
    )
    target: Annotated[
        str | None,
        typer.Option(
            metavar="ID|TEXT",
            help="The target by its id, or a part of its title or URL; needed if there "
            "are several.",
        ),
    ] = None
    count: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Take N snapshots over one connection, so that objects keep their "
            "ids; each file has its number behind the name.",
        ),
    ] = 1
    every_s: Annotated[
        float,
        typer.Option("--every", min=0.0, metavar="SECONDS", help="Wait between two."),
    ] = EVERY_S
    numbers: Annotated[
        bool,
        typer.Option(
            "--numbers",
            help="Record the values of numbers, for --values; the file can get twice "
            "as large.",
        ),
    ] = False
    timeout_s: Whole = WHOLE_S
    force: Overwrite = False
    as_json: AsJson = False


@app.command(epilog=examples("capture node"))
@expanded
def node(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PID|HOST:PORT",
            help="Process id, or the address of its inspector, such as 127.0.0.1:9229.",
        ),
    ],
    snapshots: SnapshotOptions,
    *,
    start_inspector: Annotated[
        bool,
        typer.Option(
            "--start-inspector",
            help="Send a program without an inspector SIGUSR1, which starts one.",
        ),
    ] = False,
) -> None:
    """Capture a heap snapshot of a Node.js program by its inspector.

    Start it with node --inspect, or add --start-inspector: until the program ends,
    programs of this machine can then debug it. Deno needs --inspect, too. The program
    stops while V8 writes its heap, which can take 18 times the memory of that; without
    --force, it is refused where so much is not left. Exit 11: no snapshot was captured.
    """
    _snapshot(program, snapshots, start_inspector=start_inspector)


@app.command(epilog=examples("capture chrome"))
@expanded
def chrome(
    address: Annotated[
        str,
        typer.Argument(
            metavar="HOST:PORT",
            help="Address of the browser's inspector, such as 127.0.0.1:9222.",
        ),
    ],
    snapshots: SnapshotOptions,
) -> None:
    """Capture a snapshot of a page or worker in Chrome, Edge, Electron.

    Start the browser with --remote-debugging-port=9222. The page stops while V8 writes
    its heap, and then continues. Exit 11: no snapshot was captured.
    """
    if address.isdigit():
        raise typer.BadParameter(f"name the host too: 127.0.0.1:{address}")
    _snapshot(address, snapshots)


def _snapshot(
    address: str, asked: SnapshotOptions, *, start_inspector: bool = False
) -> None:
    """Capture snapshots of V8, and describe each as soon as it is complete."""
    from ingest.capture.javascript import Series, captures

    taken: list[JavaScriptCapture] = []
    try:
        with Bars() as progress:
            for one in captures(
                address,
                asked.output,
                series=Series(asked.count, asked.every_s, asked.numbers),
                target=asked.target,
                start_inspector=start_inspector,
                force=asked.force,
                timeout_s=asked.timeout_s,
                progress=progress,
            ):
                progress.close()
                taken.append(one)
                if not asked.as_json:
                    _show_snapshot(one)
                    sys.stdout.flush()
        if not asked.as_json:
            following = command("info", *(str(one.path) for one in taken))
            typer.echo(f"next    {printable(following)}")
    finally:
        # Complete snapshots are reported, whatever came after them.
        if asked.as_json and taken:
            facts = [_facts_of_snapshot(one) for one in taken]
            typer.echo(json.dumps(facts if asked.count > 1 else facts[0], indent=2))


def _facts_of_snapshot(taken: JavaScriptCapture) -> dict[str, object]:
    return _facts_of_file(taken) | {
        "inspector": str(taken.place),
        "target": {
            "id": taken.target.id,
            "type": taken.target.kind,
            "title": taken.target.title,
            "url": taken.target.url,
        },
        "seconds": round(taken.duration_s, 3),
    }


def _show_snapshot(taken: JavaScriptCapture) -> None:
    title = f"{taken.target.title} ({taken.target.kind}, {taken.place})"
    _show_rows(taken, [("target", title), ("took", f"{taken.duration_s:.1f} s")])


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
        _output("the program's name with .hprof or .hprof.gz"),
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
    """Capture a heap dump of a program in a JVM, with no JDK installed.

    The program runs HotSpot (OpenJDK 8 or later) on this machine, also in a container,
    as the same user; it stops while it writes its heap, and then continues. Exit 11:
    no dump was captured.
    """
    from ingest.capture.jvm import JvmCapture

    taken = _captured(
        JvmCapture,
        program,
        output,
        runtime="jvm",
        all_objects=all_objects,
        gzip=gzip,
        force=force,
        timeout_s=timeout_s,
    )
    facts = {
        "pid": taken.pid,
        "name": taken.name,
        "vm_version": taken.vm_version,
        "seconds": round(taken.duration_s, 3),
    }
    rows = [("program", f"{taken.name} ({taken.pid})")]
    if taken.vm_version:
        rows.append(("VM", taken.vm_version))
    rows.append(("took", f"{taken.duration_s:.1f} s"))
    _show(taken, facts, rows, as_json=as_json)


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
        _output("the script's name with .hrpy; one that ends in .gz is compressed"),
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
    timeout_s: Whole = WHOLE_S,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Capture a heap dump of a program of CPython, as it runs.

    The program runs CPython 3.8 or later on this machine (Linux; x86-64 or aarch64),
    also in a container, as the same user; it stands still only while it copies itself.
    Exit 11: no dump was captured.
    """
    from ingest.capture.cpython import PythonCapture

    taken = _captured(
        PythonCapture,
        program,
        output,
        runtime="python",
        mode=mode,
        values=not no_values,
        force=force,
        timeout_s=timeout_s,
    )
    facts = {
        "pid": taken.pid,
        "name": taken.name,
        "mode": taken.mode,
        "pause_seconds": round(taken.pause_s, 4),
        "copied_bytes": taken.copied_bytes,
        "seconds": round(taken.duration_s, 3),
        "interpreter_count": taken.interpreter_count,
    }
    copied = f", copied {human_bytes(taken.copied_bytes)}" if taken.copied_bytes else ""
    rows = [
        ("program", f"{taken.name} ({taken.pid})"),
        ("mode", f"{taken.mode}{copied}"),
        ("paused", f"{taken.pause_s:.3f} s, took {taken.duration_s:.1f} s"),
    ]
    if taken.interpreter_count > 1:
        many = f"the main one of {taken.interpreter_count} interpreters"
        rows.append(("heap", f"{many}; the others are not in the dump"))
    _show(taken, facts, rows, as_json=as_json)


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
        _output("the program's name with .nettrace"),
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
    """Capture heap dumps of a .NET program by its diagnostics port.

    No .NET tools are needed. The program must run .NET (Core) 3.0 or later on this
    machine, as the same user; it stops while it writes its heap, and then continues.
    Exit 11: no dump was captured.
    """
    from ingest.capture.dotnet import DotnetCapture

    if heap and track_s is not None:
        raise typer.BadParameter(
            "--heap captures one dump and --track two; use one of them"
        )
    taken = _captured(
        DotnetCapture,
        program,
        output,
        runtime="dotnet",
        track_s=track_s,
        force=force,
        timeout_s=timeout_s,
        buffer_mib=buffer_mib,
    )
    _show_dotnet(taken, as_json=as_json)


def _show_dotnet(taken: DotnetCapture, *, as_json: bool) -> None:
    facts = {
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
    heaps = zip(taken.object_counts, taken.edge_counts, strict=True)
    rows = [
        ("program", f"{taken.name} ({taken.pid})"),
        *(
            (
                "heap dump",
                f"{counted(objects, 'objects')}, {counted(more, 'references')}",
            )
            for objects, more in heaps
        ),
        ("types", f"{taken.type_count:,}, {taken.nameless_count:,} without name"),
        ("collections", f"{taken.gc_count:,}, including those of heap dumps"),
    ]
    _show(taken, facts, rows, as_json=as_json)


def _captured(
    of: type[_Capture],
    program: str,
    output: Path | None,
    **options: Any,  # noqa: ANN401  # those of `ingest.capture`
) -> _Capture:
    """The result of `ingest.capture`, which has the type ``of``."""
    from ingest.api.calls import capture

    with Bars() as progress, usage_errors():
        taken = capture(program, output, progress=progress, **options)
    assert isinstance(taken, of)
    return taken


def _show(
    taken: Captured,
    facts: Mapping[str, object],
    rows: list[tuple[str, str]],
    *,
    as_json: bool,
) -> None:
    """Print a capture: as JSON with ``facts``, or as text with a line for each row."""
    if as_json:
        typer.echo(json.dumps(_facts_of_file(taken) | dict(facts), indent=2))
        return
    _show_rows(taken, rows, [("next", command("info", str(taken.path)))])


def _facts_of_file(taken: Captured) -> dict[str, object]:
    return {
        "file": str(taken.path),
        "bytes": taken.byte_count,
        "sha256": taken.sha256,
    }


def _show_rows(
    taken: Captured,
    rows: list[tuple[str, str]],
    last: list[tuple[str, str]] | None = None,
) -> None:
    """Print what was written, with a line for each row, the digest before the last."""
    rows = [*rows, ("sha256", taken.sha256), *(last or [])]
    size = counted(taken.byte_count, "bytes")
    typer.echo(f"wrote {printable(str(taken.path))}, {size}")
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        typer.echo(f"{label:<{width}}  {printable(text)}")
