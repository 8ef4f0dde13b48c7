"""``fleet``: thousands of dumps, and one question over all of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli import fleet_store
from ingest.cli.bars import Bars
from ingest.cli.examples import examples
from ingest.cli.fleet_store import FleetDir
from ingest.cli.options import AsJson, Format, Output, Reading, expanded
from ingest.cli.panels import PanelCommand
from ingest.cli.report import ReportFormat
from ingest.fleet.engines import Engine
from ingest.reports.render import OutputFormat
from ingest.words.command_line import command
from ingest.words.text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.fleet.add import Added, Workers

app = typer.Typer(
    name="fleet",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Collect many dumps as Parquet, and query all of them.",
)

_ALL = "all"
_LISTED = 20
"""The most files of a kind that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The options that say what dumps are labelled with."""

    label: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Read labels from the end of each address, such as "
            "'{service}/{version}/{host}-{time}.hprof.gz'.",
        ),
    ] = None
    manifest: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="List of dumps: the column 'source' has their addresses, other "
            "columns their labels.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options that say where dumps are read."""

    engine: Annotated[
        Engine,
        typer.Option(help="Run in processes of this machine, or on a Spark cluster."),
    ] = Engine.LOCAL
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of the cluster, such as spark://HOST:7077. "
            "Default: the cluster of spark-submit.",
        ),
    ] = None
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of processes. Default: one per processor."
        ),
    ] = None
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory-mib",
            min=1,
            help="Memory for all processes together. Default: 3/4 of the free memory.",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.1, help="Maximum time for one dump."
        ),
    ] = None

    def workers(self) -> Workers:
        """What reads the dumps."""
        from ingest.fleet.add import Workers

        return Workers(
            engine=self.engine,
            processes=self.processes or _processors(),
            memory_bytes=_free_bytes() if self.memory is None else self.memory << 20,
            timeout_s=self.timeout,
            master=self.master,
        )


@app.command("add", cls=PanelCommand, epilog=examples("fleet add"))
@expanded
def add(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, folders, patterns, addresses such as s3://BUCKET/PREFIX, or "
            "@FILE, a list of these.",
        ),
    ],
    folder: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="The fleet's folder.")
    ],
    labels: Labels,
    machines: WorkerOptions,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Also write this large dataset, such as objects; with all, dumps "
            "can be loaded into Neo4j without their files. May be repeated.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try unreadable files again.")
    ] = False,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Add dumps to a fleet. Dumps that it already has are skipped.

    A file is added once, whichever dump of it is read. With --redact the addresses of
    files stay: they are what the fleet knows its dumps by.
    Exit 3: no dump could be read. Files that cannot be read are listed, and are rows of
    the dataset dumps with their errors.
    """
    from ingest.errors import DumpError
    from ingest.fleet.add import add as run
    from ingest.fleet.datasets import HEAVY
    from ingest.fleet.sources import LabelPattern, find_sources

    heavy = sorted(dataset.name for dataset in HEAVY)
    if tables and _ALL in tables:
        tables = heavy
    for name in tables or ():
        if name not in heavy:
            raise typer.BadParameter(
                f"there is no large dataset {name!r}; choose from {', '.join(heavy)}, "
                f"or {_ALL}",
                param_hint="--table",
            )
    options = reading.options()
    if reading.max_memory is None:  # each worker has a limit of its own
        options = replace(options, max_memory_bytes=None)
    pattern = None if labels.label is None else LabelPattern(labels.label)
    found = find_sources(sources, pattern, labels.manifest)
    with Bars() as progress:
        result = run(
            found,
            folder,
            options,
            machines.workers(),
            heavy=tables or (),
            retry_failed=retry_failed,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(asdict(result), indent=2))
    else:
        bare = [source.address for source in found if not source.labels]
        _write_result(result, len(found), bare if pattern else [])
        typer.echo(f"next: {command('fleet', 'report', str(folder))}")
    if result.failures and not (result.added_count or result.skipped_count):
        raise DumpError("no dump could be read")


def _write_result(result: Added, source_count: int, bare: Sequence[str]) -> None:
    """Say what was added, and what was not.

    Args:
        result: What `add` found.
        source_count: How many files it was given.
        bare: Addresses of those that the pattern of labels does not match.
    """
    typer.echo(
        f"{counted(result.added_count, 'dumps')} added "
        f"({counted(result.object_count, 'objects')}), "
        f"{result.skipped_count:,} there already, "
        f"{len(result.failures):,} not readable"
    )
    if bare:
        typer.echo(
            f"  {len(bare):,} of {source_count:,} files have no labels, for --label "
            f"does not match them, such as {printable(bare[0])}"
        )
    if result.differing:
        first = printable(result.differing[0])
        typer.echo(
            f"  {len(result.differing):,} of those there already were read with "
            f"other options, and stay as they are: {first}"
            + (" ..." if len(result.differing) > 1 else "")
        )
    _write_some(result.failures)
    if result.incomplete:
        count = len(result.incomplete)
        counts = (
            "is incomplete and counts" if count == 1 else ("are incomplete and count")
        )
        typer.echo(f"{count:,} of those added {counts} in no share:")
        _write_some(result.incomplete)


def _write_some(files: Sequence[tuple[str, str]]) -> None:
    """Print a line for each file, up to a limit."""
    for address, why in files[:_LISTED]:
        typer.echo(printable(f"  {address}: {why}"))
    if len(files) > _LISTED:
        typer.echo(f"  and {len(files) - _LISTED:,} more")


def _processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _free_bytes() -> int:
    from ingest.system.memory import available_bytes

    return available_bytes() * 3 // 4


@app.command("label", epilog=examples("fleet label"))
def label(
    folder: FleetDir,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="Read labels from addresses, as with fleet add."
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="List of labels, as with fleet add."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Correct labels of a fleet's dumps without reading the dumps again.

    Labels that the pattern and the list do not have stay as they are.
    """
    from ingest.fleet.labels import relabel
    from ingest.fleet.sources import LabelPattern
    from ingest.fleet.workplace import FleetFolder

    if label is None and manifest is None:
        raise typer.BadParameter(
            "name a pattern with --label, or a list with --manifest"
        )
    pattern = None if label is None else LabelPattern(label)
    result = relabel(FleetFolder(folder), pattern, manifest)
    if as_json:
        typer.echo(json.dumps(result._asdict(), indent=2))
    else:
        typer.echo(
            f"{result.changed_count:,} of {result.dump_count:,} dumps have other labels"
        )


