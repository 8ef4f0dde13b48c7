"""Every command on a loaded dump of every format: each refusal is meant."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.seeds import SEEDS
from tests.unit.cli.test_matrix import faults_of, made, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


@pytest.mark.deep
@pytest.mark.usefixtures("empty_database")
def test_each_refusal_of_a_loaded_dump_is_meant(
    on_server: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = []
    for package in SEEDS:
        (kept,) = made(tmp_path, package, ["file"])
        code, _, said = on_server("load", kept.first, "--name", package)
        assert code == 0, said
        loaded.append(kept._replace(way="loaded", first=package, second=package))

    def run(words: list[str]) -> tuple[int, str]:
        code, out, err = on_server(*words)
        return code, out + err

    faults, refused = faults_of(loaded, run)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(loaded)} formats\n{table(refused)}")
    assert not faults, "\n".join(map(str, faults))
    assert refused
    assert on_server("drop", loaded[0].first)[0] == 0
