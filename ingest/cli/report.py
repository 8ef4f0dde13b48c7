"""``report``: the leak report of a dump."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    Connection,
    DumpName,
    Output,
    about_of,
)
from ingest.errors import DumpError, IngestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.compare.dumps import ComparedDump
    from ingest.database.connection import Database
    from ingest.database.dump_list import DumpInfo
    from ingest.database.store import Store
    from ingest.progress import Progress
    from ingest.queries.answer import Answer
    from ingest.reports.about import About


class ReportFormat(StrEnum):
    """How the report is written."""

    TEXT = "text"
    MARKDOWN = "markdown"


def report(
    *,
    dump: DumpName = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Output format.")
    ] = ReportFormat.TEXT,
    output: Output,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Refuse a dump that was not loaded with --redact, so that no value "
            "is in the report.",
        ),
    ] = False,
    connection: Connection,
) -> None:
    """Write the leak report of a dump.

    Totals, suspects with root paths, histogram, garbage. Each section names its
    query. --html writes a self-contained page with the dominator tree to explore, and
    tables to sort and filter.
    """
    output.check()
    with (
        Bars() as progress,
        connection.open(progress) as store,
    ):
        selection = store.select(dump)
        found, about = selection.dump, about_of(selection)
        compared = _with_earlier(store, found)
        if redact and not found.redacted:
            raise IngestError(
                f"{found.name} was loaded with its values; load its file again with "
                "--redact, and report on that dump"
            )
        if output.html is not None:
            text = _page(store.database, found, about, progress, compared)
        else:
            text = _text(
                store.database,
                found,
                about,
                progress,
                form,
                compared,
                as_json=output.as_json,
            )
    output.write(text)


_IN_COMMON = 0.5
"""Share of the types of the dump with fewer, from which on two are of one program."""


def _with_earlier(store: Store, dump: DumpInfo) -> list[ComparedDump]:
    """The dump of the same program that was loaded before this one, and this one.

    Returns:
        No dump where there is no earlier one.
    """
    from ingest.compare.dumps import of_dump
    from ingest.database.loaded_dumps import LoadedDumps
    from ingest.dumps import Opener

    earlier = [
        one
        for one in store.dumps()
        if (one.number < dump.number and one.format == dump.format)
    ]
    if not earlier:
        return []
    opener = Opener(keepers=[LoadedDumps(lambda: store)])
    before = max(earlier, key=lambda one: one.number)
    try:
        found = [of_dump(opener.open(one.name)) for one in (before, dump)]
    except DumpError:  # of an earlier version, which had no fingerprints
        return []
    first, last = (one.totals.keys() for one in found)
    fewer = min(len(first), len(last))
    return found if fewer and len(first & last) >= _IN_COMMON * fewer else []


def _text(
    database: Database,
    dump: DumpInfo,
    about: About,
    progress: Progress,
    form: ReportFormat,
    compared: Sequence[ComparedDump],
    *,
    as_json: bool,
) -> str:
    from ingest.database.questions import ask_all
    from ingest.reports.growth import by_growth, growth_facts
    from ingest.reports.leaks import as_markdown, as_text
    from ingest.reports.render import markdown_text
    from ingest.reports.report_panels import report_queries
    from ingest.reports.suspects import of_rows

    answers = ask_all(database, report_queries(page=False), dump.number, progress)
    growth = growth_facts(compared) if compared else None
    suspects = of_rows(answers["leak-suspects"].dicts())
    if compared:
        suspects = by_growth(suspects, compared)
    if as_json:
        rows = {"about": about.facts(), "growth": growth, "suspects": suspects} | {
            name: answer.dicts() for name, answer in answers.items()
        }
        return json.dumps(rows, indent=2) + "\n"
    contents = _contents(database, answers, dump.number)
    if form is ReportFormat.TEXT:
        text = as_text(answers, suspects, growth, contents)
        return f"{about.sentence()}\n\n{text}"
    text = as_markdown(answers, suspects, growth, contents)
    return f"{markdown_text(about.sentence())}\n\n{text}"


def _page(
    database: Database,
    dump: DumpInfo,
    about: About,
    progress: Progress,
    compared: Sequence[ComparedDump],
) -> str:
    from ingest.cli.options import source_of
    from ingest.database.questions import ask, ask_all
    from ingest.queries.library import find
    from ingest.reports.page import PATHS, report_page, suspect_paths
    from ingest.reports.report_panels import report_queries

    queries = report_queries(page=True)
    answers = ask_all(database, queries, dump.number, progress)
    asked = suspect_paths(answers["leak-suspects"])
    return report_page(
        answers,
        [ask(database, find(PATHS), given, dump.number) for given in asked],
        {
            name: source_of(database.target, name, given, dump.number)
            for name, given in queries.items()
        },
        [source_of(database.target, PATHS, given, dump.number) for given in asked],
        loaded_at=dump.loaded_at,
        about=about,
        contents=_contents(database, answers, dump.number),
        compared=compared,
    )


def _contents(
    database: Database, answers: Mapping[str, Answer], number: int
) -> dict[str, Answer]:
    """What the objects dominate that have much in small objects, by address."""
    from ingest.database.questions import ask
    from ingest.queries.library import find
    from ingest.reports.contents import CONTENTS, to_open
    from ingest.reports.hierarchy import MOST_TILES

    (dump,) = answers["dump"].dicts()
    total = cast("int", dump["reachable_bytes"])
    wanted = to_open(answers["dominator-treemap"], total, MOST_TILES)
    query = find(CONTENTS)
    return {
        address: ask(database, query, {"address": address}, number)
        for address in wanted
    }
