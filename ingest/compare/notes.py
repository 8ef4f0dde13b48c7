"""What limits a comparison of dumps, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.compare.dumps import ComparedDump

_FEW_IN_COMMON = 0.2
"""Share of the types of the dump that has fewer."""


def notes_on(dumps: Sequence[ComparedDump]) -> Iterator[str]:
    """Dumps of other programs or formats, empty ones, and one that is given twice."""
    formats = list(dict.fromkeys(d.format_name for d in dumps if d.format_name))
    if len(formats) > 1:
        yield (
            f"These are dumps of different formats ({', '.join(formats)}): objects of "
            "the runtime, sizes and roots differ for that reason too."
        )
    for at, dump in enumerate(dumps):
        for other in dumps[:at]:
            if dump.identity is not None and dump.identity == other.identity:
                yield f"{other.name} and {dump.name} are the same dump."
    for dump in dumps:
        if not dump.reachable_count:
            yield f"{dump.name} has no reachable objects."
    first, last = (dump.totals.keys() for dump in (dumps[0], dumps[-1]))
    if (
        first
        and last
        and len(first & last) < _FEW_IN_COMMON * min(map(len, (first, last)))
    ):
        yield (
            f"{dumps[0].name} and {dumps[-1].name} have {len(first & last):,} of "
            f"{min(len(first), len(last)):,} types in common: they seem to be of "
            "different programs, of which only what they share is compared."
        )
