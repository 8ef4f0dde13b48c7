"""The program through its own door: exit codes, streams, and no traceback."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.cli.examples import EXAMPLES
from ingest.readers.gclog.example import example_gclog
from tests.dumps.clrprofiler import Log
from tests.dumps.nettrace import NetTrace
from tests.unit.readers.test_gclog import EXCERPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "excerpt.gclog"
    path.write_text(EXCERPT, encoding="utf-8")
    return path


def test_help_names_every_command(ingest: Callable[..., Ran]) -> None:
    code, out, _ = ingest("--help")

    assert code == 0
    for command in {name.split()[0] for name in EXAMPLES if name}:
        assert f"\n  {command} " in out


@pytest.mark.parametrize(
    "command",
    ["load", "info", "list", "drop", "queries", "query", "why", "report", "browse",
     "capture", "capture dart", "capture dotnet", "capture jvm", "capture list",
     "example", "server", "server start", "server stop", "server status", "what-if",
     "check", "objsize"],
)  # fmt: skip
def test_every_command_has_help(ingest: Callable[..., Ran], command: str) -> None:
    code, out, _ = ingest(*command.split(), "--help")

    assert code == 0
    assert len(out.splitlines()) > 5
    assert max(map(len, out.splitlines())) <= 80


def test_an_inspector_without_its_host_is_wrong_usage(
    ingest: Callable[..., Ran],
) -> None:
    code, _, err = ingest("capture", "chrome", "9222")

    assert code == 2
    assert "name the host too: 127.0.0.1:9222" in err


def test_version(ingest: Callable[..., Ran]) -> None:
    code, out, _ = ingest("--version")

    assert (code, out.split()[0]) == (0, "heaproots")


def test_help_imports_nothing_heavy() -> None:
    """What makes --help slow is never imported for it."""
    program = (
        "import sys\nfrom ingest.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'numpy', 'neo4j', 'rich.console', 'requests', 'tqdm'}\n"
        "heavy |= {'websockets', 'jinja2', 'http.server', 'ingest.readers'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_info_as_json(ingest: Callable[..., Ran], dump: Path) -> None:
    code, out, _ = ingest("info", str(dump), "--json")

    found = json.loads(out)
    assert code == 0
    assert found["format"] == "gclog"
    assert found["objects"] == 6
    assert found["types"] == 5
    assert found["references"] == 8
    assert found["roots"] == 3
    assert found["missing_objects"] == 9
    assert found["reachable_objects"] == 2
    assert found["reachable_bytes"] == 0x24 + 0x28
    assert found["weak_roots"] == 0
    assert found["null_references"] == 0
    assert found["shallow_bytes"] == 0x64 + 0x64 + 0x18 + 0x118 + 0x24 + 0x28
    assert found["root_kinds"] == {"runtime": 3}
    assert found["warnings"] == {"undeclared_type": 3, "missing_object": 8}
    assert found["top_retained"][0] == {
        "address": "0x22c823",
        "type": "<type 0x1b>",
        "retained_bytes": 0x28,
    }


def test_info_for_a_person_fits_80_columns(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")

    code, out, _ = ingest("info", str(path))

    assert code == 0
    out = out.replace(str(path), "FILE")  # a command is not broken, to be pasted
    assert max(map(len, out.splitlines())) <= 80
    assert "1. 24 LevelScreen (863 KiB, 72% of the reachable heap)" in out
    assert "warning: missing object: 1, first in line" in out


def test_info_from_standard_input(tmp_path: Path, dump: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "info", "-", "--json"],
        input=gzip.compress(dump.read_bytes()),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0
    assert json.loads(done.stdout)["objects"] == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (
            b"\x7fELF\x02\x01" + bytes(range(256)) * 40,
            "a program (ELF), a format that is not",
        ),
        (b"x" * 10_000_000, "not a heap dump"),
        (b"\x1f\x8b\x08\x00garbage-garbage", "cannot be read"),
    ],
)
def test_what_is_no_dump(
    ingest: Callable[..., Ran], tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "bad\x1b[31m.gclog"
    path.write_bytes(content)

    for command in ("info", "load"):
        code, out, err = ingest(command, str(path))

        assert code == 3
        assert out == ""
        assert err.startswith("error: ")
        assert message in err
        assert err.count("\n") == 1
        assert "\x1b" not in err


def test_no_file_and_a_folder(ingest: Callable[..., Ran], tmp_path: Path) -> None:
    assert ingest("info", str(tmp_path / "none"))[0] == 3
    code, _, err = ingest("info", str(tmp_path))
    assert (code, "folder" in err) == (3, True)


def test_strict_refuses_with_a_place(ingest: Callable[..., Ran], dump: Path) -> None:
    code, _, err = ingest("info", str(dump), "--strict")

    assert code == 3
    assert "line 8: undeclared type" in err or "line 8: missing object" in err


def test_a_hostile_type_name_is_shown_escaped(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "hostile"
    name = "\x1b]0;owned\x07<script>alert(1)</script>'}) DETACH DELETE n //"
    path.write_text(f"a 2 x\x1b[2J\nt 1 {name}\no 1 1 10\nr 1 1 0\nc x\x1b[2J\n")

    _, out, _ = ingest("info", str(path))

    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\\x1b]0;owned\\x07<script>" in out


def test_one_of_several_heap_dumps_of_a_trace(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    trace = NetTrace()
    for number, objects in ((2, 1), (5, 3)):
        trace.start(number)
        trace.nodes([(16 * i, 16, 0x7000, 0) for i in range(1, objects + 1)])
        trace.end(number)
    path = tmp_path / "app.nettrace"
    path.write_bytes(trace.file())

    assert json.loads(ingest("info", str(path), "--json")[1])["objects"] == 1
    told = ingest("info", str(path), "--part", "5", "--json")[1]
    assert json.loads(told)["objects"] == 3
    folder = tmp_path / "tables"
    code, _, _ = ingest("export", str(path), str(folder), "--for", "csv", "--part", "5")
    assert code == 0
    assert len((folder / "objects.csv").read_text().splitlines()) == 4
    code, _, error = ingest("info", str(path), "--part", "3")
    assert code == 3
    assert "collection 3 is not in the trace; --part accepts those that" in error


def test_one_of_several_heap_dumps_of_a_log(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    log = Log().type(1, "T")
    for objects in (1, 3):
        log.begin().root(0x10)
        for row in range(objects):
            log.object(0x10 + 16 * row, 1, 16)
        log.end()
    path = tmp_path / "app.log"
    path.write_bytes(log.bytes())

    assert json.loads(ingest("info", str(path), "--json")[1])["objects"] == 3
    told = ingest("info", str(path), "--part", "0", "--json")[1]
    assert json.loads(told)["objects"] == 1
    folder = tmp_path / "tables"
    export = ("export", str(path), str(folder), "--for", "csv", "--part", "0")
    assert ingest(*export)[0] == 0
    assert len((folder / "objects.csv").read_text().splitlines()) == 2
    code, _, error = ingest("info", str(path), "--part", "2")
    assert code == 3
    assert "dump 2 does not exist; choose --part from: 0 (1 object), 1" in error


def test_wrong_usage(ingest: Callable[..., Ran], dump: Path) -> None:
    assert ingest("frobnicate")[0] == 2
    assert ingest("info")[0] == 2
    assert ingest("load", "a", "b", "--name", "x")[0] == 2
    assert ingest("query", "x", "--format", "xml")[0] == 2


def test_example_is_not_overwritten(ingest: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "e.gclog"

    assert ingest("example", str(path))[0] == 0
    written = path.read_bytes()
    code, out, err = ingest("example", str(path))
    assert (code, "is there already" in out) == (0, True)
    code, _, err = ingest("example", str(path), "--levels", "8")
    assert (code, "--force" in err) == (1, True)
    assert path.read_bytes() == written
    assert ingest("example", str(path), "--force")[0] == 0
    assert path.read_bytes() == written
    assert b"\r\n" in written


def test_example_has_its_leak(ingest: Callable[..., Ran], tmp_path: Path) -> None:
    ingest("example", str(tmp_path / "e.gclog"))

    code, out, _ = ingest("info", str(tmp_path / "e.gclog"), "--json")

    found = json.loads(out)
    assert code == 0
    assert found["suspects"][0]["type"] == "StarMiner.LevelScreen"
    assert found["suspects"][0]["holder"] == "StarMiner.GameEvents"
    assert found["suspects"][0]["share"] > 0.5
    assert [d["name"] for d in found["domains"]] == ["StarMiner.exe", "ScriptHost.dll"]


def test_a_server_that_is_down(ingest: Callable[..., Ran], dump: Path) -> None:
    begun = time.monotonic()
    code, _, err = ingest("load", str(dump), "--uri", "bolt://127.0.0.1:1")
    assert time.monotonic() - begun < 10, "it was tried again"

    assert code == 6
    assert err.startswith("error: no Neo4j answers at bolt://127.0.0.1:1")
    assert err.count("\n") == 1


def test_an_address_that_is_none(ingest: Callable[..., Ran]) -> None:
    code, _, err = ingest("list", "--uri", "http//nonsense")

    assert code == 6
    assert err.count("\n") == 1


def test_queries_that_are_wrong_need_no_server(ingest: Callable[..., Ran]) -> None:
    code, _, err = ingest("query", "retained-object")
    assert (code, "did you mean retained-objects" in err) == (5, True)
    code, _, err = ingest("query", "retained-objects", "--param", "limit=many")
    assert (code, "not of type INTEGER" in err) == (5, True)
    code, _, err = ingest("query", "retained-objects", "--param", "depth=1")
    assert (code, "has no parameter depth" in err) == (5, True)
    code, _, err = ingest("query", "shortest-root-path")
    assert (code, "needs parameter address" in err) == (5, True)
    code, _, err = ingest("query", "retained-objects", "--param", "limit")
    assert (code, "NAME=VALUE" in err) == (5, True)
    code, _, err = ingest("query", "missing.cypher")
    assert (code, "cannot be read" in err) == (5, True)


def test_queries_list_and_tell(ingest: Callable[..., Ran]) -> None:
    code, out, _ = ingest("queries")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = ingest("queries", "retained-objects")
    assert "LIMIT $limit" in out
    code, out, _ = ingest("queries", "--json")
    names = [query["name"] for query in json.loads(out)]
    assert names == sorted(names)
    assert len(names) >= 31


def test_info_imports_no_more_than_it_needs(dump: Path) -> None:
    """No tables, server or page of any kind, and no other format's reader."""
    program = (
        "import sys\nfrom ingest.cli import main\n"
        f"try:\n    main(['info', {str(dump)!r}, '--json'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'polars', 'rich', 'neo4j', 'requests', 'jinja2', 'websockets'}\n"
        "heavy |= {'ingest.database.connection', 'ingest.tables.heap_tables'}\n"
        "heavy |= {f'ingest.readers.{name}.reader' for name in\n"
        "          ('dart', 'gcdump', 'nettrace', 'traverseheap', 'clrprofiler')}\n"
        "heavy |= {'numba.np.linalg', 'numba.cpython.unicode'}  # for compiling\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    command = [sys.executable, "-c", program]
    subprocess.run(command, capture_output=True, check=True)  # may compile

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
