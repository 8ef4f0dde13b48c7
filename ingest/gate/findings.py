"""What is wrong with the dumps of a program.

A leak accumulates objects below something that does not accumulate, which tells growth
from noise. A path is a finding if its objects became more in every dump, by at least so
many and by such a share of what there was; if objects of its type became more, too, so
that they have not only moved; and if the steps are those of a leak, as
`ingest.gate.trend` says. What fills up or fluctuates is a note, and so are a few KiB.
Among nested paths the topmost one that ends in a type of the program is reported, since
a collection, its entries and a lambda only lead to what leaks. Growth below objects
whose number stays the same is a finding of its own: a timer may lead to a module, and
the module to the cache that leaks. Objects to which a stack or the finalizer queue
refers directly, and all below them, are work in progress if their number changes. The
runtime's metadata, except class loaders, is never reported as growing. A new suspect in
three dumps or more must have grown in each.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.analysis.fingerprints import fingerprint, normalised_type
from ingest.analysis.merged import OWNER_PATHS
from ingest.compare.dumps import notes_on, notes_on_order
from ingest.compare.growth import FEWEST_DUMPS, Step, growing
from ingest.compare.paths import is_unsure, path_tree
from ingest.gate.beside import ABOUT, is_beside
from ingest.gate.garbage import garbage_of
from ingest.gate.trend import Kind, trend_of
from ingest.heap.completeness import incomplete_note
from ingest.heap.graph import RootKind
from ingest.runtimes import TypeClass, named
from ingest.words.text import counted, human_bytes
from ingest.words.type_names import hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump, TypeTotals
    from ingest.compare.paths import PathTree
    from ingest.gate.rules import Budget, Rules
    from ingest.gate.trend import Trend
    from ingest.words.text import Captions

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]


ARROW = " -> "
TREE = OWNER_PATHS
"""The merged tree whose paths are judged, if all dumps have it."""

MAX_PATHS = 50_000
"""Largest paths of a dump: many more than the graph has, for a leak begins small.
"""

_BYTES_SHARE = 0.01
"""Growth by this share of the heap is a finding with one more object per dump."""

_LITTLE_BYTES, _LITTLE_SHARE, _FEW_OBJECTS = 2 << 10, 0.001, 10
"""Growth of fewer objects and bytes a dump, and of less of the heap, is a note."""

_LISTED = 3
"""The most types below a path that a finding names."""

_IN_PROGRESS = (
    RootKind.LOCAL.label,
    RootKind.INTERNAL.label,
    RootKind.FINALIZER_QUEUE.label,
    RootKind.JNI_LOCAL.label,
    RootKind.JAVA_FRAME.label,
    RootKind.NATIVE_STACK.label,
    RootKind.THREAD_BLOCK.label,
)


class Rule(StrEnum):
    """The rules by which something in a dump becomes a finding."""

    GROWTH = "growth"
    GARBAGE = "garbage"
    NEW_SUSPECT = "new-suspect"
    SUSPECT = "suspect"
    BUDGET = "budget"
    EXPECTATION = "expectation"

    @property
    def meaning(self) -> str:
        """The rule in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Rule.GROWTH: "Objects accumulate from dump to dump",
    Rule.GARBAGE: "Garbage accumulates from dump to dump",
    Rule.NEW_SUSPECT: "A leak suspect that earlier dumps do not have",
    Rule.SUSPECT: "A leak suspect",
    Rule.BUDGET: "More than a budget allows",
    Rule.EXPECTATION: "Not the expected number of objects",
}


