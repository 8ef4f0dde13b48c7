"""Which of two processes runs a file: all that use one more server, the same one.

A server takes ten seconds to start, and a quarter of the memory of a small machine.
Their files take longest, so they come first, and the other process does all the rest.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).parents[1]


@functools.cache
def has_own_server(file: str) -> bool:
    """Whether tests of a file use the server that they may end."""
    text = (_CHECKOUT / file).read_text(encoding="utf-8")
    return "own_server" in text or "own_home" in text


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not has_own_server(item.nodeid.split("::")[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Share files as ``--dist loadfile`` does, those with a server as if one file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class BySetUp(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return "own server" if has_own_server(file) else file

    return BySetUp(config, log)
