"""Progress: what a terminal shows, and that a pipe shows nothing."""

from __future__ import annotations

import sys
import time

import pytest

from ingest.cli.bars import Bars, TimeLeft


def test_a_terminal_has_a_line_for_each_long_stage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with Bars() as progress:
        progress("read", 1 << 20, 4 << 20)
        time.sleep(1.2)
        progress("read", 4 << 20, 4 << 20)
        progress("analyse", 0, 4)

    shown = capsys.readouterr().err
    assert "read          25 % |█████               | 1.0 MiB of 4.0 MiB, 1 s" in shown
    assert shown.split("\r")[-1].startswith("read         4.0 MiB in 1.")
    assert shown.count("\n") == 1, "a stage of no time leaves no line"


def test_a_pipe_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars() as progress:
        progress("read", 1, 2)
        time.sleep(0.7)

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([0.1, 0.2, 0.3, 0.4, 0.5], 5.0, id="even"),
        pytest.param([0.1, 0.2, 0.21, 0.22, 0.5], None, id="uneven"),
        pytest.param([0.5], None, id="too early"),
        pytest.param([0.2, 0.4, 0.6, 0.8, 1.0], None, id="done"),
    ],
)
def test_the_time_left_is_said_once_it_is_stable(
    shares: list[float], expected: float | None
) -> None:
    left = TimeLeft()

    found = [left.seconds(at, share) for at, share in enumerate(shares, start=1)]

    assert found[-1] == expected
