"""Names: one class of a name, no function too long to read, no cryptic module."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[2] / "ingest"
MOST_LINES, MOST_PARAMETERS = 80, 8

CRYPTIC = {"ways", "kept", "whole", "cores", "told", "room", "utils", "misc"}
"""Names that say nothing of what a module has."""


@functools.cache
def trees() -> list[tuple[str, ast.Module]]:
    """Each module's path and syntax tree."""
    return [
        (path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text("utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def repeated_classes(modules: list[tuple[str, ast.Module]]) -> set[str]:
    """Classes of which there are several."""
    names = Counter(
        node.name
        for _, tree in modules
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    return {name for name, count in names.items() if count > 1}


Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_functions(modules: list[tuple[str, ast.Module]]) -> set[str]:
    """Functions of more than `MOST_LINES` lines, without those of functions in them."""
    return {
        f"{path}:{node.name}"
        for path, node in functions(modules)
        if lines_of(node) - sum(map(lines_of, functions_in(node))) > MOST_LINES
    }


def wide_functions(modules: list[tuple[str, ast.Module]]) -> set[str]:
    """Functions of more than `MOST_PARAMETERS` parameters that are no kernels."""
    return {
        f"{path}:{node.name}"
        for path, node in functions(modules)
        if len(parameters_of(node)) > MOST_PARAMETERS
        and not any("kernel" in ast.unparse(mark) for mark in node.decorator_list)
    }


def functions(modules: list[tuple[str, ast.Module]]) -> Iterator[tuple[str, Function]]:
    for path, tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


def functions_in(node: ast.AST) -> Iterator[Function]:
    """Those inside of it, without those inside of these."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, Function):
            yield inner
        else:
            yield from functions_in(inner)


def lines_of(node: Function) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def parameters_of(node: Function) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [one.arg for one in given if one.arg not in ("self", "cls")]


def test_no_two_classes_have_one_name() -> None:
    assert repeated_classes(trees()) == set()


def test_nouns_of_many_classes_are_in_the_map() -> None:
    """Who reads of a heap or a dump can look up which of them is meant."""
    nouns = re.compile(r"[A-Z]\w*(Dump|Heap|Tables)|Asked\w*")
    told = (PACKAGE / "README.md").read_text("utf-8").partition("## Nouns")[2]
    used = {
        node.name
        for path, tree in trees()
        if path != "errors.py"
        for node in tree.body
        if isinstance(node, ast.ClassDef) and nouns.fullmatch(node.name)
    }

    assert {name for name in used if f"`{name}`" not in told} == set()


def test_no_function_is_too_long_or_too_wide() -> None:
    assert long_functions(list(trees())) == set()
    assert wide_functions(list(trees())) == set()


def test_no_module_has_a_cryptic_name() -> None:
    assert not {path for path, _ in trees() if Path(path).stem in CRYPTIC}


@pytest.mark.parametrize("lines", [MOST_LINES, MOST_LINES + 1])
def test_a_long_function_and_a_second_class_are_found(lines: int) -> None:
    body = "    pass\n" * (lines - 1)
    modules = [
        ("a.py", ast.parse(f"class Room:\n  pass\ndef f():\n{body}")),
        ("b.py", ast.parse("class Room:\n  pass")),
    ]

    assert repeated_classes(modules) == {"Room"}
    assert long_functions(modules) == ({"a.py:f"} if lines > MOST_LINES else set())
