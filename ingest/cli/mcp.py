"""``mcp``: a server for coding agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.options import Connection, Reading

if TYPE_CHECKING:
    from ingest.agents.tools import Tools


def mcp(
    *,
    allow: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow",
            metavar="DIR",
            help="A folder whose dumps may be read. May be repeated. Default: the "
            "current one.",
        ),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            metavar="PORT",
            min=1,
            max=65535,
            help="Listen on 127.0.0.1 instead of standard input. Clients need a token: "
            "INGEST_MCP_TOKEN, or the one that is printed.",
        ),
    ] = None,
    no_start: Annotated[
        bool,
        typer.Option(
            "--no-start", help="Do not start the embedded Neo4j for a question."
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.1,
            help="Maximum time for one question, which is given up then.",
        ),
    ] = 600.0,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Print what an agent should know, and exit."
        ),
    ] = False,
    reading: Reading,
    connection: Connection,
) -> None:
    """Answer a coding agent's questions about heap dumps, over MCP.

    Suspects, root paths, comparisons and the tested queries, in answers of at most
    about 4,000 tokens. It reads dumps in the folders that are allowed, and loaded
    dumps; it writes nothing, and reaches no network but the Neo4j that is named.
    Needs the extra heaproots[mcp].
    """
    from ingest.agents.instructions import TEXT

    if instructions:
        typer.echo(TEXT, nl=False)
        return
    for folder in allow or ():
        if not folder.is_dir():
            raise typer.BadParameter(f"{folder} is no folder", param_hint="--allow")
    from ingest.agents.tools import Tools

    tools = Tools(
        allowed=[folder.resolve() for folder in allow or [Path()]],
        reading=reading.given(),
        connection=(
            connection.uri,
            connection.username,
            connection.password,
            connection.database,
        ),
        can_start=not no_start,
    )
    _serve(tools, http, timeout)


def _serve(tools: Tools, http: int | None, timeout: float) -> None:
    from ingest.errors import IngestError
    from ingest.words.command_line import install_command

    try:
        from ingest.agents.server import serve
    except ImportError as error:
        raise IngestError(
            f"the server needs the package mcp: {install_command('mcp')}"
        ) from error
    serve(tools, http, os.environ.get("INGEST_MCP_TOKEN", ""), timeout)
