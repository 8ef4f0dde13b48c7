"""The house: imports go down only, without a cycle, and formats do not meet."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(__file__).parents[2] / "ingest"

FORMATS = sorted(
    f"readers.{path.parent.name}"
    for path in PACKAGE.glob("readers/*/__init__.py")
    if path.parent.name not in ("shared", "cpython", "dotnet")
)
"""Each other package of the readers is a format: none of them sees another."""

FLOORS = {
    "errors": 0, "progress": 0,
    "runtimes": 1, "system": 1, "words": 1,
    "arrays": 2, "heap": 3, "queries": 2, "server": 2,
    "readers.source": 4, "readers.shared": 4, "analysis": 4,
    "readers.base": 5, "readers.cpython": 5, "readers.dotnet": 5, "what_if": 5,
    "suspects": 6,
    **dict.fromkeys(FORMATS, 6),
    "readers": 7,
    "capture": 8, "tables": 8,
    "dumps": 9,
    "answers": 10, "compare": 10, "database": 10, "fleet": 10,
    "redact": 10,
    "gate": 11,
    "reports": 12,
    "browser": 13,
    "api": 14,
    "agents": 15,
    "cli": 16, "__main__": 17,
}  # fmt: skip
"""Each room, a folder or a module, by its longest name here. Two rooms of one floor
do not see each other: so no format sees another."""

TOOLS = {"typer", "neo4j", "tqdm"}
FORBIDDEN = {
    "runtimes": TOOLS, "heap": TOOLS, "queries": TOOLS, "readers": TOOLS,
    "analysis": TOOLS, "suspects": TOOLS, "what_if": TOOLS,
    "capture": TOOLS, "tables": TOOLS, "dumps": TOOLS,
    "system": TOOLS, "words": TOOLS, "arrays": TOOLS,
    "browser": TOOLS, "compare": TOOLS,
    "server": {"typer", "tqdm"},
    "database": {"typer", "tqdm"},
    "fleet": TOOLS,
    "answers": TOOLS,
    "redact": TOOLS,
    "api": {"typer", "neo4j"},
    "reports": TOOLS,
}  # fmt: skip
"""Packages that a room and what is in it may not import."""


def module_name(path: Path, package: Path) -> str:
    """``readers.gclog.scan``; a package is named as its ``__init__.py``."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(package: Path) -> dict[str, str]:
    """The text of each module of a package, by name; its own face has none."""
    found = {
        module_name(path, package): path.read_text(encoding="utf-8")
        for path in sorted(package.rglob("*.py"))
    }
    found.pop("", None)
    return found


@functools.cache
def imports(text: str) -> frozenset[str]:
    """Dotted names that a module imports, in functions and for types too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            assert node.module is not None
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def inner_imports(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Which modules of the package each module imports."""

    def resolved(name: str) -> str | None:
        inner = name.removeprefix("ingest.")
        while inner and inner not in modules:
            inner = inner.rpartition(".")[0]
        return inner or None

    return {
        name: {
            found
            for used in imports(text)
            if used.startswith("ingest.") and (found := resolved(used))
        }
        - {name}
        for name, text in modules.items()
    }


def room_of(module: str) -> str:
    """The room that a module is in."""
    while module and module not in FLOORS:
        module = module.rpartition(".")[0]
    return module


def violations(modules: Mapping[str, str]) -> list[str]:
    """What breaks the rules, one line each."""
    found = []
    graph = inner_imports(modules)
    for name, used in graph.items():
        room = room_of(name)
        if not room:
            found.append(f"{name} has no floor")
            continue
        for other in sorted(used):
            above = room_of(other)
            if above != room and FLOORS.get(above, 99) >= FLOORS[room]:
                found.append(f"{name} imports {other}, which is not below it")
        for outer in sorted(imports(modules[name])):
            for owner, names in FORBIDDEN.items():
                inside = name == owner or name.startswith(f"{owner}.")
                if inside and outer.split(".")[0] in names:
                    found.append(f"{name} imports {outer}, which {owner} may not")
    return found + [f"a cycle: {' -> '.join(one)}" for one in cycles(graph)]


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """One cycle of imports for each module that is the first to be found in one."""
    found, done = [], set[str]()

    def visit(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append([*trail[trail.index(name) :], name])
        elif name not in done:
            for other in sorted(graph[name]):
                visit(other, [*trail, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return found


def test_the_package_keeps_the_rules() -> None:
    assert violations(sources(PACKAGE)) == []


def test_every_floor_has_a_room() -> None:
    modules = sources(PACKAGE)

    assert {room_of(name) for name in modules} == set(FLOORS)


@pytest.mark.parametrize(
    ("module", "text", "said"),
    [
        ("heap.graph", "from ingest.readers import base", "heap.graph imports readers"),
        (
            "tables.schema",
            "if TYPE_CHECKING:\n    from ingest.database.dump_list import DumpInfo",
            "tables.schema imports database.dump_list, which is not below it",
        ),
        (
            "readers.gclog.scan",
            "def f():\n    import ingest.readers.dart.scan",
            "readers.gclog.scan imports readers.dart.scan, which is not below it",
        ),
        (
            "readers.shared.lines",
            "from ingest.readers.dotnet.gc_events import Gc",
            "readers.shared.lines imports readers.dotnet.gc_events",
        ),
        (
            "analysis.types",
            "from ingest.analysis.metrics import HeapMetrics",
            "a cycle: analysis.",
        ),
        ("tables.schema", "import neo4j", "tables.schema imports neo4j, which tables"),
        ("attic", "x = 1", "attic has no floor"),
    ],
)
def test_a_violation_is_found(module: str, text: str, said: str) -> None:
    modules = sources(PACKAGE)
    modules[module] = f"{modules.get(module, '')}\n{text}\n"

    assert any(said in line for line in violations(modules)), violations(modules)


def test_no_module_is_longer_than_700_lines() -> None:
    long = {n for n, text in sources(PACKAGE).items() if text.count("\n") > 700}

    # One file, so that it can be given to any program.
    assert long == {"capture.python.heaproots_dump"}
