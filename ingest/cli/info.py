"""``info``: what a dump holds, without a database."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AnyDumps, AsJson, Connection, Reading, keepers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.dumps import ComparedDump
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
    """Summarize a dump: leak suspects, objects, types, retained sizes. No database.

    Of several dumps of one program, the last one is summarized, and what grew since the
    first comes first. Exit 3: not a readable dump. Exit 9: no such dump.
    """
    from ingest.dumps import Opener, is_file
    from ingest.reports.summary import facts, write_facts
    from ingest.tables.estimates import of_heap, of_types

    options = reading.options()
    compared: list[ComparedDump] = []
    if len(dumps) > 1:
        from ingest.compare.dumps import of_dump
        from ingest.reports.growth import by_growth, growth_facts
    with Bars() as progress, ExitStack() as stack:
        keepers: Sequence[Keeper] = ()
        if not all(map(is_file, dumps)):
            keepers = stack.enter_context(keepers_of(connection, progress))
        opener = Opener(options=options, keepers=keepers, progress=progress)
        for earlier in dumps[:-1]:
            opened = opener.open(earlier)
            compared.append(of_dump(opened))
            opened.close()
        opened = opener.open(dumps[-1])
        graph, metrics = opened.graph, opened.metrics
        if len(dumps) > 1:
            compared.append(of_dump(opened))
    is_named = opened.kept is None and options.redaction is None
    found = facts(
        graph,
        metrics,
        dumps[-1] if is_named else opened.source,
        "" if opened.identity is None else opened.identity.sha256,
        top,
        own=options.own,
        estimated=of_heap(graph),
        estimated_types={
            name: column.tolist() for name, column in of_types(graph, metrics).items()
        },
    )
    found["growth"] = None
    if len(dumps) > 1:
        suspects = cast("list[dict[str, object]]", found["suspects"])
        found["growth"] = growth_facts(compared, options.own)
        found["suspects"] = by_growth(suspects, compared)
    if as_json:
        import json

        typer.echo(json.dumps(found, indent=2))
    else:
        write_facts(found, graph.captions)
