"""Sixty ordinary programs: is a healthy thing accused, and is a small leak named?

They are written after programs of the world, with the names, fields and flags of their
libraries. Thirty are healthy and have much of something: full caches, catalogues,
pools, tables. Thirty leak less than a tenth of their heap, most of them beside such a
cache or catalogue. Every program has three dumps: what is healthy stays as it is but
for a few percent, what leaks has a third, two thirds, all of its size.

**What is accused** is decided from the answer alone, as its reader would. Of one dump,
a suspect with ``signs`` (reasons beyond its size) and without ``doubts`` is presented
as a leak: if it is healthy, it is accused. A suspect with a doubt, or listed for
nothing but its size, is offered for judgement; such are counted apart, as *listed*. Of
three dumps, what ``growth.grown`` names is presented as growing, and so is a suspect
without doubts that has signs or more objects than in the first dump: if it is healthy,
it is accused.

**A leak is named** if a suspect is of one of its types, or the path of something that
grew has one; types that many things have, as strings, need the holder beside them. What
grew comes before the suspects, as in the text. What grew in the same container names
the leak as well, such as the keys of its map. What grew elsewhere, of a type of which
the leak has a good part of that growth, is the leak, but does not name it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.answers import (
    ordinary_dart,
    ordinary_dotnet,
    ordinary_java,
    ordinary_java_leaks,
    ordinary_java_tables,
)
from tests.bench.answers.app import STEPS
from tests.bench.answers.verdict import answer, simple

if TYPE_CHECKING:
    from collections import Counter
    from multiprocessing.pool import Pool

    from tests.bench.answers.app import Leak, Ordinary

HEALTHY = (
    *ordinary_java.HEALTHY,
    *ordinary_java_tables.HEALTHY,
    *ordinary_dotnet.HEALTHY,
    *ordinary_dart.HEALTHY,
)
LEAKS = (*ordinary_java_leaks.LEAKS, *ordinary_dotnet.LEAKS, *ordinary_dart.LEAKS)
_LEAST_PART = 1 / 4
"""Of a type's growth in the leak: what is not taken for something else that grew."""


@dataclass(frozen=True)
class Said:
    """What was answered of one dump, or of several.

    Attributes:
        rank: Of the first thing said that names the leak, from 1; 0 if none does.
        suspect_rank: The same of suspects alone.
        accused: Healthy things presented as leaks, in words.
        listed: Healthy things that are suspects all the same.
        grown: How many of the accused are said to have grown; the others are suspects.
        first: The first thing said, in words.
        smaller: For each smaller group that is told, whether it is the leak.
    """

    rank: int = 0
    suspect_rank: int = 0
    accused: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    grown: int = 0
    first: str = "nothing"
    smaller: tuple[bool, ...] = ()

    @property
    def has_healthy_suspect(self) -> bool:
        return len(self.accused) + len(self.listed) > self.grown

    def told(self) -> str:
        """One column of the table."""
        ranks = f"{self.rank or '-'}"
        return f"{ranks:>2} {len(self.accused)} {len(self.listed)}  {self.first}"


@dataclass(frozen=True)
class Judged:
    """A program, and what was answered of its last dump and of all."""

    name: str
    format: str
    leak: Leak | None
    share: float
    one: Said
    three: Said
    error: str = ""

    def row(self) -> str:
        """One line of the table, and one for each healthy thing that is accused."""
        share = f"{self.share:.1%}" if self.leak else "-"
        begin = f"{self.name:<22} {self.format:<9} {share:>5}"
        if self.error:
            return f"{begin}  {self.error}"
        lines = [f"{begin}  {self.one.told():<62.62} |{self.three.told()}"]
        for said, word in ((self.one, "one dump"), (self.three, "three dumps")):
            lines += [f"    {word} accuses: {each}" for each in said.accused]
        return "\n".join(lines)


def heading() -> str:
    """Above the table."""
    return (
        "Ordinary programs. Of one dump, then of three: rank of the leak, healthy\n"
        "things accused, healthy things listed; what is said first\n"
    )


