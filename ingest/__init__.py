"""heaproots: garbage-collector heap dumps in Python, and as a Neo4j graph.

The public interface, which the command line stands on::

    import ingest

    heap = ingest.open("game.gclog")
    heap.suspects()                      # what piles up, and what holds it
    heap.paths_to_root("LevelScreen")    # what keeps its instances alive
    heap.types().head()                  # a Polars frame; bytes are bytes

    ingest.compare("a.gclog", "b.gclog")
    assert not ingest.check(["a.gclog", "b.gclog"]).findings

    with ingest.connect() as graph:
        graph.load("game.gclog")
        graph.query("leak-suspects", limit=5)

What `__all__` names follows semantic versioning: until 1.0 a minor version may change
it, and the changelog says so; a patch version does not. Everything else is internal.
All of it is imported when it is used for the first time.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.api.calls import Check as Check
    from ingest.api.calls import Compared as Compared
    from ingest.api.calls import capture as capture
    from ingest.api.calls import check as check
    from ingest.api.calls import compare as compare
    from ingest.api.calls import export as export
    from ingest.api.graph import Graph as Graph
    from ingest.api.graph import connect as connect
    from ingest.api.heap import Heap as Heap
    from ingest.api.heap import open_dump as open
    from ingest.errors import IngestError as IngestError

__version__ = "0.1.0"

_PLACES = {
    "Check": ("calls", "Check"),
    "Compared": ("calls", "Compared"),
    "Graph": ("graph", "Graph"),
    "Heap": ("heap", "Heap"),
    "IngestError": ("", "IngestError"),
    "capture": ("calls", "capture"),
    "check": ("calls", "check"),
    "compare": ("calls", "compare"),
    "connect": ("graph", "connect"),
    "export": ("calls", "export"),
    "open": ("heap", "open_dump"),
}
"""Module in `ingest.api` and name there of everything public."""

__all__ = [
    "Check",
    "Compared",
    "Graph",
    "Heap",
    "IngestError",
    "capture",
    "check",
    "compare",
    "connect",
    "export",
    "open",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, there = _PLACES[name]
    inner = f"ingest.api.{module}" if module else "ingest.errors"
    found = getattr(import_module(inner), there)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(ModuleType):
    """The package: a room `ingest.compare` does not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _PLACES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
