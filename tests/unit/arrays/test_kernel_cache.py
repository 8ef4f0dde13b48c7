"""Kernels: compiled once, anew after any change, and never in silence."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numba
import numpy as np
import pytest

from ingest.arrays import kernel_cache, precompile
from ingest.arrays.compiled import Kernel, fetch, kernel
from ingest.arrays.kernel_cache import Compilation
from ingest.cli.bars import CompilationNotice
from ingest.heap.graph import RefKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHECKOUT = Path(__file__).parents[3]
FILES = {
    "__init__.py": "",
    "constants.py": "OFFSET = 1\n",
    "helper.py": """
from ingest.arrays.compiled import kernel
from toy.constants import OFFSET

@kernel
def step(value):
    return value + OFFSET
""",
    "first.py": """
from ingest.arrays.compiled import kernel
from toy.helper import step

@kernel
def first(value):
    return 10 * step(value)
""",
    "second.py": """
from ingest.arrays.compiled import kernel

@kernel
def second(value):
    return value - 1
""",
}
PROGRAM = """
import json, os, pathlib, sys
from ingest.arrays import kernel_cache
from ingest.arrays.compiled import compilations_reported
from toy.first import first
from toy.second import second

if "BROUGHT" in os.environ:
    kernel_cache.BROUGHT = pathlib.Path(os.environ["BROUGHT"])
reports = []
def note(found):
    reports.append([found.kernel, found.is_done, found.obstacle])

with compilations_reported(note):
    results = [globals()[name](5) for name in sys.argv[1:]]
print(json.dumps([results, reports]))
"""

Result = tuple[list[int], list[tuple[str, bool, str]]]


class Toy:
    """A package of three kernels, run in processes of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.package = folder / "toy"
        self.package.mkdir()
        for name, text in FILES.items():
            (self.package / name).write_text(text, encoding="utf-8")
        root = Path(kernel_cache.__file__).parents[2]
        self.environment = {
            **os.environ,
            "INGEST_HOME": str(folder / "home"),
            "PYTHONPATH": f"{folder}{os.pathsep}{root}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        del self.environment["NUMBA_CACHE_DIR"]

    def start(self, *kernels: str) -> subprocess.Popen[str]:
        """Call kernels, each with 5, in a new process."""
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *kernels],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *kernels: str) -> Result:
        """The same; returns results, and what was said of compilation."""
        return result_of(self.start(*kernels))


def result_of(process: subprocess.Popen[str]) -> Result:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    results, reports = json.loads(out)
    return results, [tuple(report) for report in reports]


def compiled(result: Result) -> list[str]:
    """The kernels that were compiled, in the order in which that began."""
    return [kernel for kernel, is_done, _ in result[1] if not is_done]


@pytest.mark.deep
def test_a_change_in_any_file_that_goes_in_is_seen(tmp_path: Path) -> None:
    toy = Toy(tmp_path)
    before = toy.run("first")
    again = toy.run("first")
    helper = toy.package / "helper.py"
    helper.write_text(helper.read_text().replace("+ OFFSET", "- OFFSET"))
    with_helper = toy.run("first")
    (toy.package / "constants.py").write_text("OFFSET = 2\n")
    with_constant = toy.run("first")

    assert (before[0], compiled(before)) == ([60], ["first", "step"])
    assert (again[0], compiled(again)) == ([60], [])
    assert (with_helper[0], compiled(with_helper)) == ([40], ["first", "step"])
    assert (with_constant[0], compiled(with_constant)) == ([30], ["first", "step"])


@pytest.mark.slow
def test_what_is_not_in_the_cache_yet_is_reported(tmp_path: Path) -> None:
    """A second kernel is, though the first needs no compilation any more."""
    toy = Toy(tmp_path)
    toy.run("first")

    results, reports = toy.run("first", "second")

    assert results == [60, 4]
    assert reports == [("second", False, ""), ("second", True, "")]


@pytest.mark.deep
def test_two_processes_compile_at_once_and_a_third_need_not(tmp_path: Path) -> None:
    toy = Toy(tmp_path)

    both = [toy.start("first") for _ in range(2)]
    first = [result_of(process) for process in both]
    third = toy.run("first")

    assert [found[0] for found in first] == [[60], [60]]
    assert third == ([60], [])


