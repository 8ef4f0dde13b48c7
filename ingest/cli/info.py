"""``info``: what a dump holds, without a database."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AsJson, DumpFile, Reading


def info(
    *,
    dump: DumpFile,
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
) -> None:
    """Summarize DUMP: objects, types, retained sizes, leak suspects. No database.

    Exit 3: not a readable dump.
    """
    from ingest.dumps import Opener
    from ingest.reports.summary import facts, write_facts
    from ingest.tables.estimates import of_heap, of_types

    options = reading.options()
    with Bars() as progress:
        opened = Opener(options=options, progress=progress).open(dump)
        graph, metrics = opened.graph, opened.metrics
    assert opened.identity is not None
    found = facts(
        graph,
        metrics,
        dump if options.redaction is None else opened.source,
        opened.identity.sha256,
        top,
        own=options.own,
        estimated=of_heap(graph),
        estimated_types={
            name: column.tolist() for name, column in of_types(graph, metrics).items()
        },
    )
    if as_json:
        import json

        typer.echo(json.dumps(found, indent=2))
    else:
        write_facts(found, graph.captions)
