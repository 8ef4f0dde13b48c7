"""``info``: what a dump holds, without a database."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AnyDumps, AsJson, Connection, Reading, keepers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.dumps import Keeper


def info(
    *,
    dumps: AnyDumps,
    reading: Reading,
    top: Annotated[
        int,
        typer.Option(
            min=0,
            max=10000,
            help="Number of types and objects to list, the largest first.",
        ),
    ] = 10,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Summarize a dump: leak suspects, objects, types, retained sizes.

    With several dumps of one program, the last one is summarized, after what grew since
    the first. Only loaded dumps need a database. Exit 3: no such file, or not a
    readable dump. Exit 9: no such loaded dump.
    """
    from ingest.api.shown import summary_of
    from ingest.dumps import is_file

    with Bars() as progress, ExitStack() as stack:
        keepers: Sequence[Keeper] = ()
        if not all(map(is_file, dumps)):
            keepers = stack.enter_context(keepers_of(connection, progress))
        found = summary_of(dumps, reading.given(), progress, keepers, top=top)
    typer.echo(found.to_json() if as_json else str(found), nl=as_json)