@pytest.mark.slow
def test_code_that_came_with_the_package_is_not_compiled_again(tmp_path: Path) -> None:
    """Unless a source has changed since, or bounds are to be checked."""
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    toy = Toy(tmp_path, **generic)
    toy.run("first")
    brought = (tmp_path / "home/cache/kernels").rename(tmp_path / "brought")
    for name in generic:
        del toy.environment[name]
    toy.environment["BROUGHT"] = str(brought)

    other_home = toy.run("first", "second")
    toy.environment["NUMBA_BOUNDSCHECK"] = "1"
    toy.environment["INGEST_HOME"] = str(tmp_path / "checked")
    checked = toy.run("first")
    del toy.environment["NUMBA_BOUNDSCHECK"]
    (toy.package / "constants.py").write_text("OFFSET = 2\n")
    changed = toy.run("first")
    (toy.package / "constants.py").write_text("OFFSET = 1\n")
    for index in list(brought.rglob("*.nbi")):  # as where another user may not read it
        index.rename(index.with_suffix(".kept"))
        index.mkdir()
    toy.environment["INGEST_HOME"] = str(tmp_path / "other")
    unreadable = toy.run("first")

    assert (unreadable[0], compiled(unreadable)) == ([60], ["first", "step"])
    assert (other_home[0], compiled(other_home)) == ([60, 4], ["second"])
    assert (checked[0], compiled(checked)) == ([60], ["first", "step"])
    assert (changed[0], compiled(changed)) == ([70], ["first", "step"])


LIST = """
import json, os, pathlib, sys
from ingest.arrays import kernel_cache, precompile
from toy import first, second

kernel_cache.BROUGHT = pathlib.Path(os.environ["BROUGHT"])
if sys.argv[1] == "write":
    print(precompile.write_list(["toy.first", "toy.second"]))
else:
    print(precompile.compile_all(precompile.read_list()))
"""


@pytest.mark.deep
def test_what_a_package_brought_for_another_python_is_compiled_by_its_list(
    tmp_path: Path,
) -> None:
    toy = Toy(tmp_path)
    toy.run("first", "second")
    brought = (tmp_path / "home/cache/kernels").rename(tmp_path / "brought")
    toy.environment["BROUGHT"] = str(brought)

    def listed(what: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", LIST, what],
            env=toy.environment, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip

    assert listed("write") == "2\n"  # the helper is called by a kernel only
    for folder in brought.glob("heaproots-*"):
        folder.rename(tmp_path / folder.name)  # what another Python cannot use
    assert listed("compile") == "0\n"
    assert toy.run("first", "second") == ([60, 4], [])


class Pair(NamedTuple):
    one: NDArray[np.int32]
    two: int


def test_types_of_arguments_are_read_as_they_were_written() -> None:
    read_only = np.zeros(2, np.uint8)
    read_only.flags.writeable = False
    values = (
        5, 2.5, True, np.uint64(1), read_only, np.zeros((2, 3), np.int64).T,
        np.zeros(4, bool)[::2], RefKind.SOFT, (1, 2), (1, np.zeros(1)),
        Pair(np.zeros(1, np.int32), 3),
    )  # fmt: skip
    for kind in map(numba.typeof, values):
        written = json.loads(json.dumps(precompile._described(kind)))
        assert precompile._typed(written) == kind


@pytest.mark.slow
def test_a_helper_is_compiled_once_whatever_numbers_it_gets(tmp_path: Path) -> None:
    toy = Toy(tmp_path)
    first = toy.package / "first.py"
    text = first.read_text().replace("10 * step(value)", "step(value) + step(3)")
    first.write_text(text.replace("step(3)", "step(3) + step(np.int32(value))"))
    first.write_text("import numpy as np\n" + first.read_text())

    found = toy.run("first")

    assert (found[0], compiled(found)) == ([16], ["first", "step"])


@pytest.mark.slow
def test_where_the_cache_cannot_be_written_a_temporary_folder_is_reused(
    tmp_path: Path,
) -> None:
    blocked, temporary = tmp_path / "file", tmp_path / "tmp"
    blocked.write_text("not a folder", encoding="utf-8")
    temporary.mkdir()
    toy = Toy(tmp_path, INGEST_HOME=str(blocked / "home"), TMPDIR=str(temporary))

    first, second = toy.run("second"), toy.run("second")
    [made] = temporary.iterdir()
    made.chmod(0o775)
    third = toy.run("second")

    assert (first[0], compiled(first)) == ([4], ["second"])
    assert second == ([4], [])
    assert (third[0], compiled(third)) == ([4], ["second"])
    said = third[1][0][2]
    assert str(blocked) in said
    assert "other users can write" in said


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_code_is_loaded_only_from_folders_that_nobody_else_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, temporary = tmp_path / "chosen", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(chosen))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(temporary))

    made = kernel_cache._writable_folder("heaproots-1")
    assert made == chosen / "heaproots-1"
    assert [stat.S_IMODE(one.stat().st_mode) for one in (chosen, made)] == 2 * [0o700]

    made.chmod(0o777)
    assert kernel_cache._writable_folder("heaproots-1").is_relative_to(temporary)
    made.chmod(0o700)
    chosen.chmod(0o770)
    assert kernel_cache._writable_folder("heaproots-1").is_relative_to(temporary)
    chosen.chmod(0o700)
    monkeypatch.setattr("os.getuid", lambda: made.stat().st_uid + 1)
    with pytest.raises(OSError, match="belongs to another user"):
        kernel_cache._writable_folder("heaproots-1")


