"""``queries``: find a query of the library, or describe one."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.options import AsJson, DumpName, complete_query
from ingest.command_line import command

if TYPE_CHECKING:
    from ingest.queries.library import Query


def queries(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|WORD...]",
            help="Describe the query of this name, or find queries by words.",
            show_default=False,
            autocompletion=complete_query,
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also list queries that the dump cannot answer."),
    ] = False,
    dump: DumpName = None,
    as_json: AsJson = False,
) -> None:
    """List the query library, search in it, or describe one query.

    Queries that the dump cannot answer, such as those about a trace, are left out if
    a server is running; none is started. Exit 5: no query has such a name or word.
    """
    from ingest.queries.library import find, library, search
    from ingest.reports.catalogue import by_group, by_rank, describe

    known = library()
    if words and len(words) == 1 and words[0] in known:
        found = known[words[0]]
        typer.echo(json.dumps(_facts(found), indent=2) if as_json else describe(found))
        return
    chosen = search(known.values(), words) if words else list(known.values())
    if not chosen:
        find(" ".join(words or []))  # which names similar ones in its error
    name, hidden = (None, set()) if every else _unanswerable(dump, chosen)
    shown = [query for query in chosen if query.name not in hidden]
    if as_json:
        typer.echo(json.dumps([_facts(query) for query in shown], indent=2))
        return
    if shown:
        sys.stdout.write((by_rank if words else by_group)(shown) + "\n")
    if hidden:
        typer.echo(
            f"{len(hidden)} more that {name} cannot answer: "
            f"{command('queries', '--all', *(words or ()))}"
        )
    describe_one, run_one = command("queries", "NAME"), command("query", "NAME")
    typer.echo(f"{describe_one} describes a query; {run_one} runs it.")


def _unanswerable(
    dump: str | None, queries: list[Query]
) -> tuple[str | None, set[str]]:
    """Name of the chosen dump, and of the queries that it cannot answer.

    Nothing without a server that runs, unless a dump was named.
    """
    from ingest.database.connection import connect
    from ingest.database.dump_list import find_dump
    from ingest.database.needs import unmet
    from ingest.database.store import running_target
    from ingest.errors import IngestError, UnknownDump
    from ingest.settings import settings
    from ingest.text import printable

    try:
        target = running_target(settings())
        if target is None:
            return None, set()
        with connect(target) as database:
            found = find_dump(database, dump)
            words = sorted({word for query in queries for word in query.needs})
            lacking = unmet(database, words, found.number)
    except UnknownDump:
        if dump is not None:
            raise
        return None, set()
    except IngestError:
        return None, set()
    hidden = {query.name for query in queries if lacking.intersection(query.needs)}
    return printable(found.name), hidden


def _facts(query: Query) -> dict[str, object]:
    return {
        "name": query.name,
        "title": query.title,
        "group": query.group,
        "needs": list(query.needs),
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.type,
                "required": parameter.required,
                "default": parameter.default,
                "meaning": parameter.meaning,
            }
            for parameter in query.parameters
        ],
        "columns": [
            {"name": column.name, "type": column.type, "meaning": column.meaning}
            for column in query.columns
        ],
        "notes": query.notes,
        "cypher": query.text,
    }
