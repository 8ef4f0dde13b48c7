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
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.analysis.fingerprints import fingerprint, normalised_type
from ingest.analysis.types import rows_where
from ingest.compare.dumps import notes_on
from ingest.compare.growth import FEWEST_DUMPS, Step, growing
from ingest.compare.paths import is_unsure, path_tree
from ingest.gate.trend import Kind, trend_of
from ingest.heap.completeness import incomplete_note
from ingest.heap.graph import RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.holders import Paths
from ingest.suspects.words import Words
from ingest.words.text import counted, human_bytes
from ingest.words.type_names import hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.compare.dumps import ComparedDump, TypeTotals
    from ingest.compare.paths import PathTree
    from ingest.gate.rules import Budget, Rules
    from ingest.gate.trend import Trend
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder
    from ingest.words.text import Captions

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    from collections.abc import Container

    from ingest.tables.heap_tables import HeapTables


ARROW = " -> "
TREE = "root_paths"
"""The merged tree whose paths are judged."""

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
    Rule.GROWTH: "Objects accumulate from dump to dump",
    Rule.NEW_SUSPECT: "A leak suspect that earlier dumps do not have",
    Rule.SUSPECT: "A leak suspect",
    Rule.BUDGET: "More than a budget allows",
    Rule.EXPECTATION: "Not the expected number of objects",
}


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
    found = Judged(
        dumps,
        notes=[note for note in notes if note not in incomplete],
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

    Both are sorted by new bytes, the most first.
    """
    tree = path_tree(dumps, TREE)
    step = Step(max(rules.growth, 1), rules.growth_percent, _BYTES_SHARE)
    sizes = [dump.reachable_bytes for dump in dumps]
    grows, _ = growing(tree.object_count, tree.shallow_bytes, step, sizes)
    grows &= ~_is_root(tree) & ~is_unsure(tree, dumps)
    # Newly compiled code is no leak; a class loader may be one.
    classes = named(dumps[-1].runtime).type_classes(tree.name, rules.own)
    is_code = (classes == TypeClass.METADATA) & tree.has_objects
    is_code &= ["Loader" not in name for name in tree.name]
    grows &= ~is_code
    has_more = np.zeros(len(grows), np.bool_)
    rows = np.flatnonzero(grows).tolist()
    has_more[[row for row in rows if _has_more(dumps, tree, row)]] = True
    in_progress = _in_progress(tree)
    trends = {row: trend_of(tree.object_count[row].tolist()) for row in rows}
    leaks = np.zeros(len(grows), np.bool_)
    leaks[[row for row, trend in trends.items() if trend.kind is Kind.LEAK]] = True
    leaks &= has_more
    busy = in_progress | tree.is_above(in_progress)
    chosen = _blamed(dumps[-1], rules, tree, leaks & ~busy)
    keys = _keys(dumps[-1], rules, tree, chosen)
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
        listed = tuple(dict.fromkeys(map(captions.of, below.get(row, ()))))[:_LISTED]
        beside = f", with {', '.join(listed)}" if listed else ""
        path = tree.captions(row, captions)
        steps = len(dumps) - 1
        if (
            counts[-1] - counts[0] < _FEW_OBJECTS * steps
            and more < _LITTLE_BYTES * steps
            and more < _LITTLE_SHARE * sizes[-1]
        ):
            little.append(
                f"{path[-1]} grew{_each(len(dumps))}, by only {human_bytes(more)} in "
                f"all: {text} objects, {ARROW.join(path)}."
            )
            continue
        confidence = trends[row].confidence
        message = (
            f"{path[-1]} grew{_each(len(dumps))}: {text} objects, "
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
    notes = _notes_on_others(tree, captions, others, trends)
    return findings, notes + little[:_LISTED]


def _each(dump_count: int) -> str:
    """The words that follow "grew"; none for two dumps."""
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
            f"{path[-1]} grew{_each(tree.object_count.shape[1])}, "
            f"{_KINDS[trends[row].kind]}: {counts} objects, {ARROW.join(path)}."
        )
    if len(rows) > _LISTED:
        found.append(f"{len(rows) - _LISTED:,} more paths fill up or fluctuate.")
    return found


def _blamed(dump: ComparedDump, rules: Rules, tree: PathTree, leaks: Flags) -> Flags:
    """The topmost leaking paths, or the program's types to which they only lead.

    Args:
        dump: The last dump.
        rules: They say which types are the program's own.
        tree: The paths.
        leaks: Bool (G,). Paths that grew like a leak.
    """
    chosen = leaks & ~tree.is_explained(leaks)
    runtime = named(dump.runtime)
    leads = runtime.type_classes(tree.name, rules.own) != TypeClass.PROGRAM
    if closure := runtime.patterns.get("closure"):
        is_closure = re.compile(closure).search
        leads |= np.array([bool(is_closure(name)) for name in tree.name], np.bool_)
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
    dump: ComparedDump, rules: Rules, tree: PathTree, chosen: Flags
) -> dict[int, int]:
    """The runtime's values, such as keys, that grew beside the program's objects.

    Returns:
        Rows of such paths, mapped to the path of the program's objects in the same
        container, if it grew at least as much.
    """
    types = named(dump.runtime).type_classes(tree.name, rules.own)
    more = tree.object_count[:, -1] - tree.object_count[:, 0]
    beside: dict[int, list[int]] = {}
    for row in np.flatnonzero(chosen).tolist():
        beside.setdefault(int(tree.parent[row]), []).append(row)
    found: dict[int, int] = {}
    for parent, rows in beside.items():
        own = [row for row in rows if types[row] == TypeClass.PROGRAM]
        if own and tree.has_objects[parent]:
            most = max(own, key=lambda row: (more[row], -row))
            values = [row for row in rows if types[row] == TypeClass.LIBRARY]
            found |= {row: most for row in values if more[row] <= more[most]}
    return found


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


def _has_more(dumps: Sequence[ComparedDump], tree: PathTree, row: int) -> bool:
    """Whether objects of the path's type became more in every dump, wherever they are.

    Otherwise the objects that seem new were elsewhere before. Half of the growth is
    enough, for the type may be common.
    """
    key = normalised_type(tree.name[row])
    totals = [dump.count_of(key) for dump in dumps]
    counts = tree.object_count[row].tolist()
    return all(
        2 * (more - before) >= after - count
        for (before, more), (count, after) in zip(
            pairwise(totals), pairwise(counts), strict=True
        )
    )


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
        tree = path_tree([dump], TREE)
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


_SAMPLE = 2000
"""Objects of a path that are looked at as examples."""


def with_examples(
    findings: Sequence[Finding], tables: HeapTables
) -> tuple[list[Finding], list[str]]:
    """Give findings of growth a path to one of their objects; return notes, too.

    Growth of objects that only weak references lead to, and that the next collection
    frees, becomes a note.

    Args:
        findings: Findings about the last dump.
        tables: Tables by which that dump was judged, with the path of each object.
    """
    grown = {one.fingerprint for one in findings if one.rule is Rule.GROWTH}
    if not grown:
        return list(findings), []
    graph, metrics = tables.graph, tables.metrics
    classes = named(graph.runtime).type_classes(graph.type_names, tables.own)
    paths = Paths(graph, metrics, classes)
    objects = _objects_on(grown, tables)
    is_freed_next = metrics.is_freed_next()
    found, notes = [], []
    for finding in findings:
        example: tuple[str, ...] = ()
        sentence = ""
        rows = objects.get(finding.fingerprint)
        if rows is not None and len(rows):
            if bool(is_freed_next[rows].all()):
                notes.append(
                    f"{finding.path[-1]} grew{_each(len(finding.counts))}, but only "
                    "weak references and handles lead to these objects: the next "
                    "collection frees them."
                )
                continue
            kind = int(graph.type_index[rows[0]])
            if (held := paths.holder(kind, rows)) is not None:
                example, _ = paths.steps(held)
                sentence = _sentence(finding, graph, held, kind)
        found.append(replace(finding, example=example, sentence=sentence))
    return found, notes


def _sentence(finding: Finding, graph: HeapGraph, holder: Holder, kind: int) -> str:
    """What holds the objects that grew, in the words of leak suspects."""
    return Words(
        type_name=graph.type_names[kind],
        object_count=finding.counts[-1],
        retained_bytes=None,
        share=0.0,
        holder=holder,
        between=[graph.type_name(at) for at in holder.between],
        is_run=False,
        captions=graph.captions,
        runtime=graph.runtime,
    ).sentence


def _objects_on(
    wanted: Container[str], tables: HeapTables
) -> dict[str, NDArray[np.int32]]:
    """Some of the objects at the end of each path, by its fingerprint."""
    graph, metrics = tables.graph, tables.metrics
    tree = tables.merged[TREE]
    assert tree.row is not None
    keys = tables.type_paths["fingerprint"].to_list()
    found: dict[str, NDArray[np.int32]] = {}
    for path, (key, above) in enumerate(zip(keys, tree.parent.tolist(), strict=True)):
        # Nodes and tables of a collection are on its path, too.
        if key in wanted and key not in found and keys[above] != key:
            on_path = (tree.row == path) & (metrics.root_distance > 0)
            # Objects of paths that are left out have the row of the nearest path above.
            on_path &= graph.type_index == tree.type_index[path]
            rows = rows_where(on_path)
            at = np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(int)
            found[key] = rows[at]
    return found