class SourcePlace(NamedTuple):
    """A place in a source file.

    Attributes:
        file: Name of the file, with its folders as far as they are known.
        line, column: From 1; 0 if unknown.
    """

    file: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        rule: The rule that it breaks.
        fingerprint: Equal for the same finding in other dumps; the key of a baseline.
        path: Where it is, in names that are the same in other dumps.
        message: One sentence, with figures.
        counts: Objects in each dump, if the finding is about that.
        below: Short names of types that grow below the path, the largest first.
        note: What a baseline says about it; mostly empty.
        example: A path from a root to one of the objects, with fields and addresses.
        sentence: What holds what, in the words of leak suspects; empty if that is not
            known.
        confidence: For growth, 1 minus the chance that a number that only fluctuates
            rises like this.
        steps: For growth, the path in full names of types.
        source: Where the objects are made, or else the function that holds them;
            ``None`` if the dump does not say it.
    """

    rule: Rule
    fingerprint: str
    path: tuple[str, ...]
    message: str
    counts: tuple[int, ...] = ()
    below: tuple[str, ...] = ()
    note: str = ""
    example: tuple[str, ...] = ()
    confidence: float | None = None
    sentence: str = ""
    steps: tuple[str, ...] = ()
    source: SourcePlace | None = None

    @property
    def told(self) -> str:
        """The sentence and the message."""
        return f"{self.sentence} {self.message}".lstrip()

    @property
    def place(self) -> str:
        """The path as text."""
        return ARROW.join(self.path)


@dataclass(slots=True)
class Judged:
    """What was found in some dumps.

    Attributes:
        dumps: The dumps in order.
        findings: What is wrong, sorted by rule, the largest growth first.
        notes: What limits the comparison.
        incomplete: A sentence about each incomplete dump, also of the reference.
    """

    dumps: Sequence[ComparedDump]
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    incomplete: tuple[str, ...] = ()


def judge(
    dumps: Sequence[ComparedDump], rules: Rules, against: Sequence[ComparedDump] = ()
) -> Judged:
    """Find what is wrong.

    Args:
        dumps: In the order in which they were taken; the last one is judged.
        rules: What is allowed.
        against: Dumps of a reference. What is found there, too, is no finding.
    """
    every = [*against, *dumps]
    incomplete = tuple(
        incomplete_note(dump.name, dump.incomplete) for dump in every if dump.incomplete
    )
    # These are reported first, not among other notes.
    notes = [] if len(every) == 1 else notes_on(every)
    order = [*notes_on_order(against), *notes_on_order(dumps)]
    found = Judged(
        dumps,
        notes=[*order, *(note for note in notes if note not in incomplete)],
        incomplete=incomplete,
    )
    last = dumps[-1]
    if len(dumps) > 1 and rules.growth:
        found.findings, told = growths(dumps, rules)
        found.notes += told
        found.notes += _advice(found.findings, len(dumps))
    if rules.suspects:
        earlier = every[:-1]
        known = {key for dump in earlier for key in dump.suspects["fingerprint"]}
        rule = Rule.NEW_SUSPECT if earlier else Rule.SUSPECT
        found.findings += [
            Finding(rule, row["fingerprint"], _places(last, row), row["sentence"])
            # Other large suspects beside the first may well be needed.
            for row in last.suspects.head(1).iter_rows(named=True)
            if row["fingerprint"] not in known
            and not _is_told(row, found.findings)
            and _kept_growing(dumps, normalised_type(row["type_name"]), rules)
        ]
    for budget in rules.budgets:
        found.findings += _over(last, budget)
    for name, expected in rules.expect.items():
        found.findings += _unexpected(last, name, expected)
    if len(against) > 1 and rules.growth:
        known = {growth.fingerprint for growth in growths(against, rules)[0]}
        found.findings = [one for one in found.findings if one.fingerprint not in known]
    return found


def _places(dump: ComparedDump, suspect: Mapping[str, str]) -> tuple[str, ...]:
    """The steps of a suspect's path that are the same in every dump."""
    holder, _, target = suspect["cut"].rpartition(ARROW)
    name = dump.captions.of(suspect["type_name"])
    return tuple(dict.fromkeys((holder, target, name)))


def _is_told(suspect: Mapping[str, Any], findings: Sequence[Finding]) -> bool:
    """Whether a finding says that the suspect's objects grew."""
    name = normalised_type(suspect["type_name"])
    return any(
        one.steps[-1:] == (name,) and one.counts[-1:] == (suspect["object_count"],)
        for one in findings
    )


