"""A plugin of pytest: the fixture ``heaproots``, and findings of failed checks.

It is active if heaproots is installed, and costs nothing until it is used::

    def test_levels_are_freed(heaproots):
        before = heaproots.capture("shop.Main", "before")
        play(20)
        after = heaproots.capture("shop.Main", "after")
        assert not heaproots.check([before, after]).findings

A test of Python code needs no other program: the block is run repeatedly in this
process, and its heap is dumped after each round::

    def test_orders_are_freed(heaproots):
        assert not heaproots.repeat(lambda: play(1)).findings

If the test fails, its report says what grew and where, and names the folder of the
dumps. If it passes, the dumps are removed.
"""

from __future__ import annotations

import gc
import importlib.util
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from ingest.api.calls import Check

_FAILED = pytest.StashKey[bool]()
_FOLDER = pytest.StashKey["Path"]()


class HeapDumps:
    """The dumps of a test, which are kept if it fails.

    Args:
        folder: Folder of the dumps.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Path for a dump that the test writes itself, such as ``before.hprof``."""
        return self.folder / name

    def capture(self, program: str | int, name: str, **options: Any) -> str:  # noqa: ANN401
        """Capture a dump of a running program; see `ingest.capture`.

        Args:
            program: Process id or name, or the address of a Dart VM service.
            name: What to call the dump.
            options: Options of `ingest.capture`, such as ``runtime``.

        Returns:
            Path of the dump.
        """
        import ingest

        taken = ingest.capture(program, self.folder / f"{name}.dump", **options)
        return str(taken.path)

    def check(self, dumps: Sequence[str | Path], **options: Any) -> Check:  # noqa: ANN401
        """Judge dumps; see `ingest.check`.

        Args:
            dumps: In the order in which they were taken.
            options: Options of `ingest.check`, such as ``own``.
        """
        import ingest

        return ingest.check([str(dump) for dump in dumps], **options)

    def repeat(
        self,
        block: Callable[[], object],
        *,
        dumps: int = 4,
        times: int = 10,
        **options: Any,  # noqa: ANN401
    ) -> Check:
        """Run a block repeatedly, dump the heap of this process, and judge the dumps.

        The block runs once before the first dump, since that fills caches. What it
        leaks each time grows by as much from dump to dump, and is a finding. Garbage is
        collected before each dump. A copy of the process writes the dump if there is
        enough memory.

        Args:
            block: Called without arguments; what it returns is dropped.
            dumps: How many dumps, two or more; fewer dumps make growth less sure.
            times: How often the block runs before each dump. Fewer than five new
                objects per dump are no finding: a block that leaks one object must run
                five times.
            options: Options of `ingest.check`, such as ``own``.

        Raises:
            CaptureError: the heap of this Python cannot be dumped.
        """
        from ingest.errors import CaptureError

        # Everything is imported before the first dump, so that it does not grow.
        writer = _writer()
        number = sum(1 for _ in self.folder.iterdir())
        paths = [self.path(f"{number + at}.hrpy") for at in range(dumps)]
        block()
        for path in paths:
            for _ in range(times):
                block()
            gc.collect()
            try:
                writer.dump(path)
            except writer.DumpRefused as error:
                raise CaptureError(str(error)) from None
        return self.check(paths, **options)


def _writer() -> ModuleType:
    """``heaproots_dump``, which is a single file outside any package."""
    from ingest.capture.cpython import SCRIPT

    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def heaproots(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeapDumps]:
    """Captures and judges heap dumps, which are kept only if the test fails."""
    folder = tmp_path_factory.mktemp("heaproots")
    request.node.stash[_FOLDER] = folder
    yield HeapDumps(folder)
    if not request.node.stash.get(_FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the findings of its checks to the report of a failed test."""
    report = yield
    if not report.failed:
        return report
    item.stash[_FAILED] = True
    for check in _checks_of(call):
        report.sections.append(("heaproots", str(check)))
    folder = item.stash.get(_FOLDER, None)
    if folder is not None and report.when == "call" and any(folder.iterdir()):
        report.sections.append(("heaproots", f"the dumps are kept in {folder}"))
    return report


def _checks_of(call: pytest.CallInfo[None]) -> list[Check]:
    """The checks among the variables of a failure's frames, the assertion's first."""
    calls = sys.modules.get("ingest.api.calls")
    if calls is None or call.excinfo is None:
        return []
    found: list[Check] = []
    for entry in reversed(call.excinfo.traceback):
        for value in entry.frame.f_locals.values():
            one = value._check if isinstance(value, calls.GateFindings) else value
            if isinstance(one, calls.Check) and one not in found and not one.is_clean:
                found.append(one)
    return found
