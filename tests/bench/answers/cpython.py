"""Leaking programs under each CPython that is installed.

Functions, frames and the like stand for parts of the program in a sentence, so what
that says is held against the truth.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.answers.cases import Truth
from tests.pythons import MINORS, installed

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "programs/leaks.py"

HOLDERS = {
    "module_dict": "are held in dict __main__.SESSIONS",
    "module_list": "are held in list __main__.HISTORY",
    "module_set": "are held in set __main__.SEEN",
    "module_deque": "are held in deque __main__.RECENT",
    "ordered": "are held in OrderedDict __main__.ORDERED",
    "by_default": "are held in defaultdict __main__.GROUPS",
    "class_attribute": "class attribute __main__.Registry.instances",
    "instance_attribute": "Registry.members, from global variable __main__.REGISTRY",
    "lru_cache": "the cache of functools.lru_cache on __main__.render",
    "closure": "the closure of __main__.make.<locals>.handler",
    "default_argument": "the default values of __main__.accumulate",
    "traceback": "global variable __main__.LAST_ERROR",
    "bound_methods": "are held in list __main__.LISTENERS",
    "lambdas": "are held in list __main__.CALLBACKS",
    "log_records": "by Handler.records",
    "thread_local": "by a threading.local, from global variable __main__.LOCAL",
    "context_variable": "by context variable current, from something in C (context",
    "generator": "generator suspended",
    "task": "coroutine never",
    "at_exit": "by something in C",
    "signal_handler": "from something in C (handler of signal 10)",
    "c_reference": "in a list by something in C.",
    "weak_keys": "global variable __main__.BY_OWNER",
    "linked": "in a linked list by global variable __main__.HEAD",
    "partials": "are held in list __main__.JOBS",
    "running_local": "local variable kept of main (",
}
OLD = {
    "at_exit": "by global variable logging.atexit",
    "generator": "the frame of suspended (",
    "task": "the frame of never (",
}
"""Until CPython 3.10 suspended functions have frames, and atexit what it is given."""

_OTHERS = {"bound_methods": "Listener", "linked": "Node"}


def truths(kind: str) -> list[Truth]:
    """What is right to say of a kind of leak; by version one of them."""
    leaks = f"__main__.{_OTHERS.get(kind, 'Session')}"
    words = dict.fromkeys((HOLDERS[kind], OLD.get(kind, HOLDERS[kind])))
    return [Truth(leaks, None, words=one) for one in words]


def leaking(folder: Path) -> Iterator[tuple[str, Path, list[Truth]]]:
    """Run each with each Python: name, dump and right answers."""
    for minor in MINORS:
        if (python := installed(minor)) is None:
            print(f"NOT RUN: no Python 3.{minor}")
            continue
        for kind in HOLDERS:
            path = folder / f"{kind}-3.{minor}.hrpy"
            command = [python, str(SOURCE), kind, str(path)]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=60)
            yield f"{kind} 3.{minor}", path, truths(kind)
            path.unlink()
