"""What grew since earlier dumps of a program: said before the suspects of the last one.

Growth proves more than size does: suspects that grew come first, and those that did
not have that as a doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.analysis.fingerprints import normalised_type
from ingest.command_line import command
from ingest.compare.changes import compare
from ingest.compare.dimensions import Dimension
from ingest.reports.comparison_words import HEADLINES, Wording
from ingest.reports.render import folded
from ingest.suspects.words import growth_sentence
from ingest.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.compare.dumps import ComparedDump

_ENOUGH = 3
"""Dumps from which on it can be told whether something grew in every one."""


def growth_facts(dumps: Sequence[ComparedDump]) -> dict[str, object]:
    """What grew from the first dump to the last one.

    Args:
        dumps: Two or more, in the order in which they were taken.

    Returns:
        Values for JSON: the names of the dumps, notes on them, and the paths on which
        most objects accumulate, each with a sentence.
    """
    found = compare(dumps)
    words = Wording(found)
    grown = words.grown(Dimension.DOMINATOR_PATH, HEADLINES)
    return {
        "dumps": [dump.name for dump in dumps],
        "notes": list(found.notes),
        "headlines": words.paths_grown(),
        "grown": [
            {
                "type": row.name,
                "objects": list(row.object_count),
                "retained_bytes": list(row.retained_bytes),
                "path": list(row.steps),
                "sentence": text,
            }
            for row, text in grown
        ],
    }


def by_growth(
    suspects: Sequence[Mapping[str, object]], dumps: Sequence[ComparedDump]
) -> list[dict[str, object]]:
    """Suspects of the last dump, those first whose type has most more objects' bytes.

    Args:
        suspects: As `ingest.reports.suspects.of_heap` returns them.
        dumps: Two or more, in the order in which they were taken.
    """
    first = dumps[0]
    found = []
    for suspect in suspects:
        name = normalised_type(str(suspect["type"]))
        counts = [dump.count_of(name) for dump in dumps]
        grew = counts[-1] - counts[0]
        row = dict(suspect) | {"counts": counts}
        which = "signs" if grew > 0 else "doubts"
        if not any(dump.incomplete for dump in dumps):
            text = growth_sentence(counts, first.name)
            row[which] = [*cast("list[str]", suspect[which]), text]
        each = cast("int", suspect["bytes"]) / max(cast("int", suspect["count"]), 1)
        found.append((-max(grew, 0) * each, row))
    return [row for _, row in sorted(found, key=lambda one: one[0])]


def growth_title(facts: Mapping[str, object]) -> str:
    """The heading of `growth_lines`."""
    return f"Grew since {cast('list[str]', facts['dumps'])[0]}"


def growth_lines(facts: Mapping[str, object]) -> list[str]:
    """Notes on the dumps, and what grew, a sentence each."""
    return [
        *cast("list[str]", facts["notes"]),
        *cast("list[str]", facts["headlines"]),
    ]


def growth_text(facts: Mapping[str, object]) -> str:
    """The same for a terminal."""
    text = f"\n{printable(growth_title(facts))}\n"
    for line in growth_lines(facts):
        text += "\n" + folded(f"- {printable(line)}", hanging="  ")
    return text


def growth_step(facts: Mapping[str, object]) -> str:
    """What to do next, once there are several dumps."""
    if len(cast("list[str]", facts["dumps"])) < _ENOUGH:
        return (
            "Two dumps cannot tell a leak from a cache that fills up. Take one more "
            "after the same work, and run: "
            + command("check", "FIRST", "SECOND", "THIRD")
        )
    return f"{command('check')} with the same dumps tells what grew in each of them."
