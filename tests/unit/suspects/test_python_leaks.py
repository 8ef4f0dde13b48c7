"""Real Python programs: a suspect says what leaks, and healthy ones have no finding."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import ingest
from ingest.analysis.metrics import analyse
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.suspects.find import find_suspects
from tests.deep import PROFILE
from tests.pythons import PYTHONS

PROGRAM = Path(__file__).parents[2] / "programs/leaks.py"
HEALTHY = PROGRAM.parent / "healthy.py"

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
    "traceback": "the frame of fail (",
    "bound_methods": "are held in list __main__.LISTENERS",
    "lambdas": "the default values of __main__.lambdas.<locals>.",
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

QUICK = ("module_dict", "lru_cache", "closure", "traceback", "running_local")


@pytest.mark.parametrize("kind", HOLDERS if PROFILE == "deep" else QUICK)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_leak_is_named_with_what_holds_it(
    python: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "leak.hrpy"
    command = [python, str(PROGRAM), kind, str(path)]
    subprocess.run(command, check=True, timeout=60)
    with open_source(str(path)) as source:
        graph = read(source, DEFAULTS, silent)
    first, *_ = find_suspects(graph, analyse(graph)).suspects

    kept = {"bound_methods": "Listener", "linked": "Node"}.get(kind, "Session")
    assert first.sentence.startswith(f"4,000 {kept} (")
    holders = HOLDERS[kind], OLD.get(kind, HOLDERS[kind])
    assert any(holder in first.sentence for holder in holders)


@pytest.mark.deep
@pytest.mark.parametrize(
    "kind", ["echoes", "caches", "parsers", "simulation", "threads", "suite"]
)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_healthy_program_has_no_finding(
    python: str, kind: str, tmp_path: Path
) -> None:
    command = [python, str(HEALTHY), kind, str(tmp_path / "x")]
    subprocess.run(command, check=True, timeout=120)
    dumps = sorted(map(str, tmp_path.glob("*.hrpy")))

    assert len(dumps) == 3
    assert not ingest.check(dumps).findings