@app.command("report", cls=PanelCommand, epilog=examples("fleet report"))
@expanded
def report(
    *,
    folder: FleetDir,
    program: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this program's dumps.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Leaks since this version count as new. Default: the newest version "
            "of each program.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Maximum number of rows in each table.")
    ] = 10,
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Output format.")
    ] = ReportFormat.TEXT,
    output: Output,
) -> None:
    """Report on a fleet: its leaks, and what is new, or grows.

    --html writes a self-contained page.
    """
    from ingest.fleet.questions import REPORT, Fleet, question
    from ingest.reports.fleet import (
        FleetReport,
        fleet_facts,
        fleet_markdown,
        fleet_text,
    )
    from ingest.reports.fleet_page import fleet_page

    output.check()
    fleet = Fleet(folder, program)
    with Bars() as progress:
        answers, cut = [], set()
        for number, name in enumerate(REPORT):
            progress("questions", number, len(REPORT))
            asked = question(name)
            answer = fleet.ask(asked, limit=limit + 1, since=since)
            if len(answer.rows) > limit:
                answer = replace(answer, rows=answer.rows[:limit])
                cut.add(name)
            answers.append((asked, answer))
        progress("questions", len(REPORT), len(REPORT))
        loadable = fleet.loadable(answer for _, answer in answers)
    found = FleetReport(str(folder), answers, loadable, frozenset(cut))
    if output.html is not None:
        text = fleet_page(found, fleet.totals())
    elif output.as_json:
        text = json.dumps(fleet_facts(found), indent=2) + "\n"
    elif form is ReportFormat.MARKDOWN:
        text = fleet_markdown(found)
    else:
        text = fleet_text(found)
    output.write(text)


@app.command("query", epilog=examples("fleet query"))
def query(
    folder: FleetDir,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.sql|-",
            help="A question of the library, a file of SQL, or - for standard input.",
        ),
    ],
    program: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this program's dumps.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="VERSION", help="For new_since.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 20,
    form: Format = OutputFormat.TABLE,
    as_json: AsJson = False,
    show: Annotated[bool, typer.Option("--show", help="Print the SQL.")] = False,
) -> None:
    """Query a fleet in SQL with DuckDB. Each dataset is a table.

    There are three more: readable has the dumps that could be read, ready those of
    them that are complete, and leaks has their suspects.
    Exit 5: the SQL is wrong.
    """
    from ingest.fleet.questions import Fleet, own_question, question
    from ingest.reports.render import write_answer

    if name == "-" or name.endswith(".sql"):
        asked = own_question(name)
    else:
        asked = question(name)
    if show:
        typer.echo(asked.sql, nl=False)
        return
    answer = Fleet(folder, program).ask(asked, limit=limit, since=since)
    write_answer(answer, OutputFormat.JSON if as_json else form)


app.command("graph", cls=PanelCommand, epilog=examples("fleet graph"))(
    expanded(fleet_store.graph)
)
app.command("load", cls=PanelCommand, epilog=examples("fleet load"))(
    expanded(fleet_store.load)
)
