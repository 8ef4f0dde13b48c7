"""``what-if``: what would be freed if references or objects went."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnyDump,
    AsJson,
    Connection,
    Reading,
    keepers_of,
    notify,
)


def what_if(
    *,
    dump: AnyDump,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--cut",
            metavar="OBJECT|TYPE|A->B",
            help="What to remove: an address, all objects of a type, or the "
            "references from A to B, such as 'Game.Cache.items -> List'. A and B are "
            "addresses, "
            "types with or without a field, or *; A can also be a kind of root, "
            "such as static. In a path A -> B -> C, the last references are cut. May "
            "be repeated.",
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            "--best",
            min=0,
            max=50,
            help="Number of further references to choose, the best first. Default: 3, "
            "or 0 with --cut.",
        ),
    ] = None,
    free: Annotated[
        int,
        typer.Option(
            "--free",
            metavar="PERCENT",
            min=1,
            max=100,
            help="Stop choosing when this share of the reachable heap is freed.",
        ),
    ] = 100,
    top: Annotated[
        int, typer.Option(min=0, max=10000, help="Number of types to list.")
    ] = 10,
    reading: Reading,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Show what would be freed if references or objects were removed.

    The result is exact: a cut frees all that no root reaches any more.
    Without --cut, the references of the program's types that free most are chosen one
    by one.
    Exit 9: no such dump. Exit 10: no such object, type or reference.
    """
    from ingest.api.reading import opened
    from ingest.api.shown import CutAnswer

    with Bars() as progress, keepers_of(connection, progress) as keepers:
        heap = opened(dump, reading.given(), progress, keepers, origins=False)
        found = CutAnswer.of(heap, cut or (), best=best, free=free, top=top)
    for notice in found.notices:
        notify(notice)
    if as_json:
        typer.echo(json.dumps({"dump": dump, **found}, indent=2))
    else:
        typer.echo(str(found), nl=False)
