"""``check`` through its own door: exit codes, baselines, and all its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from ingest.readers.gclog.example import example_gclog
from tests.dumps.gclog import Gclog
from tests.dumps.nettrace import NetTrace
from tests.dumps.programs import dumps_of, event_handler, static_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

BASELINE = "heaproots-baseline.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with dumps a0 a1 a2 of a leak, and b0 b1 b2 of that and another."""
    monkeypatch.chdir(tmp_path)
    for name, parts in (("a", (static_list,)), ("b", (static_list, event_handler))):
        for at, text in enumerate(dumps_of(parts, 4000, 1)):
            (tmp_path / f"{name}{at}.gclog").write_text(text, encoding="utf-8")
    return tmp_path


def dumps(name: str) -> list[str]:
    return [f"{name}{at}.gclog" for at in range(3)]


@pytest.mark.usefixtures("project")
def test_red_baseline_green_and_red_again(ingest: Callable[..., Ran]) -> None:
    code, out, _ = ingest("check", *dumps("a"))
    assert code == 20
    assert "1 finding." in out
    assert "Order grew in every dump: 40, 50, 60 objects" in " ".join(out.split())
    assert "0  static root in History\n" in out, "a path to one of them"

    assert ingest("check", *dumps("a"), "--update-baseline")[0] == 0
    code, out, _ = ingest("check", *dumps("a"))
    assert code == 0
    assert "No findings, 1 known from the baseline." in out

    code, out, _ = ingest("check", *dumps("b"), "-f", "json")
    found = json.loads(out)
    assert code == 20
    assert [one["path"][-1] for one in found["findings"]] == ["PriceChangedHandler"]
    assert [one["path"][-1] for one in found["known"]] == ["Order"]
    (example,) = (one["example"] for one in found["findings"])
    assert [step.split(" 0x")[0] for step in example] == [
        "static root in Prices",
        "PriceChangedHandler",
        "Object[]",
        "PriceChangedHandler",
    ]


