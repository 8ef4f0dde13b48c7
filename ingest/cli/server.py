"""``ingest server``: start, stop and inspect the embedded Neo4j.

Other commands start it when they need it.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.examples import examples
from ingest.cli.options import AsJson
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer

app = typer.Typer(
    name="server",
    help="Start, stop and inspect the embedded Neo4j.",
    no_args_is_help=True,
)

_FOLLOW_S = 0.5
_TAIL_BYTES = 8 << 20


def _server(**overrides: int | None) -> EmbeddedServer:
    from dataclasses import replace

    from ingest.server.embedded import EmbeddedServer
    from ingest.system.settings import settings

    given = {name: value for name, value in overrides.items() if value is not None}
    return EmbeddedServer(replace(settings(), **given))  # type: ignore[arg-type]


@app.command(epilog=examples("server start"))
def start(
    heap_mib: Annotated[
        int | None,
        typer.Option(min=1, help="Java heap in MiB; default: fits the machine."),
    ] = None,
    page_cache_mib: Annotated[
        int | None,
        typer.Option(min=1, help="Page cache in MiB; default: fits the machine."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start the embedded Neo4j, and print its addresses."""
    from ingest.cli.bars import Bars

    server = _server(heap_mib=heap_mib, page_cache_mib=page_cache_mib)
    with Bars() as progress:
        endpoint = server.start(progress)
    if as_json:
        typer.echo(json.dumps({"uri": endpoint.bolt_uri, "http": endpoint.http_url}))
        return
    typer.echo(f"Bolt     {endpoint.bolt_uri}")
    typer.echo(f"Browser  {endpoint.http_url}/browser/")


@app.command(epilog=examples("server stop"))
def stop(as_json: AsJson = False) -> None:
    """Stop the embedded Neo4j; its database is preserved."""
    from ingest.cli.bars import Bars

    server = _server()
    with Bars() as progress:
        stopped = server.stop(progress, at_once=_has_failed(server))
    if as_json:
        typer.echo(json.dumps({"stopped": stopped}))
    else:
        typer.echo("stopped" if stopped else "was not running")


def _has_failed(server: EmbeddedServer) -> bool:
    """Whether it has met a critical error, such as a full disk."""
    from ingest.database.connection import connect
    from ingest.errors import NeedsRestart, StoreError
    from ingest.server.embedded import target_of

    endpoint = server.running()
    if endpoint is None:
        return False
    try:
        with connect(target_of(endpoint)):
            return False
    except NeedsRestart:
        return True
    except StoreError:  # no reason not to ask it to end
        return False


@app.command(epilog=examples("server status"))
def status(
    as_json: AsJson = False,
    show_password: Annotated[
        bool, typer.Option("--show-password", help="Show the password.")
    ] = False,
) -> None:
    """Show whether the embedded Neo4j runs, where, and how large it is."""
    from ingest.words.text import human_bytes

    server = _server()
    facts = _facts(server, show_password=show_password)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    data_bytes, log_bytes = facts.pop("data_bytes"), facts.pop("transaction_log_bytes")
    facts["running"] = "yes" if facts["running"] else "no"
    facts["data"] += (
        f" ({human_bytes(data_bytes)}, of which transaction logs: "
        f"{human_bytes(log_bytes)})"
    )
    for name, value in facts.items():
        if value is not None:
            typer.echo(f"{name:<9} {value}")


@app.command(epilog=examples("server logs"))
def logs(
    lines: Annotated[
        int, typer.Option("-n", "--lines", min=0, help="Number of lines to show.")
    ] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", help="Follow the log until Ctrl-C.")
    ] = False,
) -> None:
    """Print the log of the embedded Neo4j since its last start."""
    for line in _log_lines(_server().log_path, lines, follow=follow):
        typer.echo(line)


def _facts(server: EmbeddedServer, *, show_password: bool) -> dict[str, Any]:
    import psutil

    endpoint = server.running()
    data_bytes, log_bytes = server.files.sizes()
    facts: dict[str, Any] = {
        "running": endpoint is not None,
        "version": server.version if endpoint is None else endpoint.version,
        "uri": endpoint and endpoint.bolt_uri,
        "http": endpoint and endpoint.http_url,
        "pid": endpoint and endpoint.pid,
        "uptime_s": None,
        "data": str(server.files.data),
        "data_bytes": data_bytes,
        "transaction_log_bytes": log_bytes,
        "log": str(server.log_path),
    }
    if endpoint is not None:
        try:
            begun = psutil.Process(endpoint.pid).create_time()
            facts["uptime_s"] = max(0, round(time.time() - begun))
        except psutil.Error:  # ended in the meantime
            facts["running"] = False
        if show_password:
            facts["username"] = endpoint.username
            facts["password"] = endpoint.password
    return facts


def _log_lines(path: Path, count: int, *, follow: bool) -> Iterator[str]:
    from ingest.errors import EmbeddedError

    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise EmbeddedError(
            f"{path}: no log yet: start the server: {command('server', 'start')}"
        ) from None
    with path.open("rb") as log:
        log.seek(max(0, size - _TAIL_BYTES))
        tail = log.read(size).decode("utf-8", "replace").splitlines()
        yield from tail[len(tail) - min(count, len(tail)) :]
        rest = b""
        while follow:
            if path.stat().st_size < log.tell():  # truncated by a new start
                log.seek(0)
                rest = b""
            *complete, rest = (rest + log.read()).split(b"\n")
            for line in complete:
                yield line.decode("utf-8", "replace")
            time.sleep(_FOLLOW_S)
