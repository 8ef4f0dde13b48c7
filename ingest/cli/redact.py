"""``redact``: a copy of a dump that one may send."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import AsJson
from ingest.errors import UNPROVED
from ingest.heap.read_options import RedactionLevel
from ingest.system.files import check_writable, output_file
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from ingest.redact import Redacted
    from ingest.redact.proof import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removing:
    """The options that say what is removed."""

    level: Annotated[
        RedactionLevel,
        typer.Option(
            help="values: values are removed, and names of types, fields and methods "
            "stay. structure: names of the types of --hash-types are hashed, too."
        ),
    ] = RedactionLevel.VALUES
    hash_types: Annotated[
        list[str] | None,
        typer.Option(
            "--hash-types",
            metavar="PATTERN",
            help="With --level structure: types whose names are hashed, such as "
            "'Acme.*', or with ! types whose names stay. May be repeated.",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Fields whose values stay, as TYPE.FIELD, such as "
            "'java.lang.Thread.name'. May be repeated.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proving:
    """The options of a proof."""

    prove: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Look for secrets in both files, compare their heaps, and write a "
            "page about it that can go along. Takes the memory of two heaps.",
        ),
    ] = None
    secret: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="With --prove: a text of at least 8 bytes that the copy must not "
            "have. May be repeated. Other users can see it while the command runs.",
        ),
    ] = None

    def check(self, *, force: bool) -> None:
        """Refuse options that contradict one another.

        Raises:
            BadParameter: a secret is too short, or there is no proof.
            IngestError: the page exists.
        """
        lengths = [len(one.encode()) for one in self.secret or ()]
        if lengths and (self.prove is None or min(lengths) < 8):
            raise typer.BadParameter(
                "it needs --prove, and at least 8 bytes", param_hint="--secret"
            )
        if self.prove is not None:
            check_writable(self.prove, force=force)


def redact(
    *,
    dump: Annotated[
        str, typer.Argument(metavar="DUMP", help="A heap dump; a file, not a pipe.")
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="The copy without values.")
    ],
    removing: _Removing,
    proving: _Proving,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a dump in its own format, without the program's values.

    Other tools open the copy: objects, sizes, lengths, references and roots stay. With
    INGEST_SALT, hashes of names are the same in all dumps. Exit 22: --prove found that
    the copy is not as it should be.
    """
    from ingest.redact import redact as copy
    from ingest.system.settings import settings

    patterns = removing.hash_types or []
    if (removing.level is RedactionLevel.STRUCTURE) != bool(patterns):
        raise typer.BadParameter(
            "--level structure and --hash-types need each other", param_hint="--level"
        )
    for pattern in removing.keep or ():
        if not {".", "*"} & set(pattern):
            raise typer.BadParameter(
                f"{pattern} names no field; write TYPE.{pattern}, or '*.{pattern}'",
                param_hint="--keep",
            )
    proving.check(force=force)
    proof = None
    with Bars() as progress:
        made = copy(
            dump,
            output,
            keep=removing.keep or (),
            hash_types=patterns,
            salt=settings().salt,
            force=force,
            progress=progress,
        )
        if proving.prove is not None:
            from ingest.redact.proof import prove

            proof = prove(dump, output, made, proving.secret or (), progress)
    if proof is not None and proving.prove is not None:
        from ingest.reports.redaction import proof_page

        with output_file(proving.prove, force=force, private=False) as page:
            page.write(proof_page(proof, made).encode())
    typer.echo(_json(output, made, proof) if as_json else _text(output, made, proof))
    if proof is not None and not proof.holds:
        raise typer.Exit(UNPROVED)


def _json(output: Path, made: Redacted, proof: Proof | None) -> str:
    told = made.told
    facts: dict[str, object] = {
        "output": str(output), "format": made.format, "bytes": made.byte_count,
        "sha256": made.sha256, "source_sha256": made.source_sha256,
        "blanked_bytes": told.blanked_bytes, "unread_bytes": told.unread_bytes,
        "incomplete": told.is_cut,
    }  # fmt: skip
    if proof is not None:
        checks = [check._asdict() for check in proof.checks]
        facts |= {"proved": proof.holds, "checks": checks}
    return json.dumps(facts, indent=2)


def _text(output: Path, made: Redacted, proof: Proof | None) -> str:
    told = made.told
    lines = [
        f"wrote {printable(str(output))}, {counted(made.byte_count, 'bytes')}",
        f"removed  {human_bytes(told.blanked_bytes)} of values",
        f"sha256   {made.sha256}",
    ]
    if told.is_cut:
        lines.append("The dump ends too early: it is redacted as far as it goes.")
    if told.unread_bytes:
        what = counted(told.unread_bytes, "bytes")
        lines.append(f"Not readable, and so removed: {what}.")
    if proof is not None:
        from ingest.reports.redaction import proof_text

        lines.append(proof_text(proof))
    return "\n".join(lines)
