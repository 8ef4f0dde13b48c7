"""``check``: a gate for CI."""

from __future__ import annotations

import datetime
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AnyDumps, Connection, Reading, keepers_of
from ingest.errors import FINDINGS, INCOMPLETE
from ingest.files import check_writable, output_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.dumps import ComparedDump
    from ingest.dumps import Opener
    from ingest.reports.findings import Verdict
    from ingest.tables.heap_tables import HeapTables


class CheckFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


_FORMATS = {
    ".txt": CheckFormat.TEXT,
    ".md": CheckFormat.MARKDOWN,
    ".json": CheckFormat.JSON,
    ".sarif": CheckFormat.SARIF,
    ".xml": CheckFormat.JUNIT,
}
"""By the suffix of a file."""


def check(
    *,
    dumps: AnyDumps,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="DUMP",
            help="A dump to compare with, such as one of the main branch. What it "
            "also has is not a finding. May be repeated.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Baseline: a file of known findings. Default: "
            "heaproots-baseline.toml, if it exists."
        ),
    ] = None,
    update_baseline: Annotated[
        bool,
        typer.Option("--update-baseline", help="Add the findings to the baseline."),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Remove entries from the baseline that no longer occur."
        ),
    ] = False,
    strict_baseline: Annotated[
        bool,
        typer.Option(
            "--strict-baseline",
            help="Fail if the baseline has entries that no longer occur.",
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="File of rules. Default: heaproots.toml, or [tool.heaproots] in "
            "pyproject.toml."
        ),
    ] = None,
    form: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="What to write to stdout.")
    ] = CheckFormat.TEXT,
    save: Annotated[
        list[Path] | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Also write a file: .sarif, .xml (JUnit), .md, .json or .txt. "
            "May be repeated; an existing file is replaced.",
        ),
    ] = None,
    min_dumps: Annotated[
        int,
        typer.Option(
            min=1,
            help="Refuse to judge fewer dumps. Growth in five is hardly chance.",
        ),
    ] = 1,
    allow_incomplete: Annotated[
        bool,
        typer.Option(
            "--allow-incomplete",
            help="Judge what incomplete dumps have. Without it, they fail the check.",
        ),
    ] = False,
    reading: Reading,
    connection: Connection,
) -> None:
    """Fail if a program leaks: a gate for CI. No database for files.

    Findings are paths whose number of objects grew in every dump, leak suspects that
    are new in the last dump, and what your rules forbid. For a single dump, they are
    its suspects.
    Exit 20: there are findings. Exit 21: a dump is incomplete. Exit 3: not a readable
    dump. Exit 9: no such dump.
    """
    from ingest.gate.baseline import (
        DEFAULT_NAME,
        compared,
        read_baseline,
        updated,
        write_baseline,
    )
    from ingest.gate.findings import judge, with_examples
    from ingest.gate.rules import find_rules
    from ingest.reports.findings import Verdict

    forms = [_format_of(path) for path in save or ()]
    for path in save or ():
        check_writable(path, force=True)
    rules = find_rules(Path(), config)
    file = baseline or Path(DEFAULT_NAME)
    known = {}
    if file.exists() or (baseline is not None and not update_baseline):
        known = read_baseline(file, prune=prune)
    options = reading.options(rules.own)
    redaction = options.redaction
    if redaction is not None and redaction.types and not redaction.salt:
        raise typer.BadParameter(
            "needs INGEST_SALT here, because names must be the same in every dump",
            param_hint="--hash-types",
        )
    from ingest.dumps import Opener

    with Bars() as progress, keepers_of(connection, progress) as keepers:
        opener = Opener(options=options, keepers=keepers, progress=progress)
        reference = _judged(against or (), opener)[0]
        judged_dumps, last = _judged(dumps, opener)
        if len(judged_dumps) < min_dumps:
            raise typer.BadParameter(
                f"needs {min_dumps} dumps, and there are {len(judged_dumps)}",
                param_hint="--min-dumps",
            )
        judged = judge(judged_dumps, rules, reference)
        if last is not None:
            judged.findings, notes = with_examples(judged.findings, last)
            judged.notes += notes
    found = compared(judged.findings, known, datetime.datetime.now().date())
    if update_baseline or prune:
        known = updated(known, found, add=update_baseline, prune=prune)
        write_baseline(file, known)
        found = compared(judged.findings, known, datetime.datetime.now().date())
    verdict = Verdict(judged, found, str(file), strict_baseline, allow_incomplete)
    for path, of_file in zip(save or (), forms, strict=True):
        with output_file(path, force=True, private=False) as out:
            out.write(_written(verdict, of_file).encode("utf-8", "replace"))
    typer.echo(_written(verdict, form), nl=False)
    if not verdict.is_conclusive:
        raise typer.Exit(INCOMPLETE)
    if not verdict.is_clean:
        raise typer.Exit(FINDINGS)


def _format_of(path: Path) -> CheckFormat:
    if path.suffix.lower() not in _FORMATS:
        raise typer.BadParameter(
            f"{path}: the suffix must be one of {', '.join(_FORMATS)}",
            param_hint="--save",
        )
    return _FORMATS[path.suffix.lower()]


def _written(verdict: Verdict, form: CheckFormat) -> str:
    """The findings in a form."""
    from ingest.reports import findings
    from ingest.reports.findings import as_junit, as_sarif

    return {
        CheckFormat.TEXT: findings.as_text,
        CheckFormat.MARKDOWN: findings.as_markdown,
        CheckFormat.JSON: findings.as_json,
        CheckFormat.SARIF: as_sarif,
        CheckFormat.JUNIT: as_junit,
        CheckFormat.GITHUB: findings.as_annotations,
    }[form](verdict)


def _judged(
    named: Sequence[str], opener: Opener
) -> tuple[list[ComparedDump], HeapTables | None]:
    """What the gate keeps of each dump, and the tables of the last one."""
    from ingest.compare.dumps import of_tables
    from ingest.gate.findings import MAX_PATHS, TREE
    from ingest.heap.read_options import REDACTED

    found: list[ComparedDump] = []
    last: HeapTables | None = None
    for number, dump in enumerate(opener.open_all(named), start=1):
        last = None  # the next heap needs the memory
        name = PurePath(dump.what).name
        if opener.options.redaction is not None:
            name = f"{REDACTED}-{1 if dump.part is not None else number}"
        if dump.part is not None:
            name = f"{name} {dump.part.number}"
        last = dump.tables(path_limit=MAX_PATHS, trees=(TREE,), path_rows=True)
        found.append(
            of_tables(
                name,
                last,
                format_name=last.graph.format_name,
                identity=dump.identity,
                incomplete=last.graph.incomplete,
                runtime=last.graph.runtime,
            )
        )
    return found, last
