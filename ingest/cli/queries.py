"""``queries``: find a query of the library, or describe one."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.options import AsJson, DumpName, complete_query
from ingest.words.command_line import command

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
        typer.Option(
            "--all",
            help="Also list queries that the dump cannot answer, and those that only "
            "mention a word.",
        ),
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
    from ingest.words.text import printable

    known = library()
    if words and len(words) == 1 and words[0] in known:
        one = known[words[0]]
        if as_json:
            typer.echo(json.dumps(_facts(one), indent=2))
            return
        from ingest.answers.asking import FUNCTIONS

        typer.echo(describe(one))
        if one.name in FUNCTIONS:
            typer.echo(f"of a file: {command('query', one.name, '--in', 'DUMP')}")
        return
    best, others = search(known.values(), words) if words else ([*known.values()], [])
    if not best:
        best, others = others, []
    if not best:
        find(" ".join(words or []))  # its error names similar ones
    found = best + others
    name, hidden, other = (dump, set(), None) if every else _unanswerable(dump, found)
    answerable = [query for query in found if query.name not in hidden]
    if as_json:
        typer.echo(json.dumps([_facts(query) for query in answerable], indent=2))
        return
    if other is not None:  # it is about Java, and the newest dump is of .NET
        typer.echo(
            f"{printable(str(name))} cannot answer these, {printable(other)} can:\n"
        )
        name = other
    elif not answerable:
        typer.echo(f"{printable(str(name))} cannot answer these, nor any other dump:\n")
    listed = answerable or found
    shown = [query for query in listed if every or query in best] or listed
    sys.stdout.write((by_rank if words else by_group)(shown) + "\n")
    to_list = command("queries", "--all", *(words or ()), dump=dump)
    if mentioning := len(listed) - len(shown):
        typer.echo(f"{mentioning} more that mention it: {to_list}")
    if answerable and hidden:
        which = f"that {printable(str(name))} cannot answer"
        typer.echo(f"{len(hidden)} more {which}: {to_list}")
    typer.echo(f"describe one: {command('queries', shown[0].name)}")
    if answerable:
        typer.echo(f"run one: {_run_one(shown, name)}")


def _run_one(shown: list[Query], dump: str | None) -> str:
    """The command that runs the first of these queries without required values."""
    from ingest.queries.library import DUMP

    wanted = {
        query.name: [
            word
            for parameter in query.parameters
            if parameter.required and parameter.name != DUMP
            for word in ("-p", f"{parameter.name}={parameter.name.upper()}")
        ]
        for query in shown
    }
    name = min(wanted, key=lambda one: len(wanted[one]))
    return command("query", name, *wanted[name], dump=dump)


def _unanswerable(
    dump: str | None, queries: list[Query]
) -> tuple[str | None, set[str], str | None]:
    """Name of the chosen dump, and names of the queries that it cannot answer.

    If the dump can answer none, another loaded dump that can takes its place, and its
    name is the third value. Empty if no server is running.

    Raises:
        UnknownDump: ``dump`` is not loaded.
    """
    from ingest.database.connection import connect
    from ingest.database.dump_list import find_dump, list_dumps
    from ingest.database.needs import unmet
    from ingest.database.store import running_target
    from ingest.errors import IngestError, UnknownDump
    from ingest.system.settings import settings

    try:
        target = running_target(settings())
        if target is None:
            return None, set(), None
        with connect(target) as database:
            words = sorted({word for query in queries for word in query.needs})

            def hidden(number: int) -> set[str]:
                lacking = unmet(database, words, number)
                return {one.name for one in queries if lacking.intersection(one.needs)}

            found = find_dump(database, dump)
            mine = hidden(found.number)
            if len(mine) < len(queries):
                return found.name, mine, None
            for other in list_dumps(database):
                if len(theirs := hidden(other.number)) < len(queries):
                    return found.name, theirs, other.name
            return found.name, mine, None
    except UnknownDump:
        if dump is not None:
            raise
    except IngestError:
        pass
    return None, set(), None


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
