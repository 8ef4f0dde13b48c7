"""The command line: parse, call, render."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ingest import __version__
from ingest.cli import (
    ask,
    browse,
    capture,
    dumps,
    example,
    export,
    info,
    queries,
    report,
    server,
    timeline,
    why,
)
from ingest.cli.bars import CompilationNotice
from ingest.compiled import compilations_reported
from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="ingest",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Heap dumps into Neo4j: what keeps an object alive, who owns the memory.",
    epilog="Start with: ingest example, then ingest load example.gclog, ingest report.",
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


app.command("load")(dumps.load)
app.command("info")(info.info)
app.command("timeline")(timeline.timeline)
app.command("list")(dumps.list_)
app.command("drop")(dumps.drop)
app.command("export")(export.export)
app.command("queries")(queries.queries)
app.command("query")(ask.query)
app.command("why")(why.why)
app.command("report")(report.report)
app.command("browse")(browse.browse)
app.command("example")(example.example)
app.add_typer(capture.app, name="capture")
app.add_typer(server.app, name="server")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; the only place where errors are printed."""
    # Nothing here multiplies matrices; numpy's threads for that cost 0.1 s to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with compilations_reported(CompilationNotice()):
            app(arguments)
    except IngestError as error:
        from ingest.text import printable

        typer.echo(f"error: {printable(str(error))}", err=True)
        raise SystemExit(error.exit_code) from None
    except MemoryError:
        typer.echo("error: not enough memory for this dump on this machine", err=True)
        raise SystemExit(1) from None
    finally:
        sys.stderr.flush()
