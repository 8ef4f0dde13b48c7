"""The last lines of a run: what was tested, and for what reasons something was not."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.deep import SUITE
from tests.pythons import minors_by_path

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from _pytest.terminal import TerminalReporter

EXPECTED = ("Neo4j", "JVM", "Chromium")
"""What the last line says also if no test has used it."""

_LEFT_OUT = {
    "quick": "without slow tests (make test-slow) and long ones (make test-deep)",
    "slow": "slow tests only (the others: make test)",
    "both": "without long tests (make test-deep)",
}
_KEY = "tested with"
_used: set[str] = set()


def note_use(program: str) -> None:
    """Have the last line say that tests have used a program, such as ``Neo4j 5``."""
    _used.add(program)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report tell it, for another process may write the last lines."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if minor := minors_by_path().get(parameters.get("python")):
        _used.add(f"programs of Python 3.{minor}")
    item.user_properties.extend((_KEY, program) for program in _used)
    _used.clear()
    return (yield)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    reports = terminalreporter.stats
    terminalreporter.section("what was tested, and what was not")
    if SUITE in _LEFT_OUT:
        terminalreporter.line(_LEFT_OUT[SUITE])
    for line in _not_tested(reports.get("skipped", [])):
        terminalreporter.line(line)
    terminalreporter.line(_tested(one for kind in reports.values() for one in kind))


def _not_tested(skipped: Iterable[pytest.TestReport]) -> Iterable[str]:
    """A line for each reason, the most tests first."""
    reasons: Counter[str] = Counter()
    for report in {report.nodeid: report for report in skipped}.values():
        assert isinstance(report.longrepr, tuple)
        reasons[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items(), key=lambda one: (-one[1], one[0])):
        yield f"not run: {count:3}  {reason}"


def _tested(reports: Iterable[object]) -> str:
    used = {
        str(value)
        for report in reports
        for key, value in getattr(report, "user_properties", ())
        if key == _KEY
    }
    words = [
        f"tested by Python {sys.version.split()[0]}",
        *sorted(used, key=_naturally),
    ]
    without = [
        one for one in EXPECTED if not any(word.startswith(one) for word in used)
    ]
    return ", ".join(words) + (f"; WITHOUT {', '.join(without)}" if without else "")


def _naturally(name: str) -> list[tuple[str, int]]:
    """3.9 before 3.10."""
    return [
        (text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d*)", name)
    ]
