"""Source maps, and snapshots of minified programs with them."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from ingest.errors import DumpError
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.v8.source_map import Original, SourceMap, SourceMaps
from tests.dumps.gclog import large_gclog
from tests.dumps.v8 import V8Heap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from tests.conftest import Ran

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def vlq(number: int) -> str:
    """A number as source maps have it."""
    left, out = (-number << 1 | 1) if number < 0 else number << 1, ""
    while True:
        digit, left = left & 31, left >> 5
        out += DIGITS[digit | (32 if left else 0)]
        if not left:
            return out


def source_map(
    places: list[tuple[int, int, int, int, str]], **further: object
) -> dict[str, Any]:
    """A map of rows: line and column of the script, of the source, and the name."""
    names = sorted({name for *_, name in places if name})
    lines: dict[int, list[str]] = {}
    last = [0] * 5
    for line, column, source_line, source_column, name in sorted(places):
        if line not in lines:
            lines[line], last[0] = [], 0
        row = [column, 0, source_line, source_column]
        segment = "".join(vlq(new - old) for new, old in zip(row, last, strict=False))
        last[:4] = row
        if name:
            segment += vlq(names.index(name) - last[4])
            last[4] = names.index(name)
        lines[line].append(segment)
    text = ";".join(
        ",".join(lines.get(n, ())) for n in range(max(lines, default=-1) + 1)
    )
    return {
        "version": 3, "sources": ["../src/shop.js"], "names": names, "mappings": text,
        **further,
    }  # fmt: skip


BUILDS = {"a": "i", "b": "Zt"}
"""The name of the class in two builds."""


def build(name: str, folder: Path) -> Path:
    """A snapshot whose class has a short name, with the map beside it."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global", 40, [("property", "open", 4)])
    heap.node("code", "/srv/app.js", 16)
    heap.node("code", name, 16, [("internal", "script_or_debug_info", 2)])
    heap.node("closure", name, 64, [("internal", "shared", 3), ("property", "all", 5)])
    heap.node("object", "Array", 16, [("element", 0, 6), ("element", 1, 7)])
    for _ in range(2):
        row = heap.node("object", name, 4000)
        heap.place(row, 7, 0, 16 + len(name))
    heap.place(4, 7, 0, 16 + len(name))
    folder.mkdir()
    (folder / "app.heapsnapshot").write_bytes(heap.bytes())
    # class NAME{constructor(
    found = source_map([(0, 0, 4, 0, ""), (0, 4, 4, 6, "Session")])
    (folder / "app.js.map").write_text(json.dumps(found))
    return folder


def read_with(folder: Path, maps: Path | None) -> HeapGraph:
    options = ReadOptions(source_map=None if maps is None else str(maps))
    with open_source(str(folder / "app.heapsnapshot")) as source:
        return read(source, options, silent)


def test_two_builds_have_one_set_of_names(tmp_path: Path) -> None:
    found = []
    for letter, name in BUILDS.items():
        folder = build(name, tmp_path / letter)
        assert name in read_with(folder, None).type_names
        graph = read_with(folder, folder)
        assert name not in graph.type_names
        assert graph.values is not None
        texts = graph.values.pick(graph.values.object_index)
        assert "Session shop.js:5:7 (src)" in texts
        found.append((graph.type_names, graph.type_index.tolist()))
    assert found[0] == found[1]
    assert "Session" in found[0][0]


def test_a_map_alone_or_in_a_script_serves_too(tmp_path: Path) -> None:
    folder = build("i", tmp_path / "a")
    assert "Session" in read_with(folder, folder / "app.js.map").type_names

    data = base64.b64encode((folder / "app.js.map").read_bytes()).decode()
    (folder / "app.js.map").unlink()
    script = folder / "app.js"
    script.write_text(f"x\n//# sourceMappingURL=data:application/json;base64,{data}\n")
    assert "Session" in read_with(folder, folder).type_names
    assert "Session" in read_with(folder, script).type_names


def test_maps_of_other_scripts_are_refused(tmp_path: Path) -> None:
    folder = build("i", tmp_path / "a")
    (folder / "app.js.map").rename(folder / "other.js.map")
    with pytest.raises(DumpError, match=r"no script .* a source map .*: app\.js"):
        read_with(folder, folder)


