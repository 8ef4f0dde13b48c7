"""What grew since earlier dumps of a program, reported before the last one's suspects.

Growth proves more than size: suspects that grew come first, and lack of growth is a
doubt about the others. The gate decides what grew (`ingest.gate.findings`), so that
growth does not include what fluctuates, fills up or is in progress.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, cast

from ingest.analysis.fingerprints import normalised_type
from ingest.compare.dumps import notes_on, notes_on_order
from ingest.compare.growth import FEWEST_DUMPS
from ingest.gate.findings import growths
from ingest.gate.rules import Rules
from ingest.gate.trend import Kind, trend_of
from ingest.reports.comparison_words import HEADLINES, growth_sentence, series
from ingest.reports.render import folded
from ingest.reports.suspects import NextStep
from ingest.words.command_line import command
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.compare.dumps import ComparedDump

_FEWEST_PERCENT = 2
"""A number of objects that rises by less than this share counts as equal."""


_UNLIKE_A_LEAK = {
    Kind.FILLS_UP: "Their number rises by smaller and smaller steps",
    Kind.UNEVEN: "Their number rises by unlike steps, as one that fluctuates",
}


def growth_facts(
    dumps: Sequence[ComparedDump], own: Sequence[str] = ()
) -> dict[str, object]:
    """What grew from the first dump to the last.

    Args:
        dumps: Two or more, in the order in which they were taken.
        own: Globs of types that are the program's own, or with ``!`` not.

    Returns:
        Values for JSON: the names of the dumps, notes on them, and the paths on which
        most objects accumulate, each with a sentence.
    """
    found, others = growths(dumps, Rules(own=tuple(own)))
    grown = [
        {
            "type": one.steps[-1],
            "objects": list(one.counts),
            "path": list(one.steps),
            "confidence": one.confidence,
            "sentence": f"{one.message} {' → '.join(one.path)}",
        }
        for one in found
    ]
    return {
        "dumps": [dump.name for dump in dumps],
        "notes": [*notes_on_order(dumps), *notes_on(dumps)],
        "headlines": [
            *([one["sentence"] for one in grown[:HEADLINES]] or [_no_growth(dumps)]),
            *others,
        ],
        "grown": grown,
    }


def _no_growth(dumps: Sequence[ComparedDump]) -> str:
    if any(dump.incomplete for dump in dumps):
        return "Not known, because a dump is incomplete."
    if len(dumps) < FEWEST_DUMPS:
        return f"No path has clearly more objects than in {printable(dumps[0].name)}."
    return "No path has more objects in every dump, as one of a leak has."


def by_growth(
    suspects: Sequence[Mapping[str, object]], dumps: Sequence[ComparedDump]
) -> list[dict[str, object]]:
    """Suspects of the last dump, sorted by how much they grew.

    Args:
        suspects: As `ingest.reports.suspects.of_heap` returns them.
        dumps: Two or more, in the order in which they were taken.
    """
    found = []
    for suspect in suspects:
        name = normalised_type(str(suspect["type"]))
        counts = [dump.count_of(name) for dump in dumps]
        row = dict(suspect) | {"counts": counts}
        grew = 0
        if not any(dump.incomplete for dump in dumps):
            before = dumps[0].held_count(str(suspect["fingerprint"]))
            held = before, cast("int", suspect["count"])
            which, text = _told(counts, held, dumps[0].name)
            row[which] = [*cast("list[str]", suspect[which]), text]
            if which == "doubts":
                # It may be needed, so no advice to remove it.
                row |= {"advice": "", "cut_step": None}
            grew = counts[-1] - counts[0] if which == "signs" else 0
        each = cast("int", suspect["bytes"]) / max(cast("int", suspect["count"]), 1)
        found.append((-grew * each, row))
    return [row for _, row in sorted(found, key=lambda one: one[0])]


def _told(counts: Sequence[int], held: tuple[int, int], first: str) -> tuple[str, str]:
    """A sign and a doubt that follow from a suspect's numbers; one is empty.

    Args:
        counts: Objects of its type in each dump.
        held: Objects of the suspect in the first dump, 0 without it, and in the last.
        first: Name of the first dump.
    """
    grew, text = counts[-1] - counts[0], ""
    if grew > 0 and held[0] >= held[1]:  # new ones are elsewhere, as texts often are
        text = f"No more of them are held there than in {first}"
        return "doubts", f"{text}: {series(held)}."
    if grew > 0 and 100 * grew < _FEWEST_PERCENT * counts[0]:
        text = f"The whole program has about as many objects of this type as in {first}"
    elif grew > 0 and len(counts) >= FEWEST_DUMPS:
        if any(after <= before for before, after in pairwise(counts)):
            text = "Their number does not rise in every dump"
        else:
            text = _UNLIKE_A_LEAK.get(trend_of(counts).kind, "")
    if text:
        return "doubts", f"{text}: {series(counts)}."
    return "signs" if grew > 0 else "doubts", growth_sentence(counts, first)


def growth_title(facts: Mapping[str, object]) -> str:
    """The heading of `growth_lines`."""
    return f"Grew since {cast('list[str]', facts['dumps'])[0]}"


def growth_lines(facts: Mapping[str, object]) -> list[str]:
    """Notes on the dumps, then a sentence for each path that grew."""
    return [
        *cast("list[str]", facts["notes"]),
        *cast("list[str]", facts["headlines"]),
    ]


def growth_text(facts: Mapping[str, object]) -> str:
    """The heading and the lines of `growth_lines`, for a terminal."""
    text = f"\n{printable(growth_title(facts))}\n"
    for line in growth_lines(facts):
        text += "\n" + folded(f"- {printable(line)}", hanging="  ")
    return text


def growth_step(dumps: Sequence[str]) -> NextStep:
    """What to do next if there are several dumps.

    Args:
        dumps: Paths of dumps, or names of loaded dumps.
    """
    if len(dumps) < FEWEST_DUMPS:
        return NextStep(
            "Two dumps cannot tell a leak from a cache that fills up. Take one more "
            "after the same work, and run:",
            command("check", *dumps, "THIRD"),
        )
    return NextStep("To list all that grew, with paths:", command("check", *dumps))
