"""The house: imports go down only, and some rooms may not know some packages."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ingest"
FLOORS = {
    "errors": 1, "progress": 1, "places": 1, "text": 1, "values": 1,
    "history": 1,
    "settings": 2, "compiled": 2, "graph": 2, "queries": 2, "example": 2,
    "serve": 2, "whole": 2,
    "readers": 3, "analysis": 3,
    "capture": 4, "store": 4, "reports": 4,
    "pipeline": 5,
    "cli": 6, "__main__": 7,
}  # fmt: skip
FORBIDDEN = {
    "graph": {"typer", "rich", "neo4j", "tqdm"},
    "readers": {"typer", "rich", "neo4j", "tqdm"},
    "analysis": {"typer", "rich", "neo4j", "tqdm"},
    "capture": {"typer", "rich", "neo4j", "tqdm"},
    "queries": {"typer", "rich", "neo4j", "tqdm"},
    "serve": {"typer", "rich", "neo4j", "tqdm"},
    "whole": {"typer", "rich", "neo4j", "tqdm"},
    "store": {"typer", "rich", "tqdm"},
    "reports": {"typer", "neo4j", "tqdm"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names that a module imports, in functions and for types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            found.add(node.module)
            if node.module == "ingest":
                found |= {f"ingest.{alias.name}" for alias in node.names}
    return found


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in MODULES} - {"__init__"}

    assert rooms == set(FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    room = room_of(path)
    for name in imports(path):
        if name.startswith("ingest.") and room != "__init__":
            other = name.split(".")[1]
            if other != room and other != "__version__":
                assert FLOORS[other] < FLOORS[room], f"{path} imports {name}"
        assert name.split(".")[0] not in FORBIDDEN.get(room, set()), name


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_is_longer_than_500_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500
