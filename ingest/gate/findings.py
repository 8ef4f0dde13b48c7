"""What is wrong with the dumps of a program.

Growth is told from noise by what a leak is: objects that accumulate below something
that does not. A path is a finding if its objects became more in every dump, by at
least so many and by such a share of what there was, and its type did too, so that
nothing has only moved. Of nested paths the topmost is reported. Objects that a stack or
the finalizer queue refers to directly, and what is below them, are work in progress if
their number changes. A new suspect of three dumps or more must have grown in each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.analysis.fingerprints import fingerprint
from ingest.heap.graph import RootKind
from ingest.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ingest.gate.profile import PathGroup, Profile
    from ingest.gate.rules import Budget, Rules

ARROW = " -> "

_BYTES_SHARE = 0.01
"""Of the reachable heap: growth by so much is a finding with one object more a dump."""

_FEW_IN_COMMON = 0.5

_LISTED = 3
"""Types below a path that a finding names."""

_IN_PROGRESS = (
    RootKind.LOCAL.label,
    RootKind.INTERNAL.label,
    RootKind.FINALIZER_QUEUE.label,
)


class Rule(StrEnum):
    """Why something is a finding."""

    GROWTH = "growth"
    NEW_SUSPECT = "new-suspect"
    SUSPECT = "suspect"
    BUDGET = "budget"
    EXPECTATION = "expectation"

    @property
    def meaning(self) -> str:
        """The rule in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Rule.GROWTH: "Objects accumulate in every dump",
    Rule.NEW_SUSPECT: "A leak suspect that earlier dumps do not have",
    Rule.SUSPECT: "A leak suspect",
    Rule.BUDGET: "More than a budget allows",
    Rule.EXPECTATION: "Not the expected number of objects",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: Why.
        fingerprint: Equal for the same finding in other dumps; what a baseline has.
        path: Where, in names that are the same in other dumps.
        message: One sentence, with figures.
        counts: Objects in each dump, where that is the finding.
        below: Short names of types that grow with them further down, the largest first.
        note: What a baseline says about it; empty mostly.
        example: A path from a root to one of the objects, with fields and addresses.
    """

    rule: Rule
    fingerprint: str
    path: tuple[str, ...]
    message: str
    counts: tuple[int, ...] = ()
    below: tuple[str, ...] = ()
    note: str = ""
    example: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The path as text."""
        return ARROW.join(self.path)


@dataclass(slots=True)
class Judged:
    """What was found in some dumps.

    Attributes:
        dumps: Their profiles, in order.
        findings: What is wrong, sorted by rule, the largest growth first.
        notes: What limits the comparison.
    """

    dumps: Sequence[Profile]
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def judge(
    dumps: Sequence[Profile], rules: Rules, against: Sequence[Profile] = ()
) -> Judged:
    """Find what is wrong.

    Args:
        dumps: In the order in which they were taken; the last one is judged.
        rules: What is allowed.
        against: Dumps of a reference. What is found there too is no finding.
    """
    found = Judged(dumps, notes=_notes([*against, *dumps]))
    last = dumps[-1]
    if len(dumps) > 1 and rules.growth:
        found.findings += _growths(dumps, rules)
    if rules.suspects:
        earlier = [*against, *dumps[:-1]]
        known = {key for dump in earlier for key in dump.suspects}
        rule = Rule.NEW_SUSPECT if earlier else Rule.SUSPECT
        found.findings += [
            Finding(rule, key, suspect.names, suspect.sentence)
            for key, suspect in last.suspects.items()
            if key not in known and _kept_growing(dumps, suspect.type_name, rules)
        ]
    for budget in rules.budgets:
        found.findings += _over(last, budget)
    for name, expected in rules.expect.items():
        found.findings += _unexpected(last, name, expected)
    if len(against) > 1 and rules.growth:
        known = {growth.fingerprint for growth in _growths(against, rules)}
        found.findings = [one for one in found.findings if one.fingerprint not in known]
    return found


def _kept_growing(dumps: Sequence[Profile], type_name: str, rules: Rules) -> bool:
    """Whether a type grows in every dump as a path must; of two dumps nothing is said.

    What is filled once, such as a cache, is no leak because it is large.
    """
    counts = [dump.normalised_types.get(type_name, 0) for dump in dumps]
    return len(dumps) <= 2 or all(
        more - count >= max(rules.growth, count * rules.growth_percent / 100, 1)
        for count, more in pairwise(counts)
    )


def _notes(dumps: Sequence[Profile]) -> list[str]:
    """What limits a comparison of these dumps, one sentence each."""
    notes = [
        f"{dump.name} has no reachable objects"
        for dump in dumps
        if not dump.object_count
    ]
    for one, other in pairwise(dumps):
        if one.sha256 == other.sha256:
            notes.append(f"{one.name} and {other.name} are the same dump")
        elif one.format_name != other.format_name:
            notes.append(
                f"{one.name} is {one.format_name}, {other.name} is "
                f"{other.format_name}: only what both record is compared"
            )
        elif one.object_count and other.object_count:
            fewer = min(len(one.normalised_types), len(other.normalised_types))
            common = one.normalised_types.keys() & other.normalised_types.keys()
            if len(common) < _FEW_IN_COMMON * fewer:
                notes.append(
                    f"{one.name} and {other.name} have {len(common)} of {fewer} types "
                    "in common: are they of one program?"
                )
    return notes


