"""A path from a root as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.queries.answer import GraphPath

_MOST_STEPS = 40
_ADDRESS = re.compile(r" 0x[0-9a-f]+(?: \".*\")?$", re.DOTALL)
_FOLD = re.compile(r"… ([0-9,]+) more ")


@dataclass(frozen=True, slots=True)
class PathLine:
    """One line of a path.

    Attributes:
        number: Number of the step, 0 for the root; ``None`` for a fold.
        text: The step, or what is folded.
        is_cut: Whether it is the step to cut off.
    """

    number: int | None
    text: str
    is_cut: bool


def path_lines(steps: Sequence[str], cut_step: int | None = None) -> list[PathLine]:
    """Return a path as numbered lines.

    Runs of one type are folded, and the middle of a very long path is left out. A fold
    counts as the steps that it stands for.

    Args:
        steps: A root, then objects.
        cut_step: The step to mark as the place to cut; ``None`` for none.
    """
    marked = list(steps)
    if cut_step is not None and cut_step < len(marked):
        marked[cut_step] += _CUT
    shown = _without_runs(marked)
    if len(shown) > _MOST_STEPS:
        half = _MOST_STEPS // 2
        left = sum(_steps_of(step) for step in shown[half:-half])
        shown = [*shown[:half], f"… {left:,} more steps", *shown[-half:]]
    lines, number = [], 0
    for place, step in enumerate(shown):
        folds = place > 0 and _FOLD.match(step) is not None
        text = step.removesuffix(_CUT)
        at = None if folds else number
        lines.append(PathLine(at, printable(text), text != step))
        number += _steps_of(step)
    return lines


def path_text(steps: Sequence[str], cut_step: int | None = None) -> str:
    """Return `path_lines` as text."""
    text = ""
    for line in path_lines(steps, cut_step):
        mark = "" if line.number is None else line.number
        text += f"{mark:>6}  {line.text}{_CUT if line.is_cut else ''}\n"
    return text


def paths_text(paths: Sequence[Sequence[str]]) -> str:
    """Return paths to one object, each without the beginning it shares with the last.

    Args:
        paths: Paths, each a root, then objects.
    """
    text = ""
    before: tuple[str, ...] = ()
    for path in paths:
        shared = 0
        while shared < min(len(path), len(before)) and path[shared] == before[shared]:
            shared += 1
        lines = path_text(path).splitlines(keepends=True)
        # A path with folded runs is short, so it is written in full.
        if shared >= _TRUNK and len(lines) == len(path):
            as_above = f"{f'0-{shared - 1}':>6}  as above, down to {path[shared - 1]}"
            lines[:shared] = [f"{printable(as_above)}\n"]
        text += "\n" + "".join(lines)
        before = tuple(path)
    return text


def graph_path_steps(path: GraphPath) -> list[str]:
    """Return a path of the graph as steps for `path_text`.

    The node of the dump, above all roots, is left out. Relationships that do not hold
    an object are named; one that leads back to the previous step has an arrow.
    """
    nodes = cast("list[Mapping[str, object]]", path[::2])
    links = cast("list[Mapping[str, object]]", path[1::2])
    steps = [_node_text(nodes[0])]
    for link, node, is_forward in zip(links, nodes[1:], path.is_forward, strict=True):
        name = str(link["type"])
        text = f"{link['field']}: " if link.get("field") else ""
        if name not in _HOLDING:
            text = f"{name} {text}"
        steps.append(f"{'' if is_forward else '<- '}{text}{_node_text(node)}")
    if len(steps) > 1 and nodes[0]["labels"] == ["Dump"]:
        del steps[0]
    return steps


_LONGEST_VALUE = 40
_HOLDING = ("HAS_ROOT", "REFERENCES")


def _node_text(node: Mapping[str, object]) -> str:
    """The name of a node, as in the answers of the library."""
    (label, *_) = cast("list[str]", node["labels"]) or [""]
    if label == "Object":
        text = f"{node.get('type_name')} {node.get('address')}"
        value = node.get("value")
        return text if value is None else f'{text} "{str(value)[:_LONGEST_VALUE]}"'
    name = next((node[one] for one in ("name", "sentence") if one in node), "")
    return str(name) if label == "Root" else f"{label} {name}".strip()


_TRUNK = 3
_CUT = "  <- cut here"


def _steps_of(step: str) -> int:
    """How many steps a line stands for."""
    fold = _FOLD.match(step)
    return int(fold[1].replace(",", "")) if fold else 1


def _without_runs(steps: list[str]) -> list[str]:
    """Fold runs of more than three steps of one type to their ends."""
    shown: list[str] = []
    begin = 0
    while begin < len(steps):
        end = begin
        while end < len(steps) and _type(steps[end]) == _type(steps[begin]):
            end += 1
        run = steps[begin:end]
        if len(run) > 3:
            run = [run[0], f"… {len(run) - 2:,} more {_type(run[0])}", run[-1]]
        shown += run
        begin = end
    return shown


def _type(step: str) -> str:
    """Return the field and type of a step, without its address and value."""
    return _ADDRESS.sub("", step)
