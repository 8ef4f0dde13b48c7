"""``query``: a query of the library, or the user's own Cypher."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnsweredFrom,
    AsJson,
    Connection,
    DumpName,
    Format,
    InFile,
    QueryName,
    Reading,
    asked_dump,
    naming_files,
    notify,
)
from ingest.errors import BadParameter, QueryError
from ingest.reports.render import OutputFormat
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.api.asked import Asked, AskedStore
    from ingest.database.connection import Database
    from ingest.queries.library import Query, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutput:
    """What of a query is printed, and how."""

    form: Format = OutputFormat.TABLE
    as_json: AsJson = False
    show: Annotated[
        bool,
        typer.Option(
            "--show",
            help="Print the query with its parameter values, to save it to a file and "
            "edit it.",
        ),
    ] = False

    @property
    def chosen_form(self) -> OutputFormat:
        """The form, of which ``--json`` is one."""
        return OutputFormat.JSON if self.as_json else self.form


def query(
    *,
    name: QueryName,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter."),
    ] = None,
    dump: DumpName = None,
    in_file: InFile = None,
    source: AnsweredFrom = None,
    answer: QueryOutput,
    reading: Reading,
    connection: Connection,
) -> None:
    """Run a query of the library, or your own Cypher, read-only.

    $dump is the dump's number. With --in, a file answers all queries about one dump,
    and no server is started. Exit 5: the query or a parameter is wrong.
    Exit 9: no such dump.
    """
    from ingest.api.graph import resolved
    from ingest.queries.library import same_in_library

    given = _pairs(param or [])
    chosen = _query(name, given)
    chosen.bind(given, 0)  # check parameters before a server is started
    if in_file is not None or reading != Reading():
        with (
            Bars() as progress,
            asked_dump(
                dump, in_file, reading, connection, progress, source=source
            ) as of_file,
        ):
            _ask_file(of_file, chosen, given, answer)
        return
    with (
        Bars() as progress,
        naming_files(does=same_in_library(chosen) is not None),
        connection.open(progress) as store,
    ):
        asked, notices = None, list[str]()
        if not chosen.is_of_fleet:
            given, asked, notices = resolved(store, chosen, given, dump, source)
        progress.close()
        for notice in notices:
            notify(notice)
        _ask_graph(store.database, asked, chosen, given, answer)


def _ask_graph(
    database: Database,
    asked: AskedStore | None,
    query: Query,
    given: Mapping[str, str],
    wanted: QueryOutput,
) -> None:
    """Ask a database, about the chosen dump or all.

    Raises:
        QueryError: a query of the user's own would write, or is wrong.
    """
    from ingest.database.questions import ask, ask_rows
    from ingest.database.read_only import check_only_reads
    from ingest.queries.library import same_in_library
    from ingest.reports.render import write_answer, write_notes, write_rows

    number = 0 if asked is None else asked.chosen.dump.number
    values = query.bind(given, number)
    if wanted.show:
        typer.echo(query.with_values(values), nl=False)
        return
    is_own = same_in_library(query) is None
    on_notice = _warn if is_own else None
    if is_own:
        check_only_reads(database, query, values)
    if wanted.chosen_form is OutputFormat.JSONL:
        rows = (
            ask_rows(database, query, given, number, on_notice)
            if asked is None
            else asked.rows(query, given, on_notice)
        )
        count = 0
        for row in rows:
            write_rows([row])
            count += 1
        write_notes(*_left_out(database, query, values, count))
        return
    answer = (
        ask(database, query, given, number, on_notice)
        if asked is None
        else asked.ask(query, given, on_notice)
    )
    about = None if asked is None else asked.about_answer(query)
    left_out = _left_out(database, query, values, len(answer.rows))
    write_answer(answer, wanted.chosen_form, about, *left_out)


def _ask_file(
    asked: Asked,
    query: Query,
    given: Mapping[str, str],
    wanted: QueryOutput,
) -> None:
    """Ask a query of the library about a file.

    Raises:
        QueryError: it is not in the library, or only a database can answer it.
    """
    from ingest.api.asked import spelled
    from ingest.queries.bounds import bound, searched
    from ingest.queries.library import find, same_in_library
    from ingest.reports.render import write_answer

    name = same_in_library(query)
    if name is None:
        raise QueryError("your own Cypher needs the graph of a database: load the dump")
    values, notices = spelled(asked, query, given)
    for notice in notices:
        notify(notice)
    if wanted.show:
        typer.echo(asked.source(name, values).cypher, nl=False)
        return
    known = find(name)
    answer, parameters = asked.ask(known, values), known.bind(values, 0)
    count = len(answer.rows)
    why_empty = None if count else searched(known, parameters)
    write_answer(
        answer,
        wanted.chosen_form,
        asked.about,
        why_empty,
        bound(known, parameters, count),
    )


def _left_out(
    database: Database, query: Query, values: Mapping[str, Value], row_count: int
) -> tuple[str | None, str | None]:
    """Why an answer is empty, and what may have cut it."""
    from ingest.database.needs import why_empty
    from ingest.database.questions import has_more
    from ingest.queries.bounds import bound, searched
    from ingest.queries.library import find, same_in_library

    if (name := same_in_library(query)) is None:
        return None, None
    known = find(name)
    if row_count:
        return None, bound(known, values, row_count, has_more(database, known, values))
    dump = values.get("dump")
    number = dump if isinstance(dump, int) else 0
    return why_empty(database, known, number) or searched(known, values), None


def _warn(notice: str) -> None:
    typer.echo(f"warning: {printable(notice)}", err=True)


def _pairs(given: list[str]) -> dict[str, str]:
    values = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadParameter(f"--param takes NAME=VALUE, not {pair!r}")
        values[name] = value
    return values


def _query(name: str, given: dict[str, str]) -> Query:
    """The library's query, or the user's own from a file or standard input."""
    from ingest.queries.library import find, own_query

    if name == "-":
        if sys.stdin is None:
            raise QueryError("standard input is closed")
        return own_query(sys.stdin.read(), "<stdin>", given)
    if not name.endswith(".cypher"):
        return find(name)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise QueryError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{name}: cannot be read (it is not UTF-8)") from error
    return own_query(text, name, given)