def test_objects_of_weak_handles_that_become_more_are_no_finding(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    paths = []
    for number in (100, 200, 300):
        log = Gclog().domain("App.exe").type(1, "App.Main").type(2, "App.Cached")
        log.object(1, 1, 5000).root(1, 4, 0, 1)
        for at in range(2, 2 + number):
            log.object(at, 2, 40).root(at, 3, 2)
        path = tmp_path / f"{number}.gclog"
        path.write_bytes(log.close("App.exe").bytes())
        paths.append(str(path))

    code, out, _ = ingest("check", *paths)

    assert code == 0
    assert "No findings." in out
    note = "but only weak references and handles lead to these objects: the next "
    assert f"Cached grew in every dump, {note}" in " ".join(out.split())

    _, out, _ = ingest("check", *paths[:2])
    assert f"Cached grew, {note}" in " ".join(out.split())


@pytest.mark.slow
def test_unused_entries(ingest: Callable[..., Ran], project: Path) -> None:
    ingest("check", *dumps("b"), "--update-baseline")

    code, out, _ = ingest("check", *dumps("a"))
    assert code == 0
    assert "has an entry that no longer occurs" in " ".join(out.split())
    assert ingest("check", *dumps("a"), "--strict-baseline")[0] == 20
    assert ingest("check", *dumps("a"), "--prune")[0] == 0
    assert ingest("check", *dumps("a"), "--strict-baseline")[0] == 0
    assert "PriceChangedHandler" not in (project / BASELINE).read_text("utf-8")


def test_all_outputs(ingest: Callable[..., Ran], project: Path) -> None:
    """Their forms are tested here; that SARIF is valid, in `test_sarif`."""
    ingest("check", *dumps("a"), "--update-baseline")
    files = ["leaks.sarif", "leaks.xml", "leaks.md", "leaks.json", "leaks.txt"]

    options = [f"--save={name}" for name in files]
    code, out, _ = ingest("check", *dumps("b"), "-f", "github", *options)

    assert code == 20
    assert out.startswith(
        "::error title=Objects accumulate from dump to dump::60 Price"
    )
    suite = ElementTree.parse(project / "leaks.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    assert len(suite.findall(".//testcase")) == int(suite.get("tests", ""))
    (run,) = json.loads((project / "leaks.sarif").read_text("utf-8"))["runs"]
    new, known = run["results"]
    assert new["ruleId"] == run["tool"]["driver"]["rules"][new["ruleIndex"]]["id"]
    assert "suppressions" in known
    assert "suppressions" not in new
    keys = json.loads((project / "leaks.json").read_text("utf-8"))["findings"]
    assert new["partialFingerprints"] == {"heapPath/v1": keys[0]["fingerprint"]}
    markdown = (project / "leaks.md").read_text("utf-8")
    assert markdown.startswith("### ❌ Heap check: 1 finding, 1 known")


def test_a_trace_is_judged_by_all_its_dumps(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    for number, objects in ((2, 10), (5, 20), (7, 30)):
        trace.start(number)
        trace.nodes([(16 * i, 16, 0x7000, 0) for i in range(1, objects + 1)])
        trace.roots([(16 * i, 2, 0) for i in range(1, objects + 1)])
        trace.end(number)
    path = tmp_path / "day.nettrace"
    path.write_bytes(trace.file())

    code, out, _ = ingest("check", str(path), "--json")

    found = json.loads(out)
    assert code == 20
    names = [dump["name"] for dump in found["dumps"]]
    assert names == ["day.nettrace 2", "day.nettrace 5", "day.nettrace 7"]
    assert found["findings"][0]["counts"] == [10, 20, 30]


@pytest.mark.slow
def test_tables_are_judged_like_the_files(
    ingest: Callable[..., Ran], project: Path
) -> None:
    for name in dumps("a"):
        assert ingest("export", name, name.removesuffix(".gclog"))[0] == 0
    folders = [name.removesuffix(".gclog") for name in dumps("a")]

    of_files = json.loads(ingest("check", *dumps("a"), "-f", "json")[1])
    of_tables = json.loads(ingest("check", *folders, "-f", "json")[1])

    assert of_tables["findings"] == of_files["findings"] != []
    assert project.is_dir()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("command", ["check", "compare"])
def test_memory_is_limited(ingest: Callable[..., Ran], command: str) -> None:
    code, out, err = ingest(
        command, *dumps("a"), "--max-memory", "1MiB", "--spill", "none"
    )

    assert (code, out) == (12, "")
    assert "--max-memory" in err


@pytest.mark.usefixtures("project")
def test_a_redacted_check_names_no_file_and_no_hashed_type(
    ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--redact", "--hash-types", "Shop.*"]
    assert ingest("check", *dumps("a"), *options)[0] == 2, "without a salt"
    monkeypatch.setenv("INGEST_SALT", "pepper")

    code, out, _ = ingest("check", *dumps("a"), *options)

    assert code == 20
    assert "grew in every dump: 40, 50, 60 objects" in " ".join(out.split())
    assert "Order" not in out
    assert "gclog" not in out


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(
    ("baseline", "arguments", "code", "said"),
    [
        ("version = 99", [], 1, "later heaproots"),
        ("<<<<<<< ours", [], 1, "merge conflict"),
        ("", ["--update-baseline"], 1, "no version"),
        (None, ["--baseline", "none.toml"], 1, "none.toml cannot be read"),
        (None, ["--config", "none.toml"], 1, "none.toml cannot be read"),
        (None, ["--save", "x.pdf"], 2, "suffix must be one of"),
        (None, ["gone.gclog"], 3, "gone.gclog"),
    ],
)
def test_nothing_is_written_over_after_an_error(
    ingest: Callable[..., Ran],
    project: Path,
    baseline: str | None,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    if baseline is not None:
        (project / BASELINE).write_text(baseline, encoding="utf-8")
    (project / "leaks.md").write_text("before", encoding="utf-8")

    found, out, err = ingest("check", *dumps("a"), "--save=leaks.md", *arguments)

    assert (found, out) == (code, "")
    assert said in " ".join(err.split())
    assert (project / "leaks.md").read_text("utf-8") == "before"
    if baseline is not None:
        assert (project / BASELINE).read_text("utf-8") == baseline


def test_what_holds_is_named_and_counts_say_of_what_they_are(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    names = [str(tmp_path / f"level{levels}.gclog") for levels in (8, 24)]
    for name, levels in zip(names, (8, 24), strict=True):
        Path(name).write_text(example_gclog(levels), encoding="utf-8")

    checked, compared = (
        " ".join(ingest(command, *names)[1].split()) for command in ("check", "compare")
    )

    assert "24 LevelScreen are held as event handlers by" in checked
    assert "- 24 LevelScreen (863 KiB, 72% of the reachable heap) are held" in compared
    assert (
        "The whole program has 16 more objects of this type than in level8: 9 → 25."
        in compared
    )