def _kept_growing(dumps: Sequence[ComparedDump], type_name: str, rules: Rules) -> bool:
    """Whether a type grows in every dump as a path must; true for two dumps.

    A cache that is filled once is not a leak just because it is large.
    """
    counts = np.array([[dump.count_of(type_name) for dump in dumps]])
    step = Step(max(rules.growth, 1), rules.growth_percent)
    return len(dumps) <= 2 or (
        bool(growing(counts, counts, step)[0][0])
        and trend_of(counts[0].tolist()).kind is Kind.LEAK
    )


_UNSURE = 0.95
"""Confidence below which more dumps are advised."""

_SURE_DUMPS = 5


def _advice(findings: Sequence[Finding], dump_count: int) -> list[str]:
    """The advice to take more dumps, to be surer what grows."""
    unsure = [one for one in findings if (one.confidence or 1.0) < _UNSURE]
    if not unsure or dump_count >= _SURE_DUMPS:
        return []
    return [
        f"{dump_count} dumps do not prove growth: a number that only fluctuates may "
        f"rise so. Take {_SURE_DUMPS}; --min-dumps {_SURE_DUMPS} asks for them."
    ]


_KINDS = {
    Kind.FILLS_UP: "by smaller and smaller steps, so it fills up; take two more dumps "
    "to see whether it stops",
    Kind.UNEVEN: "by unlike steps, as what fluctuates does; take two more dumps to be "
    "sure",
}


def growths(
    dumps: Sequence[ComparedDump], rules: Rules
) -> tuple[list[Finding], list[str]]:
    """The topmost paths that grew in every dump like a leak, and notes on others.

    Both are sorted by new bytes, the most first; garbage comes last.
    """
    tree = _tree(dumps)
    step = Step(max(rules.growth, 1), rules.growth_percent, _BYTES_SHARE)
    sizes = [dump.reachable_bytes for dump in dumps]
    grows, _ = growing(tree.object_count, tree.shallow_bytes, step, sizes)
    grows &= ~_is_root(tree) & ~is_unsure(tree, dumps)
    runtime = named(dumps[-1].runtime)
    classes = runtime.type_classes(tree.name, rules.own)
    grows &= ~is_beside(dumps[-1], classes, tree)
    in_progress = _in_progress(tree)
    busy = in_progress | tree.is_above(in_progress)
    has_more = np.zeros(len(grows), np.bool_)
    rows = np.flatnonzero(grows).tolist()
    has_more[[row for row in rows if _has_more(dumps, tree, row, busy)]] = True
    trends = {row: trend_of(tree.object_count[row].tolist()) for row in rows}
    leaks = np.zeros(len(grows), np.bool_)
    leaks[[row for row, trend in trends.items() if trend.kind is Kind.LEAK]] = True
    leaks &= has_more
    chosen = _blamed(dumps[-1], classes, tree, leaks & ~busy)
    keys = _keys(dumps[-1], classes, tree, chosen)
    chosen[list(keys)] = False
    others = has_more & ~leaks & ~tree.is_above(has_more) & ~tree.is_below(leaks)
    others &= ~busy
    # If the holder only moved, more objects of a common type mean nothing.
    below_moved = tree.is_above(grows & ~has_more)
    captions = dumps[-1].captions
    below = _below(tree, rows)
    for value, held in keys.items():
        below.setdefault(held, []).append(tree.name[value])
    found, little = [], list[str]()
    for row in np.flatnonzero(chosen).tolist():
        counts = tuple(tree.object_count[row].tolist())
        total = dumps[-1].count_of(normalised_type(tree.name[row]))
        if below_moved[row] and 2 * counts[-1] < total:
            continue
        more = int(tree.explained_bytes[row])
        text = ", ".join(f"{count:,}" for count in counts)
        in_all = ""
        if classes[row] == TypeClass.PROGRAM and total > ABOUT * counts[-1]:
            in_all = f" of {total:,} in the whole program"
        listed = tuple(dict.fromkeys(map(captions.of, below.get(row, ()))))[:_LISTED]
        beside = f", with {', '.join(listed)}" if listed else ""
        path = tree.captions(row, captions)
        # Weak references hold nothing: only their own bytes count.
        few = np.inf if tree.name[row] in runtime.weak_references else _FEW_OBJECTS
        if _is_little(counts, more, sizes[-1], few):
            little.append(
                f"{path[-1]} grew{each_time(len(dumps))}, by only {human_bytes(more)} "
                f"in all: {text} objects, {ARROW.join(path)}."
            )
            continue
        confidence = trends[row].confidence
        message = (
            f"{path[-1]} grew{each_time(len(dumps))}: {text} objects{in_all}, "
            f"{human_bytes(max(more, 0))} more in all"
            f"{beside} (confidence {confidence:.0%})."
        )
        key = tree.fingerprint[row]
        finding = Finding(
            Rule.GROWTH, key, path, message, counts, listed,
            confidence=confidence, steps=tree.steps(row),
        )  # fmt: skip
        found.append((-more, key, finding))
    findings = [finding for *_, finding in sorted(found, key=lambda one: one[:2])]
    notes = _notes_on_others(tree, captions, others, trends) + little[:_LISTED]
    waste, told = _garbage(dumps, step, rules)
    return findings + waste, notes + told


