"""Compiles the kernels into the package: ``python -m tests.prebuild``.

Whoever installs a package that has them waits for no compiler. They are compiled for
any processor of this kind, for this Python and these versions of numpy and numba; see
`ingest.arrays.kernel_cache`. Which types of arguments kernels have is found by reading
small dumps of each format, and asking about them.
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

import numpy as np

_FOLDER = Path(__file__).parents[1] / "ingest" / "kernels"
_SCRIPT = "var i=1;function f(e){g(()=>e+i)}"
_SOURCE_MAP = (
    '{"version": 3, "sources": ["app.ts"], "names": ["cache", "user"], '
    '"mappings": "IAAIA,eAAeC,SAASA,EAAEA"}'
)


def _ask(*arguments: str) -> None:
    from ingest.cli import main

    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            main(arguments)
    except SystemExit as exit_:
        # A dump without collections has no timeline; `check` finds what grew.
        if exit_.code not in (0, 3, 20, 22):
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
    _name_variables(folder / "app.js.map")
    for package in SEEDS:
        for dump in map(str, _dumps(folder, package)):
            _ask("info", dump)
            _ask("compare", dump, dump)
            _ask("timeline", dump)
            _ask("redact", dump, f"{dump}-copy", "--prove", f"{dump}.html")
            _ask("what-if", dump)
            _ask("export", dump, str(folder / f"tables-{Path(dump).name}"))
        tables = str(folder / f"tables-{package}0")
        _ask("what-if", tables)
        _ask("report", "--in", tables)


def _answer_all(folder: Path) -> None:
    """Ask each question of the library, of a heap that was read and of its tables."""
    from ingest.analysis.metrics import analyse
    from ingest.answers.asking import FUNCTIONS, answered
    from ingest.answers.opened import OpenedHeap
    from ingest.answers.stored import StoredHeap
    from ingest.queries.library import find
    from ingest.tables.heap_tables import HeapTables
    from tests.cypher.asked_values import some_values
    from tests.cypher.heaps import HEAPS, OF_THE_NODE
    from tests.heaps import stored_tables

    for number, heap in enumerate(HEAPS):
        graph = heap()
        tables = HeapTables(graph, analyse(graph))
        views = (
            opened := OpenedHeap(tables, {}),
            StoredHeap(stored_tables(folder / str(number), tables)),
        )
        for query in map(find, FUNCTIONS.keys() - OF_THE_NODE):
            taken = {one.name for one in query.parameters}
            for given in some_values(opened, taken, objects=1, ends=1, types=1):
                for view in views:
                    answered(view, query, query.bind(given, 0))


def _name_variables(path: Path) -> None:
    """Ask a source map for the original name of a minified variable."""
    from ingest.readers.v8.functions import ScriptFunctions
    from ingest.readers.v8.source_map import SourceMaps
    from ingest.readers.v8.variables import Variables

    path.write_text(_SOURCE_MAP, "utf-8")
    known = SourceMaps(path).of("app.js")
    assert known is not None
    found, lines, columns = ScriptFunctions(_SCRIPT), np.array([0]), np.array([20])
    found.may_begin(lines, columns)
    Variables(found, known).names(lines, columns, ["i"])


def _order_all(_: Path) -> None:
    """Look up ids and addresses out of order, as those of small dumps are not."""
    from ingest.analysis.tracking import _by_address
    from ingest.readers.shared.id_table import IdTable

    for kind in (np.uint32, np.uint64):
        ids = np.arange(4096, dtype=kind) * 16
        ids[:2] = ids[1::-1]
        IdTable(ids)
    _by_address(np.array([5, 6, 1, 2], np.uint64), np.array([0, 2]))


def _forget_unused() -> int:
    """Remove the folders of other sources or versions; returns the bytes of the rest.

    The processes have imported the modules of all kernels; here that is repeated. A
    list of the kernels is written for those who have another Python.
    """
    from importlib import import_module

    from ingest.arrays.kernel_cache import folder_name
    from ingest.arrays.precompile import write_list

    root = _FOLDER.parent
    used = {}
    for file in root.rglob("*.py"):
        if "\n@kernel\n" in file.read_text("utf-8"):
            module = ".".join(("ingest", *file.relative_to(root).with_suffix("").parts))
            import_module(module)
            used[folder_name(module)] = module
    for folder in _FOLDER.glob("heaproots-*"):
        if folder.name not in used:
            shutil.rmtree(folder)
    write_list(used.values())
    return sum(file.stat().st_size for file in _FOLDER.rglob("*") if file.is_file())


def _let_others_read() -> None:
    """Give the folder the modes that other files have; numba's are private."""
    os.umask(mask := os.umask(0))
    for path in (_FOLDER, *_FOLDER.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


_PARTS = {"readers": (_read_all, _answer_all, _order_all), "analysis": (_ask_all,)}
"""A process each: what one has compiled, the other one finds."""


def main() -> None:
    """Start a process for each part, and clear up."""
    if sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="prebuild-") as folder:
            for do in _PARTS[sys.argv[1]]:
                do(Path(folder))
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
    kept_bytes = _forget_unused()
    _let_others_read()
    sys.stdout.write(f"  {kept_bytes >> 10:,} KiB in {_FOLDER}\n")


if __name__ == "__main__":
    main()
