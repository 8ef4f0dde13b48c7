"""``redact``: a copy of a dump that one may send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AsJson
from ingest.heap.read_options import RedactionLevel
from ingest.words.text import counted, human_bytes, printable


def redact(
    *,
    dump: Annotated[
        str, typer.Argument(metavar="DUMP", help="A heap dump; a file, not a pipe.")
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="The copy without values.")
    ],
    level: Annotated[
        RedactionLevel,
        typer.Option(
            help="values: values are removed, and names of types, fields and methods "
            "stay. structure: names of the types of --hash-types are hashed, too."
        ),
    ] = RedactionLevel.VALUES,
    hash_types: Annotated[
        list[str] | None,
        typer.Option(
            "--hash-types",
            metavar="PATTERN",
            help="With --level structure: types whose names are hashed, such as "
            "'Acme.*', or with ! types whose names stay. May be repeated.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Fields whose values stay, as TYPE.FIELD, such as "
            "'java.lang.Thread.name'. May be repeated.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a dump in its own format, without the program's values.

    Other tools open the copy: objects, sizes, lengths, references and roots stay. With
    INGEST_SALT, hashes of names are the same in all dumps.
    """
    from ingest.redact import redact as copy
    from ingest.system.settings import settings

    patterns = hash_types or []
    if (level is RedactionLevel.STRUCTURE) != bool(patterns):
        raise typer.BadParameter(
            "--level structure and --hash-types need each other", param_hint="--level"
        )
    with Bars() as progress:
        made = copy(
            dump,
            output,
            keep=keep or (),
            hash_types=patterns,
            salt=settings().salt,
            force=force,
            progress=progress,
        )
    told = made.told
    if as_json:
        facts = {
            "output": str(output), "format": made.format, "bytes": made.byte_count,
            "sha256": made.sha256, "source_sha256": made.source_sha256,
            "blanked_bytes": told.blanked_bytes, "unread_bytes": told.unread_bytes,
            "incomplete": told.is_cut,
        }  # fmt: skip
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(f"wrote {printable(str(output))}, {counted(made.byte_count, 'bytes')}")
    typer.echo(f"removed  {human_bytes(told.blanked_bytes)} of values")
    typer.echo(f"sha256   {made.sha256}")
    if told.is_cut:
        typer.echo("The dump ends too early: it is redacted as far as it goes.")
    if told.unread_bytes:
        what = counted(told.unread_bytes, "bytes")
        typer.echo(f"Not readable, and so removed: {what}.")
