"""``browse``: Neo4j Browser on the loaded dumps."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DatabaseName,
    DumpName,
    Password,
    Uri,
    Username,
    open_database,
)
from ingest.errors import StoreError


def browse(
    query: Annotated[
        str | None, typer.Option("--query", help="A query of the library to type in.")
    ] = None,
    dump: DumpName = None,
    launch: Annotated[
        bool, typer.Option("--open", help="Open it in the web browser.")
    ] = False,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Print the address of Neo4j Browser, with the credentials to log in."""
    from ingest.queries.library import find
    from ingest.store.connection import browser_link
    from ingest.store.dumps import find_dump

    chosen = find(query) if query else None
    with (
        Bars() as progress,
        open_database(uri, username, password, database, progress) as opened,
    ):
        target = opened.target
        cypher = ""
        if chosen is not None:
            number = find_dump(opened, dump).number
            cypher = chosen.with_defaults(number)
    if target.browser_url is None:
        raise StoreError(
            f"only the server at {target.uri} knows where its Browser is; "
            "usually http://HOST:7474/browser/"
        )
    link = browser_link(target, cypher)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "browser": link,
                    "uri": target.uri,
                    "username": target.username,
                    "password": target.password,
                },
                indent=2,
            )
        )
    else:
        typer.echo(f"Browser   {link}")
        typer.echo(f"Connect   {target.uri}")
        typer.echo(f"User      {target.username}")
        typer.echo(f"Password  {target.password}")
    if launch:
        typer.launch(link)
