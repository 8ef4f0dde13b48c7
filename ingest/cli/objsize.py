"""``objsize``: what a type or several objects reach, and what they retain."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnyDump,
    AsJson,
    Connection,
    Format,
    Reading,
    keepers_of,
    notify,
)
from ingest.reports.render import OutputFormat


def objsize(
    *,
    dump: AnyDump,
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="ADDRESS|TYPE...", help="Objects, or all objects of a type."
        ),
    ],
    reading: Reading,
    form: Format = OutputFormat.TABLE,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Show what a type or several objects reach and retain together.

    Reached bytes are what SOS prints as objsize, each object counted once; retained
    bytes are freed if all of the objects are. For one object of a loaded dump there
    is also the query objsize. Exit 10: no such object or type.
    """
    from ingest.dumps import Opener
    from ingest.errors import NotFound
    from ingest.queries.answer import Answer
    from ingest.reports.render import write_answer
    from ingest.what_if.cut_parser import CutParser
    from ingest.what_if.freed import Cut, SetSize, set_size

    with Bars() as progress, keepers_of(connection, progress) as keepers:
        opener = Opener(options=reading.options(), keepers=keepers, progress=progress)
        graph = opener.open(dump).graph
        progress("search", 0, None)
        notices: list[str] = []
        parser, chosen = CutParser(graph, notices.append), Cut.nothing(graph)
        try:
            for subject in subjects:
                objects = chosen.objects | parser.objects(subject)
                chosen = chosen._replace(objects=objects)
        except NotFound as error:
            raise NotFound(f"{dump}: {error}") from None
        size = set_size(graph, chosen.objects)
    for notice in notices:
        notify(notice)
    answer = Answer(SetSize._fields, (tuple(size),))
    write_answer(answer, OutputFormat.JSON if as_json else form)
