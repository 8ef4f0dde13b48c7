"""The recipes of the map: they apply, and what they add passes its tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TEST_CACHE
from tests.recipes import RECIPES
from tests.unit.test_readme import MOST_BYTES
from tests.unit.test_tree import ROOT, TRACKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.recipes import Recipe

pytestmark = pytest.mark.skipif(
    not TRACKED,
    reason="files of the project: no git that tells which they are",
)

MAP = ROOT / "ingest" / "README.md"
_HOW_LONG_S = 1800
_ADDED_BYTES = 61
"""Of a format of dumps, in the README's lists; more than of any other."""
_TOOLS = (
    ("tests.readme", "--write"),
    ("ruff", "check", "ingest", "tests", "docker"),
    ("ruff", "format", "--check", "ingest", "tests", "docker"),
    ("mypy",),
)
"""What is run before the suite of a recipe: ``make readme``, and ``make lint``."""


@pytest.fixture(params=RECIPES.values(), ids=[*RECIPES])
def recipe(request: pytest.FixtureRequest) -> Recipe:
    found: Recipe = request.param
    return found


def test_a_recipe_applies(recipe: Recipe) -> None:
    try:
        recipe.apply(ROOT, "--check")
    except subprocess.CalledProcessError as error:
        pytest.fail(f"write {recipe.patch.name} again: {error.stderr}")


def test_a_recipe_has_a_section_of_the_map(recipe: Recipe) -> None:
    sections = re.split("^## ", MAP.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (section,) = (one for one in sections if f"<!-- recipe-{recipe.name} -->" in one)

    title = recipe.name.replace("-", " ")
    assert section.startswith(("Add a ", "Add an "))
    assert title in section.splitlines()[0]


def test_what_a_recipe_is_tested_by_is_there(recipe: Recipe) -> None:
    paths = [word for word in recipe.suite if word.startswith("tests/")]

    assert paths
    for path in paths:
        assert (ROOT / path).exists() or path in recipe.files(), path


def test_the_readme_has_room_for_what_a_recipe_adds() -> None:
    assert len((ROOT / "README.md").read_bytes()) + _ADDED_BYTES <= MOST_BYTES


@pytest.fixture(scope="session")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy knows of the files, so that it reads most of them once."""
    return tmp_path_factory.mktemp("types")


@pytest.mark.deep
def test_what_a_recipe_adds_passes_its_tests(
    recipe: Recipe, tmp_path: Path, types: Path
) -> None:
    copy = tmp_path / "checkout"
    for path in filter(Path.exists, TRACKED):
        made = copy / path.relative_to(ROOT)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, made)
    # Compiled kernels and the server's jars, which are known by their content.
    TEST_CACHE.mkdir(exist_ok=True)
    (copy / TEST_CACHE.name).symlink_to(TEST_CACHE, target_is_directory=True)
    recipe.apply(copy)
    for name in recipe.files():  # git leaves out what it takes for another repository's
        assert not same(ROOT / name, copy / name), name

    suite = ("pytest", "-q", "-p", "no:cacheprovider", *recipe.suite)
    for words in (*_TOOLS, suite):
        code, said = _run(words, copy, types)
        assert code == 0, f"{' '.join(words)}\n{said[-5000:]}"


def same(one: Path, two: Path) -> bool:
    return one.exists() and one.read_bytes() == two.read_bytes()


def _run(words: Sequence[str], folder: Path, types: Path) -> tuple[int, str]:
    """Exit code and output of a module of Python; its processes are ended with it."""
    process = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "HYPOTHESIS_PROFILE": "quick", "MYPY_CACHE_DIR": str(types)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_HOW_LONG_S)
    except BaseException:
        process.send_signal(signal.SIGINT)  # pytest ends the servers of its tests
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        raise
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said
