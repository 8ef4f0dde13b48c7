"""``watch``: dumps of a folder, added to a fleet as they come."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import notice
from ingest.cli.options import AsJson, Reading
from ingest.system import interrupts
from ingest.system.files import replaced_file
from ingest.words.text import printable

if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """The options that say when to look, and what becomes of what is found."""

    every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="How often to look. A dump is finished that has not changed since "
            "the last look.",
        ),
    ] = 10.0
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Remove all but the newest N files whose dumps were added. "
            "Default: remove none.",
        ),
    ] = None
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write the answer for each dump there, as JSON of at most 1 KiB.",
        ),
    ] = None
    once: Annotated[
        bool,
        typer.Option("--once", help="Add what is finished now, and end."),
    ] = False


def watch(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Folders, patterns, or addresses such as s3://BUCKET/PREFIX.",
        ),
    ],
    folder: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="The fleet's folder.")
    ],
    watching: Watching,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="Read labels from addresses, as with fleet add."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.1, help="Maximum time for one dump."),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Add the dumps of a folder to a fleet as they come.

    Each dump that is finished has one line, or with --json one JSON object of at most
    1 KiB, which an alert can carry. Runs until it is interrupted.
    """
    from dataclasses import replace

    from ingest.fleet.add import Workers
    from ingest.fleet.sources import LabelPattern
    from ingest.fleet.watch import Watch, in_a_line, in_json
    from ingest.system.memory import available_bytes

    options = reading.options()
    if reading.max_memory is None:  # the worker has a limit of its own
        options = replace(options, max_memory_bytes=None)
    watched = Watch(
        sources,
        folder,
        options,
        Workers(memory_bytes=available_bytes() * 3 // 4, timeout_s=timeout),
        None if label is None else LabelPattern(label),
        watching.keep,
    )
    answers = watching.answers
    if answers is not None:
        answers.mkdir(parents=True, exist_ok=True)
    looks = 0
    with interrupts.leaving("the fleet has all dumps that were written about"):
        while True:
            for answer in watched.look():
                text = in_json(answer)
                typer.echo(text if as_json else in_a_line(answer))
                if answers is not None:
                    _write(answers, answer, text)
            while watched.removed:
                notice(f"removed {watched.removed.pop(0)}")
            looks += 1
            if (
                watching.once and looks == 2
            ):  # what has not changed between both is finished
                return
            time.sleep(watching.every)


def _write(folder: Path, answer: dict[str, Any], text: str) -> None:
    """Write an answer under the name of its dump's file."""
    name = printable(Path(str(answer["source"])).name).replace("/", "_")
    with replaced_file(folder / f"{name}.json", private=False) as file:
        file.write(f"{text}\n".encode())
