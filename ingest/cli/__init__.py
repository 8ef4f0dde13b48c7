"""The command line: parse, call, render."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from ingest import __version__
from ingest.arrays import spill
from ingest.arrays.compiled import compilations_reported, frozen_imports
from ingest.cli.bars import CompilationNotice, notice
from ingest.cli.examples import examples
from ingest.cli.options import expanded
from ingest.cli.panels import CommandPanel, PanelCommand, PanelGroup
from ingest.errors import IngestError, NotEnoughMemory
from ingest.system.memory import return_large_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

_PANELS: dict[CommandPanel, dict[str, str]] = {
    CommandPanel.READ: {
        "example": "example.example",
        "info": "info.info",
        "why": "why.why",
        "report": "report.report",
        "objsize": "objsize.objsize",
        "what-if": "what_if.what_if",
        "timeline": "timeline.timeline",
        "redact": "redact.redact",
        "export": "export.export",
        "mcp": "mcp.mcp",
    },
    CommandPanel.GRAPH: {
        "load": "dumps.load",
        "list": "dumps.list_",
        "drop": "dumps.drop",
        "query": "ask.query",
        "queries": "queries.queries",
        "browse": "browse.browse",
        "server": "server.app",
    },
    CommandPanel.COMPARE: {"compare": "compare.compare", "check": "check.check"},
    CommandPanel.CAPTURE: {"capture": "capture.app"},
    CommandPanel.MANY: {"watch": "watch.watch", "fleet": "fleet.app"},
}
"""Module of this package and name there of each command and group of commands."""

COMMANDS = {name: panel for panel, some in _PANELS.items() for name in some}
"""The panel of each command and group."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heaproots {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


def program(called: str = "") -> typer.Typer:
    """The command line: all commands, or only the one that is called, if one is.

    To import all and to examine their parameters takes 80 ms.
    """
    made = typer.Typer(
        name="ingest",
        cls=PanelGroup,
        callback=_options,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Load heap dumps into Neo4j; find out what keeps objects alive and who "
        "owns the memory.",
        epilog=examples(""),
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 1000,  # as wide as the terminal
        },
    )
    for name in [called] if called in COMMANDS else COMMANDS:
        panel = COMMANDS[name]
        module, inner = _PANELS[panel][name].split(".")
        found = getattr(import_module(f"ingest.cli.{module}"), inner)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name, rich_help_panel=panel)
        else:
            made.command(
                name, cls=PanelCommand, epilog=examples(name), rich_help_panel=panel
            )(expanded(found))
    return made


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
                words = sys.argv[1:] if arguments is None else arguments
                program(words[0] if words else "")(arguments)
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
