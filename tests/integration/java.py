"""Java programs of the tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.summary import note_use

PROGRAMS = Path(__file__).parents[1] / "programs"


def compiled(
    program: str, folder: Path, *, javac: Path | None = None, release: int = 11
) -> Path:
    """Compile a program, or skip the test where there is no compiler.

    Args:
        program: Name of its file in `PROGRAMS`.
        folder: Where the classes are written.
        javac: The compiler; the one on the path otherwise.
        release: The earliest JDK that can run it.

    Returns:
        ``folder``.
    """
    compiler = javac or shutil.which("javac")
    if compiler is None:
        pytest.skip("Java programs: no javac on the PATH (apt-get install default-jdk)")
    source = PROGRAMS / program
    subprocess.run(
        [compiler, "-nowarn", "--release", str(release), "-d", folder, source],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    note_use("javac")
    return folder
