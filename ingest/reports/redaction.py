"""The proof that goes along with a redacted dump: as text, and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.html import render
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from ingest.redact import Redacted
    from ingest.redact.proof import Proof


def verdict(proof: Proof) -> str:
    """What a proof says, in a sentence."""
    if proof.holds:
        return "Nothing that looks like a secret is left, and the heap is the same."
    bad = ", ".join(check.what for check in proof.checks if not check.holds)
    return f"Not proved: {bad}."


def proof_text(proof: Proof) -> str:
    """What was compared, a line each."""
    width = max(len(check.what) for check in proof.checks)
    lines = [
        f"  {'ok ' if check.holds else 'NO '} {check.what.ljust(width)}  "
        f"{check.of_dump} -> {check.of_copy}"
        for check in proof.checks
    ]
    shown = [f"  left: {text[:4]}... ({len(text)} characters)" for text in proof.left]
    return "\n".join([*lines, *shown[:20], verdict(proof)])


def proof_page(proof: Proof, made: Redacted) -> str:
    """The page, which shows no secret."""
    told, rules = made.told, made.rules
    lines = [
        f"Format {made.format}; {human_bytes(told.blanked_bytes)} of values.",
        f"SHA-256 of the dump {made.source_sha256}, of the copy {made.sha256}.",
    ]
    if rules.keep:
        lines.append(f"Kept on request: {', '.join(rules.keep)}.")
    if rules.redaction.types:
        lines.append("Names of types that patterns chose are hashed.")
    if told.is_cut:
        lines.append("The dump ends too early: it is redacted as far as it goes.")
    return render(
        "redaction.html",
        title="Redacted dump",
        dump_name="",
        verdict=verdict(proof),
        checks=proof.checks,
        lines=lines,
    )
