"""Wheel and sdist: what is in them, and that the wheel works where it is alone."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from ingest.arrays.kernel_cache import BROUGHT, folder_name
from ingest.readers.gclog import scan
from tests.conftest import CHECKOUT
from tests.wheels import Smoke

_BEYOND_PYTHON = {".cypher", ".sql", ".toml", ".html", ".css", ".js", ".properties"}


class Built(NamedTuple):
    sdist: Path
    wheel: Path


def _run(*command: str | Path, home: Path | None = None) -> str:
    environment = dict(os.environ)
    if home is not None:
        for name in ("NUMBA_CACHE_DIR", "PYTHONPATH"):
            environment.pop(name, None)
        environment |= {"INGEST_HOME": str(home)}
    ran = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False,
        cwd=home or CHECKOUT,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An sdist of this checkout, and the wheel that is built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


def _files(folder: Path) -> set[str]:
    return {
        str(file.relative_to(CHECKOUT))
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.slow
def test_the_wheel_has_the_package_its_queries_and_no_more(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    package = _files(CHECKOUT / "ingest")
    queries = {f"ingest/{name}" for name in _files(CHECKOUT / "cypher")}
    about = {name for name in names if ".dist-info/" in name}

    assert names - about == package | queries
    assert {Path(name).suffix for name in package | queries} >= _BEYOND_PYTHON
    assert "ingest/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in about)


@pytest.mark.slow
def test_the_sdist_has_what_wheel_and_tests_need(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for folder in ("ingest", "cypher", "tests", "docker"):
        assert _files(CHECKOUT / folder) <= names
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
    } <= names
    assert not [name for name in names if ".venv" in name or ".test-cache" in name]


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(built: Built, tmp_path: Path) -> None:
    """With the dependencies of this environment, so that nothing is downloaded."""
    folder = tmp_path / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin/python"
    _run(
        sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
        "--no-deps", "--no-index", "--disable-pip-version-check", built.wheel,
    )  # fmt: skip
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")

    found = _run(
        python, "-c", "import ingest; print(ingest.__file__)", home=tmp_path
    ).strip()
    assert Path(found).is_relative_to(folder)
    home = tmp_path / "home"
    smoke = Smoke(folder / "bin/ingest", home, CI="1")
    smoke.without_a_server()
    smoke.mcp()
    heaproots = _run(folder / "bin/heaproots", "--version")
    assert heaproots == _run(folder / "bin/ingest", "--version")
    assert smoke.notices() <= 1
    if not (BROUGHT / folder_name(scan.__name__)).exists():
        pytest.skip("kernels of the wheel: they are of other sources (make dist)")
    assert not list(home.rglob("*.nb?")), "nothing was compiled"


@pytest.mark.deep
@pytest.mark.server
def test_the_wheel_brings_all_that_it_needs(built: Built, tmp_path: Path) -> None:
    folder, home = tmp_path / "venv", tmp_path / "home"
    _run(sys.executable, "-m", "venv", folder)
    _run(
        folder / "bin/python", "-m", "pip", "install", "-q", f"{built.wheel}[embedded]"
    )
    smoke = Smoke(folder / "bin/ingest", home, CI="1")
    smoke.without_a_server()
    smoke.with_a_server()