def _is_little(
    counts: Sequence[int],
    more_bytes: int,
    heap_bytes: int,
    few: float = _FEW_OBJECTS,
) -> bool:
    """Whether so few objects and bytes grew that it is a note."""
    steps = len(counts) - 1
    return (
        counts[-1] - counts[0] < few * steps
        and more_bytes < _LITTLE_BYTES * steps
        and more_bytes < _LITTLE_SHARE * heap_bytes
    )


def _garbage(
    dumps: Sequence[ComparedDump], step: Step, rules: Rules
) -> tuple[list[Finding], list[str]]:
    """The garbage that grew like a leak, as a finding or a note."""
    grew = garbage_of(dumps, step, rules)
    if grew is None:
        return [], []
    captions = dumps[-1].captions
    name = captions.of(grew.type_name)
    below = tuple(dict.fromkeys(map(captions.of, grew.below)))[:_LISTED]
    counts = ", ".join(f"{count:,}" for count in grew.counts)
    beside = f", with {', '.join(below)}" if below else ""
    told = (
        f"{name} that nothing holds grew{each_time(len(dumps))}: {counts} objects, "
        f"{human_bytes(grew.more_bytes)} more in all{beside}"
    )
    if not grew.is_kept or _is_little(
        grew.counts, grew.more_bytes, dumps[-1].reachable_bytes
    ):
        return [], [f"{told}. {grew.why}"]
    key = fingerprint(("garbage", normalised_type(grew.type_name)))
    message = f"{told} (confidence {grew.confidence:.0%}). {grew.why}"
    return [
        Finding(
            Rule.GARBAGE, key, ("garbage", name), message, grew.counts, below,
            confidence=grew.confidence, steps=("garbage", grew.type_name),
        )
    ], []  # fmt: skip


def each_time(dump_count: int) -> str:
    """How often something grew: `` in every dump``, or nothing if there are two."""
    return " in every dump" if dump_count >= FEWEST_DUMPS else ""


def _notes_on_others(
    tree: PathTree, captions: Captions, others: Flags, trends: Mapping[int, Trend]
) -> list[str]:
    """Notes on what grew in every dump, but not like a leak."""
    rows = np.flatnonzero(others).tolist()
    size = tree.total_bytes[:, -1] - tree.total_bytes[:, 0]
    rows.sort(key=lambda row: (-size[row], row))
    found = []
    for row in rows[:_LISTED]:
        counts = ", ".join(f"{count:,}" for count in tree.object_count[row].tolist())
        path = tree.captions(row, captions)
        found.append(
            f"{path[-1]} grew{each_time(tree.object_count.shape[1])}, "
            f"{_KINDS[trends[row].kind]}: {counts} objects, {ARROW.join(path)}."
        )
    if len(rows) > _LISTED:
        found.append(f"{len(rows) - _LISTED:,} more paths fill up or fluctuate.")
    return found