def _growths(dumps: Sequence[Profile], rules: Rules) -> list[Finding]:
    """Topmost paths that grew in every dump, those with most new bytes first."""
    last = dumps[-1]
    growing = {
        key: counts
        for key, group in last.paths.items()
        if group.type_name and (counts := _grown(dumps, key, group, rules))
    }
    has_more = {
        key
        for key, counts in growing.items()
        if _has_more(dumps, last.paths[key], counts)
    }
    below = _below(last.paths, growing)
    found = []
    for key, counts in growing.items():
        group = last.paths[key]
        above = list(_ancestors(last.paths, group.parent))
        if (
            key not in has_more
            or any(other in has_more for other in above)
            or any(_is_in_progress(dumps, other) for other in (key, *above))
        ):
            continue
        # If what holds them only moved, more of a common type mean nothing.
        total = last.normalised_types[group.type_name]
        if any(other in growing for other in above) and 2 * counts[-1] < total:
            continue
        first = dumps[0].paths.get(key)
        more = group.total_bytes - (first.total_bytes if first else 0)
        text = ", ".join(f"{count:,}" for count in counts)
        names = tuple(dict.fromkeys(below.get(key, ())))[:_LISTED]
        beside = f", with {', '.join(names)}" if names else ""
        message = (
            f"{group.names[-1]} grew in every dump: {text} objects, "
            f"{human_bytes(max(more, 0))} more in all"
            f"{beside}."
        )
        found.append(
            (
                more,
                Finding(Rule.GROWTH, key, group.names, message, tuple(counts), names),
            )
        )
    found.sort(key=lambda one: (-one[0], one[1].fingerprint))
    return [finding for _, finding in found]


def _below(
    paths: Mapping[str, PathGroup], growing: Iterable[str]
) -> dict[str, list[str]]:
    """The names of what grows below each path, the largest first."""
    found: dict[str, list[str]] = {}
    for key in sorted(growing, key=lambda one: -paths[one].total_bytes):
        for above in _ancestors(paths, paths[key].parent):
            found.setdefault(above, []).append(paths[key].names[-1])
    return found


def _grown(
    dumps: Sequence[Profile], key: str, group: PathGroup, rules: Rules
) -> list[int] | None:
    """The counts of a path that grew in every dump; ``None`` if it did not."""
    groups = [dump.paths.get(key) for dump in dumps]
    counts = [0 if one is None else one.object_count for one in groups]
    # Between two dumps, a path that was not there is one that is made late.
    if len(dumps) == 2 and not counts[0]:
        return None
    sizes = [0 if one is None else one.shallow_bytes for one in groups]
    for at, (before, after) in enumerate(pairwise(counts)):
        more = after - before
        bytes_more = sizes[at + 1] - sizes[at]
        is_large = bytes_more >= _BYTES_SHARE * dumps[at].reachable_bytes
        least = (
            1 if is_large else max(rules.growth, before * rules.growth_percent / 100)
        )
        if more < least:
            return None
    return counts


def _has_more(
    dumps: Sequence[Profile], group: PathGroup, counts: Sequence[int]
) -> bool:
    """Whether there are more objects of a type in every dump, wherever they are.

    Otherwise what seems to grow has been elsewhere before. Half of the growth is
    enough, for the type may be common.
    """
    totals = [dump.normalised_types.get(group.type_name, 0) for dump in dumps]
    return all(
        2 * (more - before) >= after - count
        for (before, more), (count, after) in zip(
            pairwise(totals), pairwise(counts), strict=True
        )
    )


def _ancestors(paths: Mapping[str, PathGroup], key: str) -> Iterable[str]:
    while key:
        yield key
        key = paths[key].parent


def _is_in_progress(dumps: Sequence[Profile], key: str) -> bool:
    """Whether a path is of objects at a stack or in the finalizer queue that change."""
    group = dumps[-1].paths[key]
    if len(group.names) != 2 or group.root_kind not in _IN_PROGRESS:
        return False
    groups = [dump.paths.get(key) for dump in dumps]
    return len({one.object_count if one else 0 for one in groups}) > 1


def _over(dump: Profile, budget: Budget) -> list[Finding]:
    """A finding for each limit of a budget that a dump exceeds."""
    if budget.type is not None:
        matching = [
            total
            for full, total in dump.types.items()
            if _is_named(dump, full, budget.type)
        ]
        pattern = budget.type
        count = sum(total.object_count for total in matching)
        size = sum(total.shallow_bytes for total in matching)
    else:
        pattern = str(budget.path)
        groups = [
            group
            for group in dump.paths.values()
            if fnmatchcase(ARROW.join(group.names), pattern)
        ]
        count = sum(group.object_count for group in groups)
        size = sum(group.total_bytes for group in groups)
    found = []
    for name, value, most, text in (
        ("instances", count, budget.max_instances, f"{count:,} objects"),
        ("bytes", size, budget.max_bytes, human_bytes(size)),
    ):
        if most is not None and value > most:
            limit = f"{most:,}" if name == "instances" else human_bytes(most)
            found.append(
                Finding(
                    Rule.BUDGET,
                    fingerprint(("budget", name, pattern)),
                    (pattern,),
                    f"{pattern}: {text}, and the budget is {limit}.",
                )
            )
    return found


def _unexpected(dump: Profile, name: str, expected: int) -> list[Finding]:
    count = sum(
        total.object_count
        for full, total in dump.types.items()
        if _is_named(dump, full, name)
    )
    if count == expected:
        return []
    return [
        Finding(
            Rule.EXPECTATION,
            fingerprint(("expectation", name)),
            (name,),
            f"{name}: {count:,} objects, and {expected:,} are expected.",
        )
    ]


def _is_named(dump: Profile, full: str, pattern: str) -> bool:
    return fnmatchcase(full, pattern) or fnmatchcase(dump.captions[full], pattern)
