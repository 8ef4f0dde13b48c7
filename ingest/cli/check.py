"""``check``: a gate for CI."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AnyDumps,
    AsJson,
    Connection,
    Reading,
    keepers_of,
    usage_errors,
)
from ingest.errors import FINDINGS, INCOMPLETE
from ingest.system.files import check_writable, output_file

if TYPE_CHECKING:
    from ingest.api.calls import CheckOptions


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
"""Formats by the suffix of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The options that say how dumps are judged."""

    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="DUMP",
            help="A dump to compare with, such as one of the main branch. What it "
            "also has is not a finding. May be repeated.",
        ),
    ] = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Baseline: a file of known findings. Default: "
            "heaproots-baseline.toml, if it exists."
        ),
    ] = None
    update_baseline: Annotated[
        bool,
        typer.Option("--update-baseline", help="Add the findings to the baseline."),
    ] = False
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Remove entries from the baseline that no longer occur."
        ),
    ] = False
    strict_baseline: Annotated[
        bool,
        typer.Option(
            "--strict-baseline",
            help="Fail if the baseline has entries that no longer occur.",
        ),
    ] = False
    config: Annotated[
        Path | None,
        typer.Option(
            help="File of rules. Default: heaproots.toml, or [tool.heaproots] in "
            "pyproject.toml."
        ),
    ] = None
    min_dumps: Annotated[
        int,
        typer.Option(
            min=1,
            help="Refuse to judge fewer dumps. Growth in five is hardly chance.",
        ),
    ] = 1
    allow_incomplete: Annotated[
        bool,
        typer.Option(
            "--allow-incomplete",
            help="Judge what incomplete dumps have. Without it, they fail the check.",
        ),
    ] = False

    def given(self) -> CheckOptions:
        """The options, as the interface takes them."""
        from ingest.api.calls import CheckOptions

        return CheckOptions(
            against=self.against or (),
            baseline=self.baseline,
            update_baseline=self.update_baseline,
            prune=self.prune,
            strict_baseline=self.strict_baseline,
            config=self.config,
            min_dumps=self.min_dumps,
            allow_incomplete=self.allow_incomplete,
        )


def check(
    *,
    dumps: AnyDumps,
    judging: Judging,
    form: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="What to write to stdout.")
    ] = CheckFormat.TEXT,
    as_json: AsJson = False,
    save: Annotated[
        list[Path] | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Also write a file: .sarif, .xml (JUnit), .md, .json or .txt. "
            "May be repeated; an existing file is replaced.",
        ),
    ] = None,
    reading: Reading,
    connection: Connection,
) -> None:
    """Fail if a program leaks: a gate for CI.

    Findings are paths whose number of objects grew in every dump, leak suspects that
    are new in the last dump, and what your rules forbid. For a single dump, they are
    its suspects.
    Only loaded dumps need a database. Exit 20: there are findings. Exit 21: a dump is
    incomplete. Exit 3: no such file, or not a readable dump. Exit 9: no such loaded
    dump.
    """
    from ingest.api.calls import judged

    forms = [_format_of(path) for path in save or ()]
    for path in save or ():
        check_writable(path, force=True)
    options = reading.given()
    with (
        Bars() as progress,
        keepers_of(connection, progress) as keepers,
        usage_errors(),
    ):
        found = judged(dumps, judging.given(), options, progress, keepers)
    for path, of_file in zip(save or (), forms, strict=True):
        with output_file(path, force=True, private=False) as out:
            out.write(found.written(of_file.value).encode("utf-8", "replace"))
    chosen = CheckFormat.JSON if as_json else form
    typer.echo(found.written(chosen.value), nl=False)
    if not found.is_conclusive:
        raise typer.Exit(INCOMPLETE)
    if not found.is_clean:
        raise typer.Exit(FINDINGS)


def _format_of(path: Path) -> CheckFormat:
    if path.suffix.lower() not in _FORMATS:
        raise typer.BadParameter(
            f"{path}: the suffix must be one of {', '.join(_FORMATS)}",
            param_hint="--save",
        )
    return _FORMATS[path.suffix.lower()]
