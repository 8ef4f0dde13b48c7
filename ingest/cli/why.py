"""``why``: what keeps an object, or the objects of a type, alive."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnsweredFrom,
    Connection,
    DumpName,
    InFile,
    Output,
    Reading,
    asked_dump,
    notify,
)


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
    source: AnsweredFrom = None,
    output: Output,
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

    output.check()
    with (
        Bars() as progress,
        asked_dump(
            dump, in_file, reading, connection, progress, source=source
        ) as asked,
    ):
        progress("ask", 0, None)
        found = Why.of(asked, subject, paths, as_page=output.html is not None)
        if output.html is not None:
            text = found.page()
        elif output.as_json:
            text = json.dumps(found.facts(), indent=2) + "\n"
        else:
            text = str(found)
    notify(found.notice)
    output.write(text)
