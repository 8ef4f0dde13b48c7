"""The command line: parse, call, render."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from copy import copy
from typing import TYPE_CHECKING, Annotated

import typer

from ingest import __version__
from ingest.arrays import spill
from ingest.arrays.compiled import compilations_reported, frozen_imports
from ingest.cli import (
    ask,
    browse,
    capture,
    check,
    compare,
    dumps,
    example,
    export,
    fleet,
    info,
    mcp,
    objsize,
    queries,
    redact,
    report,
    server,
    timeline,
    watch,
    what_if,
    why,
)
from ingest.cli.bars import CompilationNotice, notice
from ingest.cli.examples import examples
from ingest.cli.options import expanded
from ingest.cli.panels import CommandPanel, PanelCommand, PanelGroup
from ingest.errors import IngestError, NotEnoughMemory
from ingest.system.memory import return_large_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="ingest",
    cls=PanelGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Load heap dumps into Neo4j; find out what keeps objects alive and who owns "
    "the memory.",
    epilog=examples(""),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 1000,  # as wide as the terminal
    },
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heaproots {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


_PANELS: dict[CommandPanel, dict[str, Callable[..., None]]] = {
    CommandPanel.READ: {
        "example": example.example,
        "info": info.info,
        "why": why.why,
        "report": report.report,
        "objsize": objsize.objsize,
        "what-if": what_if.what_if,
        "timeline": timeline.timeline,
        "redact": redact.redact,
        "export": export.export,
        "mcp": mcp.mcp,
    },
    CommandPanel.GRAPH: {
        "load": dumps.load,
        "list": dumps.list_,
        "drop": dumps.drop,
        "query": ask.query,
        "queries": queries.queries,
        "browse": browse.browse,
    },
    CommandPanel.COMPARE: {
        "compare": compare.compare,
        "check": check.check,
    },
    CommandPanel.MANY: {"watch": watch.watch},
}
_COMMANDS = {
    name: command for panel in _PANELS.values() for name, command in panel.items()
}
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(
            _name,
            cls=PanelCommand,
            epilog=examples(_name),
            rich_help_panel=_panel,
        )(expanded(_command))
app.add_typer(server.app, name="server", rich_help_panel=CommandPanel.GRAPH)
app.add_typer(capture.app, name="capture", rich_help_panel=CommandPanel.CAPTURE)
app.add_typer(fleet.app, name="fleet", rich_help_panel=CommandPanel.MANY)


def _program(arguments: Sequence[str]) -> typer.Typer:
    """The program without the commands that are not called, if one is.

    Typer examines the parameters of all at each start, which takes 50 ms.
    """
    program, called = copy(app), arguments[0] if arguments else ""
    if called in _COMMANDS:
        program.registered_groups = []
        program.registered_commands = [
            one for one in app.registered_commands if one.name == called
        ]
    return program


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; the only place where errors are printed."""
    # Nothing here multiplies matrices; starting numpy's threads for that costs 0.1 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return_large_arrays()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, io.StringIO())
    try:
        try:
            with ExitStack() as stack:
                stack.enter_context(compilations_reported(CompilationNotice()))
                stack.enter_context(spill.reported(notice))
                if arguments is None:  # else a program calls it, which goes on
                    stack.enter_context(frozen_imports())
                _program(sys.argv[1:] if arguments is None else arguments)(arguments)
        finally:
            sys.stdout.flush()
    except OSError as error:
        # An error of a file unknown to the command, mostly standard output.
        _discard_output()
        if error.errno != errno.EPIPE:
            where = error.filename or ("output" if error.errno else "")
            _say(": ".join(filter(None, (where, error.strerror or str(error)))))
        raise SystemExit(1) from None
    except IngestError as error:
        _say(str(error), getattr(error, "__notes__", ()))
        raise SystemExit(error.exit_code) from None
    except MemoryError:
        why = spill.why_no_file() or "not enough memory for this dump on this machine"
        _say(why)
        raise SystemExit(NotEnoughMemory.exit_code) from None
    finally:
        sys.stderr.flush()


def _say(message: str, notes: Sequence[str] = ()) -> None:
    from ingest.words.colours import are_wanted, red
    from ingest.words.text import printable

    text = f"{red('error:', sys.stderr)} {printable(message)}"
    with suppress(OSError):
        typer.echo(text, err=True, color=are_wanted(sys.stderr))
        for note in notes:
            typer.echo(f"  {printable(note)}", err=True)


def _discard_output() -> None:
    """Keep Python from trying again at exit to write what cannot be written."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
