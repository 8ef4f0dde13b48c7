"""Class tables of V8 snapshots against those of DevTools' own front end, under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ingest.analysis.distances import UNREACHABLE
from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.v8 import assembly
from ingest.readers.v8.naming import NodeNames
from tests.integration.browser import chromium
from tests.integration.test_chromium import PAGE, free_port
from tests.integration.test_node import NODE, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph
    from tests.conftest import Ran

PACKAGES = ("chrome-devtools-frontend@1.0.1705227", "esbuild@0.28.2")
FOLDER = Path(__file__).parents[2] / ".test-cache" / "devtools"
DRIVER = Path(__file__).with_name("devtools.ts")
LOCALES = "node_modules/chrome-devtools-frontend/front_end/core/i18n/locales.js"
_LOCALES = """
export const LOCALES = ["en-US"], BUNDLED_LOCALES = LOCALES, DEFAULT_LOCALE = "en-US";
export const REMOTE_FETCH_PATTERN = "", LOCAL_FETCH_PATTERN = "";
"""
"""A file that a build of DevTools makes, and its package lacks: its languages."""

PSEUDO = "(synthetic)"

Row = tuple[str, int, int, int]
"""Name of a class, how many instances, their sizes, and what they retain, bytes."""

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        NODE is None or shutil.which("npm") is None,
        reason="Chrome DevTools: no node or npm on the PATH",
    ),
]


@pytest.fixture(scope="module")
def devtools() -> Path:
    """The front end and the driver, bundled."""
    bundle = FOLDER / "devtools.mjs"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (FOLDER / "node_modules" / "esbuild").is_dir():
        install = ["npm", "install", "--no-audit", "--no-fund", *PACKAGES]
        done = subprocess.run(install, cwd=FOLDER, capture_output=True, check=False)
        if done.returncode:
            pytest.skip("Chrome DevTools: npm cannot fetch its front end")
    (FOLDER / LOCALES).write_text(_LOCALES, encoding="ascii")
    shutil.copy(DRIVER, FOLDER)
    subprocess.run(
        ["node_modules/.bin/esbuild", DRIVER.name, "--bundle", "--platform=node",
         "--format=esm", f"--outfile={bundle.name}", "--log-level=error"],
        cwd=FOLDER, check=True,
    )  # fmt: skip
    return bundle


def theirs(devtools: Path, snapshot: Path) -> Counter[Row]:
    table = snapshot.with_suffix(".json")
    assert NODE is not None
    command = [NODE, "--max-old-space-size=8000", str(devtools)]
    subprocess.run([*command, str(snapshot), str(table)], check=True)
    return Counter(tuple(row) for row in json.loads(table.read_bytes()))


def heap_of(snapshot: Path) -> HeapGraph:
    with open_source(str(snapshot)) as source:
        return read(source, ReadOptions(strict=True), silent)


def ours(graph: HeapGraph, document: dict[str, Any]) -> Counter[Row]:
    """The same table by the dominators and sizes of a heap.

    A class is a name, and for objects where their constructor is: DevTools has a row
    for each of several classes of one name, where `ingest` has one type.
    """
    meta, count = document["snapshot"]["meta"], graph.object_count
    kinds, nodes = meta["node_types"][0], document["nodes"]
    at_id, width = meta["node_fields"].index("id"), len(meta["location_fields"])
    places: dict[int, tuple[int, ...]] = {}
    for at in range(0, len(document["locations"]), width):
        node, *place = document["locations"][at : at + width]
        if kinds[nodes[node]] == "object":
            places[nodes[node + at_id]] = tuple(place)
    names = [
        (graph.type_name(row), places.get(key, ()))
        for row, key in enumerate(graph.object_id[:count].tolist())
    ]
    metrics = analyse(graph)
    sizes, retained = graph.shallow_bytes.tolist(), metrics.retained_bytes.tolist()
    below: list[list[int]] = [[] for _ in range(count + 1)]
    for row, above in enumerate(metrics.dominator[:count].tolist()):
        below[above if above >= 0 else count].append(row)
        if above == UNREACHABLE:
            retained[row] = sizes[row]
    sums: dict[object, list[int]] = {}
    for row, name in enumerate(names):
        if sizes[row]:
            found = sums.setdefault(name, [0, 0, 0])
            found[0] += 1
            found[1] += sizes[row]
    # Of instances that dominate one another, the outermost counts.
    open_, todo = Counter[object](), [(row, False) for row in below[count]]
    while todo:
        row, is_done = todo.pop()
        if is_done:
            open_[names[row]] -= 1
            continue
        if sizes[row]:
            if not open_[names[row]]:
                sums[names[row]][2] += retained[row]
            open_[names[row]] += 1
            todo.append((row, True))
        todo += [(one, False) for one in below[row]]
    return Counter((name[0], *found) for name, found in sums.items())  # type: ignore[index]


@pytest.fixture
def plain_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts and prototypes are called as V8 calls them, not by what they are."""
    none = np.zeros(0, np.int32)
    monkeypatch.setattr(NodeNames, "name_scopes", lambda *_: None)
    monkeypatch.setattr(NodeNames, "_name_prototypes", lambda _: (none, none))