def test_only_folders_that_nobody_has_used_for_long_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    month_ago = time.time() - 31 * 86_400
    for name, used in [
        ("heaproots-0-old", month_ago),
        ("heaproots-0-used", time.time() - 29 * 86_400),
        ("other", month_ago),
    ]:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (used, used))

    kernel_cache._writable_folder("heaproots-1-new")

    assert {folder.name for folder in tmp_path.iterdir()} == {
        "heaproots-0-used",
        "heaproots-1-new",
        "other",
    }


def test_a_folder_in_use_is_marked_as_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = tmp_path / "heaproots-1"
    folder.mkdir()
    os.utime(folder, (0, 0))

    assert kernel_cache._writable_folder("heaproots-1") == folder
    assert time.time() - folder.stat().st_mtime < 60


def test_the_folder_of_a_module_depends_on_what_it_imports() -> None:
    import ingest.analysis.dominators  # noqa: F401

    found = kernel_cache._sources("ingest.analysis.dominators")

    assert {"ingest.analysis.dominators", "ingest.analysis.distances"} <= set(found)
    assert {
        "ingest.arrays.compiled",
        "ingest.arrays.kernel_cache",
        "ingest.heap.graph",
    } <= set(found)
    assert not any(name.startswith("ingest.readers") for name in found)


def notices(*compilations: Compilation, capsys: pytest.CaptureFixture[str]) -> str:
    notice = CompilationNotice()
    for compilation in compilations:
        notice(compilation)
    return capsys.readouterr().err


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))


@pytest.mark.usefixtures("own_cache")
def test_the_notice_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """In all commands of a version."""
    said = notices(
        Compilation("outer", is_done=False, obstacle=""),
        Compilation("inner", is_done=False, obstacle=""),
        Compilation("inner", is_done=True, obstacle=""),
        Compilation("outer", is_done=True, obstacle=""),
        Compilation("later", is_done=False, obstacle=""),
        capsys=capsys,
    )

    again = notices(Compilation("any", is_done=False, obstacle=""), capsys=capsys)

    assert again == ""
    assert said.count("\n") == 1
    assert said.startswith("compiling native code (once per version")


def test_the_notice_says_why_code_is_not_stored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = notices(
        Compilation("outer", is_done=False, obstacle="/cache: No space\x1b left"),
        capsys=capsys,
    )

    assert said.endswith("as it cannot be stored: /cache: No space\\x1b left)\n")


def test_a_terminal_shows_the_time_while_kernels_are_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    notice = CompilationNotice()

    notice(Compilation("outer", is_done=False, obstacle=""))
    time.sleep(1.8)
    notice(Compilation("outer", is_done=True, obstacle=""))

    shown = capsys.readouterr().err
    # On a busy machine more than one second may have passed.
    assert re.match(r"\rcompile native code [1-9]\d* s", shown)
    assert "\n" not in shown


@kernel
def _sum_ahead(column: NDArray[np.int32], ahead: int) -> int:
    total = 0
    for row in range(len(column)):
        fetch(column, row + ahead)
        total += column[row]
    return total


@pytest.mark.parametrize("ahead", [0, 1, -(1 << 40), 1 << 50])
def test_what_is_fetched_ahead_need_not_be_there(ahead: int) -> None:
    column = np.arange(100, dtype=np.int32)
    assert _sum_ahead(column, ahead) == 4950
    plain = cast("Kernel", _sum_ahead).py_func
    assert plain(column, ahead) == 4950


def test_whatever_python_calls_was_compiled_beforehand() -> None:
    """Else `python -m tests.prebuild` finds no dump in tests/fuzz/seeds.py for it."""
    listed = _CHECKOUT / "ingest/kernels/signatures.json"
    if not listed.exists():
        pytest.skip("kernels: not compiled beforehand (make .venv/.installed)")
    compiled = {(module, name) for module, name, _ in json.loads(listed.read_text())}
    kernels, called = set(), set()
    for path in (_CHECKOUT / "ingest").rglob("*.py"):
        if "\n@kernel\n" not in (text := path.read_text("utf-8")):
            continue
        module = ".".join(path.relative_to(_CHECKOUT).with_suffix("").parts)
        for one in ast.parse(text).body:
            if not isinstance(one, ast.FunctionDef) or not any(
                isinstance(mark, ast.Name) and mark.id == "kernel"
                for mark in one.decorator_list
            ):
                continue
            kernels.add((module, one.name))
            called |= {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}

    missing = {(module, name) for module, name in kernels if name not in called}
    assert missing - compiled == set()


OF_A_PROGRAM = """
import gc, sys
if sys.argv[1] == "off":
    gc.disable()
import numpy as np
from ingest.analysis.types import rows_where
from ingest.cli import main

print(rows_where(np.array([False, True])), gc.isenabled(), gc.get_freeze_count())
"""


@pytest.mark.parametrize("collector", ["on", "off"])
def test_a_programs_garbage_is_collected_as_it_wants(collector: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", OF_A_PROGRAM, collector],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip

    assert found == f"[1] {collector == 'on'} 0\n"
