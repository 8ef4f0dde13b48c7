"""Standard output that cannot be written, and users without a home."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.system.places import places

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

QUERIES = [sys.executable, "-m", "ingest", "queries"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_output_is_an_error_of_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(QUERIES, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"error: output: No space left on device\n"


def test_a_closed_output_is_no_error() -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *QUERIES]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_without_a_home_the_error_says_what_to_set(
    ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: object) -> None:
        raise KeyError

    for name in ("INGEST_HOME", "HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(OSError, match="INGEST_HOME"):
        places()
    code, out, err = ingest("list")
    assert (code, out) == (1, "")
    assert err.startswith("error: this user has no home folder: set INGEST_HOME")
    assert err.count("\n") == 1
