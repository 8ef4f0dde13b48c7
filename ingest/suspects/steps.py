"""Steps of a path as they are written: runs are folded, values shortened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RUN = 3
"""Objects of one type in a row, from which on they are folded."""

_CYCLE = 12
"""The same of objects of a few types that follow one another again and again."""

_MAX_PERIOD = 4

_LEFT_OUT = re.compile(r"… ([\d,]+) more ")

_PLACED = re.compile(r".*?:\d+:\d+(?= \()")
"""The name and place of a function, without the folder of its script."""

_FOLDER = re.compile(r"(?<= )\((?:[^()]*[/\\])(?=[^()/\\]+:\d+\)$)")
"""The folder of a script where its name and line come last, in parentheses."""


def shortened(value: str, most: int) -> str:
    """A value of at most so many characters, a function without its folder."""
    placed = _PLACED.match(value)
    text = placed[0] if placed else value
    if len(text) > most:
        text = _FOLDER.sub("(", text)
    return text if len(text) <= most else text[: most - 1] + "…"


def beginning_of(text: str, most: int) -> str:
    """The beginning of a text of at most so many characters, with whole words."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", 0, most)
    return f"{text[: end if 2 * end > most else most - 1]}…"


def end_of(text: str, most: int) -> str:
    """The end of a text of at most so many characters, with whole words."""
    text = text if len(text) <= most else _FOLDER.sub("(", text)
    if len(text) <= most:
        return text
    begin = len(text) - most + 1
    word = text.find(" ", begin - 1, begin + most // 2)
    return f"…{text[begin if word < 0 else word :]}"


def folded(kinds: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    """Positions to write of a path, each with the number left out before it.

    Of a run of one type the first and the last are written, of types that follow one
    another in turn the first of each and the last. The third is whether it is a run.
    """
    at = 0
    while at < len(kinds):
        for period in range(1, _MAX_PERIOD + 1):
            end = at + period
            while end < len(kinds) and kinds[end] == kinds[end - period]:
                end += 1
            left_out = end - at - 2 * period
            if end - at > (_RUN if period == 1 else _CYCLE):
                yield from ((at + i, 0, False) for i in range(period))
                last = end - period
                yield last, left_out, period == 1
                yield from ((at, 0, False) for at in range(last + 1, end))
                break
        else:
            end = at + 1
            yield at, 0, False
        at = end


def with_ends(
    steps: Sequence[str], cut: int | None, most: int
) -> tuple[tuple[str, ...], int | None]:
    """The first and the last steps of a path, and those at its cut.

    Args:
        steps: All steps.
        cut: Position of the first one that the cut frees; ``None`` if there is none.
        most: So many ends are written; there may be three lines more in the middle.

    Returns:
        The steps, and the position of the cut among them.
    """
    if len(steps) <= most:
        return tuple(steps), cut
    half, told, at_cut = most // 2, list[str](), cut
    kept = {*range(half), *range(len(steps) + 1 + half - most, len(steps))}
    kept |= {cut - 1, cut} if cut else set()
    # One step needs no more room than to say that it is left out.
    kept |= {at for at in range(len(steps)) if {at - 1, at + 1} <= kept}
    left_out = 0
    for at, step in enumerate(steps):
        if at not in kept:
            folded_before = _LEFT_OUT.match(step)
            left_out += int(folded_before[1].replace(",", "")) if folded_before else 1
            continue
        if left_out:
            told.append(f"… {left_out:,} more steps")
            left_out = 0
        if at == cut:
            at_cut = len(told)
        told.append(step)
    return tuple(told), at_cut