def _blamed(
    dump: ComparedDump, classes: NDArray[np.uint8], tree: PathTree, leaks: Flags
) -> Flags:
    """The topmost leaking paths, or the program's types to which they only lead.

    Args:
        dump: The last dump.
        classes: uint8 (G,). The `TypeClass` of the last type of each path.
        tree: The paths.
        leaks: Bool (G,). Paths that grew like a leak.
    """
    chosen = leaks & ~tree.is_explained(leaks)
    runtime = named(dump.runtime)
    leads = classes != TypeClass.PROGRAM
    for pattern in filter(None, map(runtime.patterns.get, ("closure", "delegate"))):
        matches = map(re.compile(pattern).search, tree.name)
        leads |= np.fromiter(map(bool, matches), np.bool_, len(leads))
    leads &= tree.has_objects
    if not (chosen & leads).any():
        return np.asarray(chosen)
    found = np.asarray(chosen & ~leads)
    counts = tree.object_count
    more = counts[:, -1] - counts[:, 0]
    children: dict[int, list[int]] = {}
    parent = tree.parent.tolist()
    for row in np.flatnonzero(leaks).tolist():
        children.setdefault(parent[row], []).append(row)
    for row in np.flatnonzero(chosen & leads).tolist():
        found[_first_of_program(row, children, leads, more)] = True
    return found


def _first_of_program(
    row: int, children: Mapping[int, Sequence[int]], leads: Flags, more: Longs
) -> int:
    """The nearest path below that ends in a program's type and grew as much.

    Returns:
        ``row`` itself if there is none, as for strings in a list.
    """
    level = [row]
    while level:
        level = [
            child
            for one in level
            for child in children.get(one, ())
            if 2 * more[child] >= more[row]
        ]
        if own := [child for child in level if not leads[child]]:
            return max(own, key=lambda child: (more[child], -child))
    return row


def _keys(
    dump: ComparedDump, classes: NDArray[np.uint8], tree: PathTree, chosen: Flags
) -> dict[int, int]:
    """What grew beside the program's objects, as keys: values, or as many objects.

    Or beside larger values of the runtime.

    Returns:
        Rows of such paths, mapped to the path of the program's objects in the same
        container, if it grew at least as much.
    """
    tables = frozenset(named(dump.runtime).entries_fields.values())
    size = tree.explained_bytes
    count = tree.object_count[:, -1] - tree.object_count[:, 0]
    # Of one type, shorter paths by another holder may have some.
    of_type = Counter[str]()
    for row in np.flatnonzero(count > 0).tolist():
        of_type[tree.name[row]] += int(count[row])
    beside: dict[int, list[int]] = {}
    for row in np.flatnonzero(chosen).tolist():
        above = int(tree.parent[row])
        is_bare = classes[row] == TypeClass.CONTAINER and tree.name[above][-2:] == "[]"
        in_table = tree.name[above] in tables
        if is_bare or in_table:  # bare ones are locks of parts of a dictionary
            above = int(tree.parent[above])
        beside.setdefault(above, []).append(row)
    found: dict[int, int] = {}
    for parent, rows in beside.items():
        own = [row for row in rows if classes[row] == TypeClass.PROGRAM]
        if tree.has_objects[parent]:
            # Of the runtime's values the largest is what its entries are for.
            # A map may have as many keys and values that are both the program's.
            most = max(
                own or rows,
                key=lambda row: (count[row] if own else 0, size[row], -row),
            )
            alike = tree.object_count[most]
            found |= {
                row: most
                for row in rows
                if row != most
                and count[row] <= ABOUT * of_type[tree.name[most]]
                and (
                    classes[row] == TypeClass.LIBRARY
                    or (classes[row] == TypeClass.CONTAINER and size[row] <= size[most])
                    or np.array_equal(tree.object_count[row], alike)
                )
            }
    others = chosen.copy()
    others[list(found)] = False
    return found | _keys_of_wrapped(classes, tree, others)


def _keys_of_wrapped(
    classes: NDArray[np.uint8], tree: PathTree, chosen: Flags
) -> dict[int, int]:
    """The same, where objects of the program are told in the values of the keys.

    As stores in gauges, each of which has two by their names.
    """
    count = tree.object_count[:, -1] - tree.object_count[:, 0]
    found: dict[int, int] = {}
    is_own = chosen & (classes == TypeClass.PROGRAM)
    for row in np.flatnonzero(chosen & (classes == TypeClass.LIBRARY)).tolist():
        parent = int(tree.parent[row])
        if not tree.has_objects[parent]:
            continue
        for value in np.flatnonzero(tree.parent == parent).tolist():
            if value != row and count[row] <= ABOUT * count[value]:
                at = np.zeros(len(count), np.bool_)
                at[value] = True
                inside = np.flatnonzero(tree.is_above(at) & is_own)
                if len(inside):
                    found[row] = int(inside[np.argmax(count[inside])])
    return found


