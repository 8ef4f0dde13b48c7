"""An export over another one is the old one, the new one, or refused."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.dumps import Opener
from ingest.errors import DumpError
from ingest.readers.gclog.example import example_gclog
from ingest.tables import export as module
from tests.conftest import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

A, B = 3, 6
"""Levels of the examples: how many objects they have follows."""

SLOWLY = """
import sys, time
from pathlib import Path
from ingest.__main__ import main
from ingest.tables import export

replace, unlink = Path.replace, Path.unlink
move = export._replace_files

def slowly(what):
    def done(*given, **named):
        time.sleep(0.01)
        what(*given, **named)
        time.sleep(0.01)
    return done

def told(*given):
    print("begun", flush=True)
    Path.replace, Path.unlink = slowly(replace), slowly(unlink)
    move(*given)
    Path.replace, Path.unlink = replace, unlink

export._replace_files = told
sys.argv = ["ingest", "export", *sys.argv[1:]]
sys.exit(main())
"""
MOVING_S = 0.02 * 18


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("dumps")
    found = {size: folder / f"{size}.gclog" for size in (A, B)}
    for size, path in found.items():
        path.write_text(example_gclog(size), encoding="utf-8")
    return found


def facts(what: Path) -> tuple[int, int, tuple[str, ...]]:
    """What both the old and the new tables tell, from several of them."""
    opened = Opener().open(str(what))
    return (
        opened.graph.object_count,
        int(opened.metrics.reachable_bytes),
        opened.graph.type_names,
    )


@pytest.mark.slow
def test_each_moment_between_two_files(
    dumps: dict[int, Path],
    ingest: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With a file of others in the folder; afterwards it can be exported again."""
    folder = tmp_path / "h"
    assert ingest("export", str(dumps[A]), str(folder))[0] == 0
    (folder / "mine.txt").write_text("mine")
    old, new = facts(dumps[A]), facts(dumps[B])
    count = len(list(folder.glob("*.parquet"))) + 2
    replace, left = Path.replace, 0

    def failing(self: Path, target: Path) -> Path:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return replace(self, target)

    for moment in range(count):
        left = moment
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing)
            assert ingest("export", str(dumps[B]), str(folder), "--force")[0] == 130
        with pytest.raises(DumpError, match="no whole export"):
            facts(folder)
        if moment % 6 == 0:
            assert ingest("check", str(folder))[0] == 3
            assert ingest("compare", str(dumps[A]), str(folder))[0] == 3
    assert ingest("export", str(dumps[B]), str(folder), "--force")[0] == 0
    assert facts(folder) == new != old
    assert (folder / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["h"]


def test_a_file_of_another_export(
    dumps: dict[int, Path], ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        assert ingest("export", str(dumps[A]), str(folder))[0] == 0
    path = one / "roots.parquet"
    whole = path.read_bytes()

    path.write_bytes((two / path.name).read_bytes())
    with pytest.raises(DumpError, match=r"roots\.parquet is of another export"):
        facts(one)
    path.write_bytes(b"PAR1")
    with pytest.raises(DumpError, match=r"roots\.parquet cannot be read"):
        facts(one)
    path.unlink()
    with pytest.raises(DumpError, match=r"roots\.parquet is missing"):
        facts(one)
    path.write_bytes(whole)
    assert facts(one) == facts(dumps[A])


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"version": 1}', "cannot be read"),
        ('{"version": 99, "export": "a", "bytes": {}}', "newer version"),
    ],
)
def test_a_damaged_manifest(
    dumps: dict[int, Path],
    ingest: Callable[..., Ran],
    tmp_path: Path,
    text: str,
    said: str,
) -> None:
    assert ingest("export", str(dumps[A]), str(tmp_path / "h"))[0] == 0
    (tmp_path / "h" / "manifest-parquet.json").write_text(text)

    with pytest.raises(DumpError, match=said):
        facts(tmp_path / "h")


def test_files_for_an_import_have_no_arguments_before_all_are_there(
    dumps: dict[int, Path],
    ingest: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "h"
    command = ("export", str(dumps[A]), str(folder), "--for", "neo4j-admin")
    assert ingest(*command)[0] == 0
    named = json.loads((folder / "manifest-neo4j-admin.json").read_text("utf-8"))
    assert "import.args" in named["bytes"]

    def failing(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        assert ingest(*command, "--force")[0] == 130
    assert not (folder / "import.args").exists()


def test_what_a_killed_export_left_goes_and_a_running_one_stays(
    dumps: dict[int, Path], ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    abandoned = tmp_path / ".h-0123abcd.part"
    running = tmp_path / ".h-4567abcd.part"
    others = [tmp_path / ".g-0123abcd.part", tmp_path / ".h-mine.part"]
    for folder in (abandoned, running, *others):
        folder.mkdir()
        (folder / "types.parquet").write_bytes(b"")
    with module._locked(running):
        assert ingest("export", str(dumps[A]), str(tmp_path / "h"))[0] == 0

    assert {path.name for path in tmp_path.iterdir()} == {
        "h", running.name, *(path.name for path in others),
    }  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("moment", range(20))
def test_a_killed_export(dumps: dict[int, Path], tmp_path: Path, moment: int) -> None:
    rng = random.Random(moment)
    folder = tmp_path / "h"

    def started(size: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", SLOWLY, str(dumps[size]), str(folder), "--force"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=CHECKOUT,
        )

    def done(size: int) -> int:
        process = started(size)
        process.communicate(timeout=60)
        return process.returncode

    assert done(A) == 0
    process = started(B)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(rng.uniform(0, 1.3 * MOVING_S))
    process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    process.communicate(timeout=60)

    found = None
    with suppress(DumpError):
        found = facts(folder)
    sys.stdout.write(f"after {process.returncode}: {found and found[:2]}\n")
    assert found in (None, facts(dumps[A]), facts(dumps[B]))
    assert done(B) == 0
    assert facts(folder) == facts(dumps[B])
    assert [path.name for path in tmp_path.iterdir()] == ["h"]