def check(snapshot: Path, devtools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = theirs(devtools, snapshot)
    document = json.loads(snapshot.read_bytes())

    graph = heap_of(snapshot)
    # Pseudo nodes are roots here. Some have a size, which is said to be left out.
    pseudo = [row for row in expected if row[0] == PSEUDO]
    assert graph.folded.shallow_bytes == sum(row[2] for row in pseudo)
    assert ours(graph, document) == expected - Counter(pseudo)

    folded = assembly._folded

    def keeps_pseudo_nodes(*given: Any) -> tuple[Any, list[str], Any]:  # noqa: ANN401
        kind, notes, _ = folded(*given)
        return kind, notes, np.zeros(1, np.int64)

    monkeypatch.setattr(assembly, "_folded", keeps_pseudo_nodes)
    assert ours(heap_of(snapshot), document) == expected
    assert len(expected) > 100


def test_a_redacted_snapshot_has_the_same_rows(
    devtools: Path, tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    assert NODE is not None
    program = [NODE, str(PROGRAMS / "leaks.js"), "map", str(tmp_path)]
    subprocess.run(program, check=True)
    snapshot, copy = tmp_path / "3.heapsnapshot", tmp_path / "copy.heapsnapshot"
    assert ingest("redact", str(snapshot), str(copy))[0] == 0

    rows, of_copy = theirs(devtools, snapshot), theirs(devtools, copy)

    # Names of classes stay; those with a path are without its folders.
    assert Counter(row[1:] for row in of_copy.elements()) == Counter(
        row[1:] for row in rows.elements()
    )
    assert (rows - of_copy).total() < rows.total() // 4
    assert any(row[0] == "Session" and row[3] > 1000 for row in of_copy)


@pytest.mark.usefixtures("plain_names")
@pytest.mark.parametrize("way", ["map", "timers"])
def test_every_row_of_a_node_program(
    way: str, devtools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NODE is not None
    program = [NODE, str(PROGRAMS / "leaks.js"), way, str(tmp_path)]
    subprocess.run(program, check=True)
    check(tmp_path / "3.heapsnapshot", devtools, monkeypatch)


@pytest.mark.usefixtures("plain_names")
def test_every_row_of_a_page(
    devtools: Path,
    tmp_path: Path,
    ingest: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshot, place = tmp_path / "page.heapsnapshot", f"127.0.0.1:{free_port()}"
    with chromium(f"--remote-debugging-port={place.partition(':')[2]}") as browser:
        page = browser.new_page()
        page.goto(f"{PAGE.as_uri()}#list")
        page.evaluate("leak(300)")
        code, _, said = ingest(
            "capture", "chrome", place, "--target", "leaks", "-o", str(snapshot)
        )
        assert code == 0, said
    check(snapshot, devtools, monkeypatch)
