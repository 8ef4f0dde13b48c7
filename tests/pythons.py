"""Which Pythons the tests of Python heaps run.

Each of ``MINORS`` that is installed: named in ``INGEST_TEST_PYTHONS`` (paths and colons
between), ``python3.N`` on the PATH, or a version of pyenv. One that a test wants
and that is not there is skipped, and said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deep import PROFILE

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

MINORS = tuple(range(8, 16))
_NAMED = [one for one in os.environ.get("INGEST_TEST_PYTHONS", "").split(":") if one]


def installed(minor: int) -> str | None:
    """The path of Python 3.``minor``, or ``None``."""
    if minor == sys.version_info.minor:
        return sys.executable
    for path in _NAMED:
        if _minor_of(path) == minor:
            return path
    if (found := shutil.which(f"python3.{minor}")) and _minor_of(found) == minor:
        return found
    try:
        versions = Path.home() / ".pyenv/versions"
    except RuntimeError:  # a user without a home
        return None
    return next(map(str, sorted(versions.glob(f"3.{minor}.*/bin/python"))), None)


@cache
def _minor_of(path: str) -> int:
    """Which Python runs; -1 if none, as with a shim of pyenv that has no version."""
    asked = [path, "-c", "import sys; print(sys.version_info[1])"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=20)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return -1


@cache
def minors_by_path() -> dict[object, int]:
    """The Pythons that tests run, as `installed` finds them."""
    return {path: minor for minor in MINORS if (path := installed(minor))}


def python(minor: int) -> ParameterSet:
    """A parameter: the path of Python 3.``minor``, skipped where there is none."""
    path = installed(minor)
    reason = (
        f"programs of Python 3.{minor}: no python3.{minor} on the PATH or named in "
    )
    reason += "INGEST_TEST_PYTHONS"
    marks = [pytest.mark.skip(reason=reason)] if path is None else []
    return pytest.param(path, marks=marks, id=f"3.{minor}")


OWN = sys.version_info.minor
NEWEST = next((minor for minor in MINORS[:5:-1] if installed(minor)), 14)
"""The newest that runs scripts as it offers to, if there is one."""
PYTHONS = [
    python(minor) for minor in (MINORS if PROFILE == "deep" else {OWN: 0, NEWEST: 0})
]
"""The one that runs the tests and the newest; in the deep suite all."""
