"""The action for GitHub and the template for GitLab: their steps are run as scripts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.errors import FINDINGS
from ingest.readers.gclog.example import example_gclog
from tests.conftest import CHECKOUT

ACTION = CHECKOUT / ".github" / "actions" / "check"


def ran(
    script: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A script as a runner runs it, with the ``python`` and ``ingest`` of the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def steps(
    folder: Path, *, action: Path = ACTION, **inputs: str
) -> list[subprocess.CompletedProcess[str]]:
    """The steps of the action, until one fails."""
    told: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    given = {name: one.get("default", "") for name, one in told["inputs"].items()}
    given |= inputs

    def value(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda name: given[name[1]], text)

    done: list[subprocess.CompletedProcess[str]] = []
    for step in told["runs"]["steps"]:
        variables = {name: value(text) for name, text in step["env"].items()}
        variables["GITHUB_ACTION_PATH"] = str(action)
        variables["GITHUB_STEP_SUMMARY"] = str(folder / "summary.md")
        done.append(ran(step["run"], folder, **variables))
        if done[-1].returncode:
            break
    return done


def dumps(folder: Path) -> str:
    for name, levels in (("first", 8), ("it's second", 24)):
        (folder / f"{name}.gclog").write_text(example_gclog(levels), encoding="utf-8")
    return 'first.gclog "it\'s second.gclog"'


@pytest.mark.slow
def test_the_action_fails_for_a_leak_and_says_it(tmp_path: Path) -> None:
    install, check = steps(
        tmp_path, install="none", dumps=dumps(tmp_path), arguments="--min-dumps 2"
    )

    assert (install.returncode, install.stdout) == (0, "")
    assert check.returncode == FINDINGS, check.stderr
    assert "::error" in check.stdout
    assert "LevelScreen" in (tmp_path / "summary.md").read_text("utf-8")
    assert {"heaproots.sarif", "heaproots.xml"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.slow
def test_inputs_are_not_run(tmp_path: Path) -> None:
    *_, check = steps(
        tmp_path, install="none", dumps="a.gclog; touch pwned $(touch pwned)"
    )
    assert check.returncode not in (0, FINDINGS)
    assert not (tmp_path / "pwned").exists()


@pytest.fixture
def without_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What pip installs, without asking an index, goes into a folder of the test."""
    target = tmp_path / "installed"
    for name in ("NO_INDEX", "NO_DEPS"):
        monkeypatch.setenv(f"PIP_{name}", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # which is how pip says yes
    monkeypatch.setenv("PIP_TARGET", str(target))
    return target


def repository(folder: Path) -> Path:
    """A clone of this one, as a runner has it for the action."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        folder.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, folder)
    for name in ("ingest", "cypher", ".github"):
        left_out = shutil.ignore_patterns("__pycache__", "kernels")
        shutil.copytree(CHECKOUT / name, folder / name, ignore=left_out)
    return folder


@pytest.mark.deep
def test_by_default_its_own_repository_is_installed(
    tmp_path: Path, without_index: Path
) -> None:
    place = repository(tmp_path / "of the action")

    install, _ = steps(
        tmp_path, action=place / ACTION.relative_to(CHECKOUT), dumps=dumps(tmp_path)
    )

    assert install.returncode == 0, install.stderr
    assert (without_index / "ingest" / "cypher").is_dir()


@pytest.mark.slow
def test_what_the_user_names_is_installed_and_no_stranger(
    tmp_path: Path, without_index: Path
) -> None:
    package = tmp_path / "named"
    package.mkdir()
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "named"\nversion = "1"\n'
    )
    (package / "named.py").write_text("")
    install, _ = steps(tmp_path, install=str(package), dumps="none.gclog")
    assert install.returncode == 0, install.stderr
    assert (without_index / "named.py").is_file()

    (alone,) = steps(tmp_path, action=package / "a" / "b" / "c", dumps="none.gclog")
    assert alone.returncode != 0


def test_a_copy_of_the_action_installs_no_other_project(
    tmp_path: Path, without_index: Path
) -> None:
    action = tmp_path / ".github" / "actions" / "check"
    action.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "theirs"\n')

    (install,) = steps(tmp_path, action=action, dumps="none.gclog")

    assert install.returncode == 2
    assert "name what to install" in install.stderr
    assert not without_index.exists()


@pytest.mark.deep
def test_the_template_for_gitlab(tmp_path: Path) -> None:
    told = yaml.safe_load((ACTION / "gitlab.yml").read_text("utf-8"))[".ingest-check"]
    first, _install, check = told["script"]
    variables = {**told["variables"], "DUMPS": "first.gclog second.gclog"}
    dumps(tmp_path)
    (tmp_path / "it's second.gclog").rename(tmp_path / "second.gclog")

    refused = ran(first, tmp_path, **variables)
    more = {"ARGUMENTS": "--min-dumps 2"}
    checked = ran(check, tmp_path, **variables | more)

    assert refused.returncode == 2
    assert "set INSTALL" in refused.stderr
    assert ran(first, tmp_path, **variables | {"INSTALL": "a"}).returncode == 0
    assert checked.returncode == FINDINGS, checked.stderr
    for name in [*told["artifacts"]["paths"], told["artifacts"]["reports"]["junit"]]:
        assert (tmp_path / name).is_file()