def test_a_map_of_another_build_is_refused(tmp_path: Path) -> None:
    folder = build("i", tmp_path / "a")
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", n, n) for n in range(1, 60)])
    heap.node("code", "/srv/app.js", 16)
    heap.node("code", "f", 16, [("internal", "script_or_debug_info", 1)])
    for n in range(3, 90):
        heap.node("closure", "f", 64, [("internal", "shared", 2)])
        heap.place(n, 7, 0, 100 * n)
    (folder / "app.heapsnapshot").write_bytes(heap.bytes())

    with pytest.raises(DumpError, match=r"another build: it fits 0 of the 87"):
        read_with(folder, folder)


def test_places_are_found_as_in_the_format(tmp_path: Path) -> None:
    rows = [(0, 0, 0, 0, ""), (0, 40, 9, 3, "one"), (2, 7, 1, 1 << 20, "two")]
    known = SourceMap(source_map(rows, sourceRoot="lib/", file="a.js"), tmp_path)

    assert known.original(0, 39) == Original("lib/../src/shop.js", 0, 0)
    assert known.original(0, 41) == Original("lib/../src/shop.js", 9, 3)
    assert known.original(2, 100) == Original("lib/../src/shop.js", 1, 1 << 20)
    assert known.original(1, 5) is None
    assert known.original(2, 6) is None
    assert known.original(77, 5) is None
    assert (known.name_at(0, 40), known.name_at(0, 41)) == ("one", "")


def test_sections_are_joined(tmp_path: Path) -> None:
    parts = [
        {"offset": {"line": 0, "column": 0}, "map": source_map([(0, 0, 1, 1, "one")])},
        {"offset": {"line": 0, "column": 50}, "map": source_map(
            [(0, 3, 2, 2, "two"), (1, 3, 3, 3, "three")])},
    ]  # fmt: skip
    known = SourceMap({"version": 3, "sections": parts}, tmp_path)

    names = [known.name_at(*at) for at in ((0, 0), (0, 53), (1, 3))]
    assert names == ["one", "two", "three"]
    assert known.original(1, 3) == Original("src/shop.js", 3, 3)


BAD = {
    "no JSON": b"{",
    "a list": b"[]",
    "another version": b'{"version":2,"sources":[],"mappings":""}',
    "no mappings": b'{"version":3,"sources":[]}',
    "no such letter": b'{"version":3,"sources":["a"],"mappings":"AA*A"}',
    "a number that is cut": b'{"version":3,"sources":["a"],"mappings":"AAAg"}',
    "too many bits": b'{"version":3,"sources":["a"],"mappings":"ggggggggA"}',
    "too many numbers": b'{"version":3,"sources":["a"],"mappings":"AAAAAA"}',
    "a column before the first": b'{"version":3,"sources":["a"],"mappings":"D"}',
    "no such source": b'{"version":3,"sources":[],"mappings":"AAAA"}',
    "no such name": b'{"version":3,"sources":["a"],"mappings":"AAAAA"}',
    "sections within nothing": b'{"version":3,"sections":[{}]}',
    "a section far away": b'{"version":3,"sections":[{"offset":{"line":9e99,"column":0}'
    b',"map":{"version":3,"sources":["a"],"mappings":"AAAA"}}]}',
    "a deep list": b"[" * 100_000,
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_map_is_refused_in_one_line(what: str, tmp_path: Path) -> None:
    path = tmp_path / "app.js.map"
    path.write_bytes(BAD[what])

    with pytest.raises(DumpError) as error:
        SourceMaps(path)
    assert "\n" not in str(error.value)
    assert "--source-map takes" in str(error.value)


def test_a_huge_map_and_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.js.map"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    for one in (path, tmp_path / "missing.map", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(DumpError):
            SourceMaps(one)


def test_other_formats_refuse_the_option(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    log = tmp_path / "app.gclog"
    log.write_bytes(large_gclog(50, 60))

    code, _, err = ingest("info", str(log), "--source-map", str(tmp_path))

    assert code == 3
    assert "leave out --source-map" in err
