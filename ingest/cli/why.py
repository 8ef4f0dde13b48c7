"""``why``: what keeps an object, or the objects of a type, alive."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    Connection,
    DumpName,
    Force,
    HtmlFile,
    InFile,
    Reading,
    asked_dump,
    notify,
    write_file,
)
from ingest.system.files import check_writable


def why(
    *,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS|TYPE",
            help="An address, such as 0x1c15d2, or a type's full or short name.",
        ),
    ],
    paths: Annotated[
        int, typer.Option("--paths", "-k", min=1, max=100, help="Number of root paths.")
    ] = 5,
    dump: DumpName = None,
    in_file: InFile = None,
    html: HtmlFile = None,
    force: Force = False,
    as_json: AsJson = False,
    reading: Reading,
    connection: Connection,
) -> None:
    """Show what keeps an object, or the objects of a type, alive.

    Root paths, the dominator chain, and other referrers; for a type, the root paths
    of its instances merged by type. --html writes a page with the paths drawn.
    With --in, the answer comes from a file, and no server is started.
    Exit 9: no such dump. Exit 10: no such object or type.
    """
    from ingest.api.shown import Why

    if html is not None:
        if as_json:
            raise typer.BadParameter("cannot be used with --json", param_hint="--html")
        check_writable(html, force=force)
    with (
        Bars() as progress,
        asked_dump(dump, in_file, reading, connection, progress) as asked,
    ):
        progress("ask", 0, None)
        found = Why.of(asked, subject, paths, as_page=html is not None)
        page = None if html is None else found.page()
    notify(found.notice)
    if html is not None and page is not None:
        write_file(html, page)
    elif as_json:
        typer.echo(json.dumps(found.facts(), indent=2))
    else:
        typer.echo(str(found), nl=False)