def judge(program: Ordinary, seed: int, keep: Path | None) -> Judged:
    """Write a program's dumps, and ask about the last and about all."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, paths = keep or Path(temporary), []
        leaked = []
        for step in range(STEPS):
            app, leak = program.program(seed, step)
            leaked.append(app.leaked)
            name = f"{program.name}-{step + 1}".replace(" ", "-")
            paths.append(folder / f"{name}.{program.format}")
            paths[-1].write_bytes(app.dump())
        one, three = answer([paths[-1]]), answer(paths)
    begin = program.name, program.format, leak, app.leaked_share
    if isinstance(one, str) or isinstance(three, str):
        error = one if isinstance(one, str) else str(three)
        return Judged(*begin, Said(), Said(), error)
    more = leaked[-1] - leaked[0]
    return Judged(*begin, of_one(one, leak), of_several(three, leak, more))


def of_one(told: dict[str, Any], leak: Leak | None) -> Said:
    """Judge the answer about one dump."""
    suspects = told.get("suspects", [])
    rank = _rank([_is_of(leak, each) for each in suspects])
    healthy = [each for each in suspects if not _is_of(leak, each)]
    accused = [each for each in healthy if each["signs"] and not each["doubts"]]
    return Said(
        rank, rank,
        tuple(f"{_words(each)}: {' '.join(each['signs'])}" for each in accused),
        tuple(_words(each) for each in healthy if each not in accused), 0,
        _words(suspects[0]) if suspects else "nothing",
        tuple(_is_of(leak, each) for each in told.get("smaller_groups", [])),
    )  # fmt: skip


def of_several(told: dict[str, Any], leak: Leak | None, leaked: Counter[str]) -> Said:
    """Judge the answer about several dumps: what grew comes before the suspects.

    Args:
        told: The answer.
        leak: The truth.
        leaked: How many more objects of each type the leak has in the last dump.
    """
    suspects, grown = told.get("suspects", []), told["growth"]["grown"]
    places = {tuple(each["path"][:-1]) for each in grown if _has_grown(leak, each)}
    named = [
        _has_grown(leak, each)
        or (len(each["path"]) > 1 and tuple(each["path"][:-1]) in places)
        for each in grown
    ]  # fmt: skip
    accused = [
        each["sentence"]
        for each, is_leak in zip(grown, named, strict=True)
        if not is_leak and not _is_part(each, leaked)
    ]
    growing, listed = len(accused), []
    for each in suspects:
        if _is_of(leak, each):
            continue
        counts = each.get("counts") or [0]
        if not each["doubts"] and (each["signs"] or counts[-1] > counts[0]):
            accused.append(f"{_words(each)}: {' '.join(each['signs'])}")
        else:
            listed.append(_words(each))
    first = "nothing"
    if grown:
        first = f"grew: {' > '.join(simple(name) for name in grown[0]['path'][-3:])}"
    elif suspects:
        first = _words(suspects[0])
    are = [_is_of(leak, each) for each in suspects]
    return Said(_rank([*named, *are]), _rank(are), tuple(accused), tuple(listed),
                growing, first)  # fmt: skip


def _is_part(grown: dict[str, Any], leaked: Counter[str]) -> bool:
    """Whether this is growth that the leak explains: a good part of it, not more."""
    more, of_leak = grown["objects"][-1] - grown["objects"][0], leaked[grown["type"]]
    return bool(0 < _LEAST_PART * of_leak <= more <= of_leak)


def _rank(named: list[bool]) -> int:
    return named.index(True) + 1 if True in named else 0


def _is_of(leak: Leak | None, suspect: dict[str, Any]) -> bool:
    if leak is None:
        return False
    shared = suspect["type"] in leak.shared_types and suspect["holder"] in leak.holders
    return shared or suspect["type"] in leak.types


def _has_grown(leak: Leak | None, grown: dict[str, Any]) -> bool:
    if leak is None:
        return False
    path = set(grown["path"])
    holds = any(simple(name) in grown["sentence"] for name in leak.holders)
    return bool(path & set(leak.types) or (holds and path & set(leak.shared_types)))


def _words(suspect: dict[str, Any]) -> str:
    """A suspect in few words; ``?`` is one with doubts, ``!`` one with signs."""
    mark = "?" * bool(suspect["doubts"]) + "!" * bool(suspect["signs"])
    holder = simple(suspect["holder"]) if suspect["holder"] else "-"
    name = f"{suspect['count']} {simple(suspect['type'])}{mark}"
    return f"{name}, {holder}.{suspect['reference'] or '-'} {suspect['share']:.0%}"


def run(pool: Pool, seed: int, only: str, keep: Path | None) -> None:
    """Ask about all programs, and print the table and its sums."""
    chosen = [one for one in (*HEALTHY, *LEAKS) if only in one.name]
    if not chosen:
        return
    print(f"\n{heading()}", flush=True)
    judged = []
    for one in pool.imap(partial(judge, seed=seed, keep=keep), chosen):
        judged.append(one)
        print(one.row(), flush=True)
    print(f"\n{summary(judged)}")


def summary(judged: list[Judged]) -> str:
    """The sums of the table."""
    healthy = [each for each in judged if each.leak is None]
    leaks = [each for each in judged if each.leak is not None]
    count, of = len(healthy), len(leaks)
    one = sum(bool(each.one.accused) for each in healthy)
    three = sum(bool(each.three.accused) for each in healthy)
    named = sum(each.one.rank > 0 for each in leaks)
    first = sum(each.one.rank == 1 for each in leaks)
    grew = sum(each.three.rank == 1 for each in leaks)
    said = (*healthy, *leaks)
    lines = [
        f"healthy programs with a suspect at all, doubted or for its size: one dump "
        f"{sum(e.one.has_healthy_suspect for e in healthy)} of {count}, "
        f"three dumps "
        f"{sum(e.three.has_healthy_suspect for e in healthy)}",
        f"programs with a healthy suspect that is accused: one dump "
        f"{sum(bool(e.one.accused) for e in said)} of {count + of}, three dumps "
        f"{sum(len(e.three.accused) > e.three.grown for e in said)}; with something "
        f"healthy that is said to have grown: {sum(e.three.grown > 0 for e in said)}",
        f"leaking programs with something healthy accused: one dump "
        f"{sum(bool(e.one.accused) for e in leaks)} of {of}, "
        f"three dumps {sum(bool(e.three.accused) for e in leaks)}",
        f"leaks among the suspects of three dumps: "
        f"{sum(e.three.suspect_rank > 0 for e in leaks)} of {of} "
        f"({sum(e.three.suspect_rank == 1 for e in leaks)} first); named at all: "
        f"{sum(e.three.rank > 0 for e in leaks)}",
        f"one dump: {one} of {count} healthy programs accused, {named} of {of} leaks "
        f"named ({first} first); three dumps: {three} accused, {grew} named first",
    ]
    also = sum(each.one.rank > 0 or any(each.one.smaller) for each in leaks)
    lines.append(
        f"one dump, with the smaller groups: {also} of {of} leaks named; healthy "
        f"programs have {sum(len(each.one.smaller) for each in healthy)} such groups"
    )
    failed = sum(bool(each.error) for each in judged)
    return "\n".join([f"{failed} failed"] * bool(failed) + lines)
