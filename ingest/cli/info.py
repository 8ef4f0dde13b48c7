"""``info``: what a dump holds, without a database."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DumpFile,
    FoldObjects,
    Force,
    Layout,
    MaxMemory,
    Own,
    Part,
    Strength,
    Strict,
    memory_limit,
    own_types,
)
from ingest.heap.read_options import Fold, ReadOptions, StrengthPolicy


def info(
    dump: DumpFile,
    strict: Strict = False,
    fold: FoldObjects = Fold.AUTO,
    part: Part = None,
    own: Own = None,
    strength: Strength = StrengthPolicy.STRONGEST,
    layout: Layout = None,
    max_memory: MaxMemory = None,
    force: Force = False,
    top: Annotated[
        int, typer.Option(min=0, max=10000, help="How many of the largest to list.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Summarize DUMP: objects, types, retained sizes, leak suspects. No database.

    Exit 3: not a readable dump.
    """
    from ingest.pipeline import measure
    from ingest.reports.summary import facts, write_facts
    from ingest.tables.estimates import of_heap, of_types

    options = ReadOptions(
        strict, fold, part, own_types(own), strength, layout,
        max_memory_bytes=memory_limit(max_memory), force=force,
    )  # fmt: skip
    with Bars() as progress:
        graph, metrics, sha256 = measure(dump, options, progress, origins=False)
    found = facts(
        graph,
        metrics,
        dump,
        sha256,
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