def _tree(dumps: Sequence[ComparedDump]) -> PathTree:
    """The paths that are judged; stored tables have only shortest ones."""
    is_there = all(TREE in dump.paths["tree"] for dump in dumps)
    return path_tree(dumps, TREE if is_there else "root_paths")


def _is_root(tree: PathTree) -> Flags:
    """Bool (G,): the top, and the kinds of roots."""
    return np.asarray(tree.parent <= 0)


def _below(tree: PathTree, rows: Sequence[int]) -> dict[int, list[str]]:
    """The types that grow below each path because of it, the largest first."""
    found: dict[int, list[str]] = {}
    size, parent = tree.total_bytes[:, -1], tree.parent.tolist()
    for row in sorted(rows, key=lambda row: (-size[row], row)):
        above = parent[row]
        while above > 0 and not tree.stays[above]:
            found.setdefault(above, []).append(tree.name[row])
            above = parent[above]
    return found


def _has_more(
    dumps: Sequence[ComparedDump], tree: PathTree, row: int, busy: Flags
) -> bool:
    """Whether objects of the path's type became more in every dump, wherever they are.

    Otherwise the objects that seem new were elsewhere before. Half of the growth is
    enough, for the type may be common. It is also enough if there are more without what
    is in progress, which comes and goes.
    """
    name = tree.name[row]
    alike = [at for at in np.flatnonzero(busy).tolist() if tree.name[at] == name]
    key = normalised_type(name)
    totals = np.array([dump.count_of(key) for dump in dumps])
    steps = np.diff(tree.object_count[row])
    lasting = totals - tree.object_count[alike].sum(axis=0)
    return any(bool((2 * np.diff(one) >= steps).all()) for one in (totals, lasting))


def _in_progress(tree: PathTree) -> Flags:
    """Bool (G,): changing paths of objects at a stack or in the finalizer queue."""
    roots = np.array([name in _IN_PROGRESS for name in tree.name], np.bool_)
    roots &= _is_root(tree)
    objects = tree.has_objects
    first = objects & ~tree.is_above(objects) & tree.is_above(roots)
    counts = tree.object_count
    return np.asarray(first & (counts != counts[:, :1]).any(axis=1))


def _over(dump: ComparedDump, budget: Budget) -> list[Finding]:
    """A finding for each limit of a budget that a dump exceeds."""
    if budget.type is not None:
        pattern = budget.type
        matching = _named(dump, pattern)
        count = sum(total.object_count for total in matching)
        size = sum(total.shallow_bytes for total in matching)
    else:
        pattern = str(budget.path)
        tree = _tree([dump])
        rows = [
            row
            for row in range(1, len(tree.name))
            if fnmatchcase(ARROW.join(tree.captions(row, dump.captions)), pattern)
        ]
        count = int(tree.object_count[rows, 0].sum())
        size = int(tree.total_bytes[rows, 0].sum())
    found = []
    for name, value, most, text in (
        ("instances", count, budget.max_instances, counted(count, "objects")),
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


def _unexpected(dump: ComparedDump, name: str, expected: int) -> list[Finding]:
    count = sum(total.object_count for total in _named(dump, name))
    if count == expected:
        return []
    meant = "" if count else hint(name, dump.instance_counts)
    return [
        Finding(
            Rule.EXPECTATION,
            fingerprint(("expectation", name)),
            (name,),
            f"{name}: {count:,} objects, and {expected:,} are expected{meant}.",
        )
    ]


def _named(dump: ComparedDump, pattern: str) -> list[TypeTotals]:
    """The types whose full or short name matches."""
    return [
        total
        for total in dump.totals.values()
        if fnmatchcase(total.name, pattern)
        or fnmatchcase(dump.captions.of(total.name), pattern)
    ]
