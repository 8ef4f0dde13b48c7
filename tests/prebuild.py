"""Compiles the kernels into the package: ``python -m tests.prebuild``.

Whoever installs a package that has them waits for no compiler. They are compiled for
any processor of this kind, for this Python and these versions of numpy and numba; see
`ingest.kernel_cache`. Which types of arguments kernels have is found by reading small
dumps of each format, and asking about them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "ingest" / "kernels"
_PARTS = ("readers", "analysis")
"""Two processes: what one has compiled, the other one finds."""


def _ask(*arguments: str) -> None:
    from ingest.cli import main

    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            main(arguments)
    except SystemExit as exit_:
        # A dump without collections has no timeline; `check` finds what grew.
        if exit_.code not in (0, 3, 20):
            sys.stderr.write(f"  {' '.join(arguments)}: exit code {exit_.code}\n")


def _read_all(folder: Path) -> None:
    """Read dumps of each format, in all their variants."""
    from ingest.heap.read_options import DEFAULTS
    from ingest.progress import silent
    from ingest.readers import FORMATS, open_source, read

    for one in FORMATS:
        for dump in _dumps(folder, one.package.rpartition(".")[2]):
            with open_source(str(dump)) as source:
                read(source, DEFAULTS, silent)


def _dumps(folder: Path, package: str) -> list[Path]:
    from tests.fuzz.seeds import SEEDS

    made = []
    for number, data in enumerate(SEEDS[package]()):
        made.append(folder / f"{package}{number}")
        made[-1].write_bytes(data)
    return made


def _ask_all(folder: Path) -> None:
    """Ask everything that has kernels about an example of each format."""
    from tests.fuzz.seeds import SEEDS

    example, earlier = str(folder / "x.gclog"), str(folder / "y.gclog")
    _ask("example", example)
    _ask("example", "--levels", "12", earlier)
    _ask("info", example)
    _ask("what-if", example, "--best", "3")
    _ask("objsize", example, "LevelScreen")
    _ask("compare", earlier, example)
    _ask("check", earlier, example)
    for package in SEEDS:
        for dump in map(str, _dumps(folder, package)):
            _ask("info", dump)
            _ask("timeline", dump)
            _ask("what-if", dump)
            _ask("export", dump, str(folder / f"tables-{Path(dump).name}"))


def _forget_unused() -> int:
    """Remove the folders of other sources or versions; returns the bytes of the rest.

    The two processes have imported the modules of all kernels; here that is repeated.
    """
    from importlib import import_module

    from ingest.kernel_cache import folder_name

    root = _FOLDER.parent
    used = set()
    for file in root.rglob("*.py"):
        if "\n@kernel\n" in file.read_text("utf-8"):
            module = ".".join(("ingest", *file.relative_to(root).with_suffix("").parts))
            import_module(module)
            used.add(folder_name(module))
    for folder in _FOLDER.iterdir():
        if folder.name not in used:
            shutil.rmtree(folder)
    return sum(file.stat().st_size for file in _FOLDER.rglob("*") if file.is_file())


def main() -> None:
    """Start a process for each part, and clear up."""
    if sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="prebuild-") as folder:
            {"readers": _read_all, "analysis": _ask_all}[sys.argv[1]](Path(folder))
        return
    with tempfile.TemporaryDirectory(prefix="prebuild-") as home:
        environment = {
            **os.environ,
            "INGEST_HOME": home,
            "NUMBA_CACHE_DIR": str(_FOLDER),
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "OPENBLAS_NUM_THREADS": "1",
        }
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.prebuild", part], env=environment
            )
            for part in _PARTS
        ]
        codes = [process.wait() for process in started]
    if any(codes):
        raise SystemExit("the kernels could not be compiled")
    sys.stdout.write(f"  {_forget_unused() >> 10:,} KiB in {_FOLDER}\n")


if __name__ == "__main__":
    main()
