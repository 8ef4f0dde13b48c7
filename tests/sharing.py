"""Which process runs a file: all that use one server, the same one.

A server takes ten seconds to start, plans every query anew, and takes a quarter of the
memory of a small machine. Their files take longest, so they come first, and another
process begins with all the rest.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deep import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHECKOUT = Path(__file__).parents[1]
OWN, SHARED = "own server", "shared server"
"""Files with the server that a test may end, and with that of the whole session."""
_OF_THE_SESSION = {
    "neo4j_target",
    "database",
    "empty_database",
    "loaded_heap",
    "on_server",
}


_SOME_ARE_SLOW = re.compile(r"slow\(every=").match


@functools.cache
def group_of(file: str) -> str:
    """What one process runs: a file, or all files of a server."""
    fixtures = set(_fixtures((_CHECKOUT / file).read_text(encoding="utf-8")))
    if {"own_server", "own_home"} & fixtures:
        return OWN
    return SHARED if _OF_THE_SESSION & fixtures else file


def _fixtures(text: str) -> Iterator[str]:
    """What functions take that this run has not left out."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        names = [mark.removeprefix("pytest.mark.") for mark in marks]
        is_test = node.name.startswith("test_")
        if not is_test or runs(names) or any(map(_SOME_ARE_SLOW, names)):
            yield from (argument.arg for argument in node.args.args)
            for used in (mark for mark in marks if "usefixtures" in mark):
                yield from re.findall(r"\w+", used)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"neo4j_target", "own_home"} & {*getattr(item, "fixturenames", ())}:
            file = item.nodeid.split("::")[0]
            assert group_of(file) != file, f"{file} would start a server of its own"
    order = {OWN: 0, SHARED: 1}
    items.sort(key=lambda item: order.get(group_of(item.nodeid.split("::")[0]), 2))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Share files as ``--dist loadfile`` does, those of a server as if one file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class BySetUp(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(str(super()._split_scope(nodeid)))

    return BySetUp(config, log)
