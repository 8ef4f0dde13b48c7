"""The rules of the gate: ``[tool.heaproots]`` of pyproject.toml, or heaproots.toml.

::

    [tool.heaproots]              # no such heading in heaproots.toml
    growth = 5                    # objects more in every dump; 0: do not look for it
    growth_percent = 2            # and this share of what there was
    suspects = true               # whether new leak suspects are findings
    own = ["MyApp.*"]             # types that are the program's own

    [tool.heaproots.expect]
    "MyApp.Activity" = 1          # exactly so many reachable instances

    [[tool.heaproots.budget]]
    type = "MyApp.Cache*"         # or path = "static -> *Cache -> *"
    max_instances = 1000
    max_bytes = 20_000_000
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError
from ingest.system.settings import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILES = ("heaproots.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit for what matches a glob.

    Attributes:
        type: Glob over full or short names of types; or ``None``.
        path: Glob over paths, as ``ingest check`` writes them; or ``None``.
        max_instances: Reachable objects.
        max_bytes: Shallow size; for a path, with everything below it.
    """

    type: str | None = None
    path: str | None = None
    max_instances: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What a project allows.

    Attributes:
        growth: Objects by which a path must grow in every dump to be a finding; 0 if
            growth is never one.
        growth_percent: The same, in percent of the objects before.
        suspects: Whether new leak suspects are findings.
        own: Globs of types that are the program's own.
        expect: How many reachable instances a type must have.
        budgets: Limits for types and paths.
    """

    growth: int = 5
    growth_percent: float = 2.0
    suspects: bool = True
    own: tuple[str, ...] = ()
    expect: Mapping[str, int] = field(default_factory=dict)
    budgets: tuple[Budget, ...] = ()


def find_rules(folder: Path, chosen: Path | None = None) -> Rules:
    """The rules of a project; the defaults if it has none.

    Args:
        folder: Where to look for one of `FILES`.
        chosen: A file to read instead.

    Raises:
        IngestError: The file cannot be read, or a rule is unknown or wrong.
    """
    for path in (folder / name for name in FILES) if chosen is None else (chosen,):
        if chosen is None and not path.is_file():
            continue
        table = user_toml(path)
        if path.name == "pyproject.toml":
            tool = table.get("tool", {})
            if not isinstance(tool, dict) or "heaproots" not in tool:
                continue
            table = tool["heaproots"]
        return _rules(path, table)
    return Rules()


def user_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file that must exist.

    Raises:
        IngestError: it does not exist, or cannot be read.
    """
    try:
        return read_toml(path)
    except FileNotFoundError as error:
        raise IngestError(f"{path} cannot be read ({error.strerror})") from error


_TYPES: dict[str, tuple[type, ...]] = {
    "growth": (int,),
    "growth_percent": (int, float),
    "suspects": (bool,),
    "own": (list,),
    "expect": (dict,),
    "budget": (list,),
}


def _rules(path: Path, found: object) -> Rules:
    if not isinstance(found, dict):
        raise IngestError(f"{path}: tool.heaproots is not a table")
    table: dict[str, Any] = found
    for key, value in table.items():
        if key not in _TYPES:
            raise IngestError(
                f"{path}: unknown rule {key!r}; known are {', '.join(_TYPES)}"
            )
        kinds = _TYPES[key]
        if not isinstance(value, kinds) or (
            isinstance(value, bool) and bool not in kinds
        ):
            raise IngestError(f"{path}: {key} must be {_named(kinds)}")
    for key in ("growth", "growth_percent"):
        if float(table.get(key, 0)) < 0:
            raise IngestError(f"{path}: {key} must not be negative")
    own = table.get("own", [])
    if not all(isinstance(glob, str) for glob in own):
        raise IngestError(f"{path}: own must be a list of texts")
    expect = table.get("expect", {})
    for name, count in expect.items():
        if type(count) is not int or count < 0:
            raise IngestError(f"{path}: expect {name!r} must be a number of objects")
    return Rules(
        growth=table.get("growth", Rules().growth),
        growth_percent=table.get("growth_percent", Rules().growth_percent),
        suspects=table.get("suspects", True),
        own=tuple(own),
        expect=expect,
        budgets=tuple(_budget(path, entry) for entry in table.get("budget", [])),
    )


def _named(kinds: tuple[type, ...]) -> str:
    words = {int: "a whole number", float: "a number", bool: "true or false",
             list: "a list", dict: "a table"}  # fmt: skip
    return words[kinds[-1]]


def _budget(path: Path, entry: object) -> Budget:
    known = ("type", "path", "max_instances", "max_bytes")
    if not isinstance(entry, dict):
        raise IngestError(f"{path}: a budget must be a table: [[budget]]")
    for key, value in entry.items():
        if key not in known:
            raise IngestError(
                f"{path}: unknown key {key!r} of a budget; known are {', '.join(known)}"
            )
        wanted = str if key in ("type", "path") else int
        if type(value) is not wanted or (wanted is int and int(value) < 0):
            what = "a text" if wanted is str else "a whole number"
            raise IngestError(f"{path}: {key} of a budget must be {what}")
    if ("type" in entry) == ("path" in entry):
        raise IngestError(f"{path}: a budget needs either a type or a path")
    if not entry.keys() & {"max_instances", "max_bytes"}:
        raise IngestError(f"{path}: a budget needs max_instances or max_bytes")
    return Budget(**entry)
