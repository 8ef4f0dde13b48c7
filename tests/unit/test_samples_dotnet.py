"""Real dumps of .NET, where they are at hand: exact figures, and another's reading."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from ingest.cli import main
from ingest.heap.graph import EPHEMERON
from ingest.heap.read_options import Fold, ReadOptions
from ingest.readers import open_source
from ingest.readers.dotnet.event_stream import EventStream
from ingest.readers.dotnet.gc_events import Gc, Mode, Payloads, wanted
from ingest.readers.shared.binary import Feed
from tests.heaps import measure
from tests.samples import SAMPLES, needs

if TYPE_CHECKING:
    from pathlib import Path

GCDUMP = SAMPLES / "gcdump"
NETTRACE = SAMPLES / "nettrace"

pytestmark = needs(GCDUMP, NETTRACE)


def info(
    capsys: pytest.CaptureFixture[str], path: Path, *options: str
) -> dict[str, Any]:
    with pytest.raises(SystemExit):
        main(["info", str(path), "--json", *options])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_node_is_as_another_program_reads_it() -> None:
    graph, _, _ = measure(str(GCDUMP / "test1.gcdump"), ReadOptions(fold=Fold.NONE))
    document = ET.parse(GCDUMP / "test1_baseline.gcdump.xml")
    sizes = {
        kind.get("Index"): kind.get("Size", "0") for kind in document.iter("NodeType")
    }
    names = [kind.get("Name") for kind in document.iter("NodeType")]
    nodes = list(document.iter("Node"))

    assert len(nodes) == graph.object_count == 6482
    assert list(graph.type_names) == names
    for row, node in enumerate(nodes):
        begin, end = graph.ref_start[row], graph.ref_start[row + 1]
        kind = node.get("TypeIndex", "")
        assert int(node.get("Index", "")) == row
        assert graph.type_index[row] == int(kind)
        assert graph.shallow_bytes[row] == int(node.get("Size", sizes[kind]))
        assert graph.ref_target[begin:end].tolist() == [
            int(child) for child in (node.text or "").split()
        ]
    assert graph.root_object.tolist() == [int(document.findtext(".//RootIndex", "0"))]


@pytest.mark.slow
def test_the_figures_of_a_script_heap(capsys: pytest.CaptureFixture[str]) -> None:
    whole = info(capsys, GCDUMP / "test1.gcdump", "--fold", "none", "--strict")
    folded = info(capsys, GCDUMP / "test1.gcdump", "--strict")

    assert (whole["types"], whole["objects"], whole["references"]) == (
        1994, 6482, 15020,
    )  # fmt: skip
    assert whole["shallow_bytes"] == folded["shallow_bytes"] == 1009270
    assert whole["reachable_objects"] == 6482
    assert folded["objects"] + folded["folded_objects"] == 6482
    assert folded["root_kinds"] == {"internal": 2}


@pytest.mark.slow
def test_the_figures_of_a_desktop_program(capsys: pytest.CaptureFixture[str]) -> None:
    whole = info(capsys, GCDUMP / "test2.gcdump", "--fold", "none")
    folded = info(capsys, GCDUMP / "test2.gcdump")

    assert whole["objects"] + whole["missing_objects"] == 140391
    assert whole["missing_objects"] == folded["missing_objects"] == 18
    assert (whole["types"], whole["references"]) == (3333, 235137)
    assert whole["shallow_bytes"] == folded["shallow_bytes"] == 4147128
    assert folded["folded_objects"] == 2155
    assert folded["objects"] + 2155 + 18 == 140391
    assert folded["root_kinds"] == {
        "handle": 31, "local": 5, "other": 8, "static": 2148,
    }  # fmt: skip
    assert (
        folded["references"] + folded["folded_references"] + folded["roots"] == 235137
    )
    assert whole["reachable_objects"] - folded["reachable_objects"] == 2155
    assert whole["reachable_bytes"] == folded["reachable_bytes"]


def test_statics_and_segments_of_a_desktop_program() -> None:
    graph, _, _ = measure(str(GCDUMP / "test2.gcdump"))
    assert graph.root_field is not None
    found = {
        (graph.type_names[kind], graph.field_names[field])
        for kind, field in zip(
            graph.root_type.tolist(), graph.root_field.tolist(), strict=True
        )
        if kind >= 0
    }

    assert ("System.DateTime", "DaysToMonth365") in found
    assert not any(
        name.startswith("[static") or "(Bytes" in name for name in graph.type_names
    )
    assert [segment.kind.value for segment in graph.segments] == ["ephemeral", "loh"]
    assert graph.segment_index is not None
    assert graph.generation is not None


FARM = {
    "farm-heapdump-netcore31.nettrace": (106, 1107, 1733, 71),
    "farm-heap-moves-netcore31.nettrace": (91, 1074, 1690, 58),
}


@pytest.mark.parametrize("name", FARM)
def test_the_figures_of_a_snapshot_in_a_trace(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    types, objects, references, statics = FARM[name]

    found = info(capsys, NETTRACE / name, "--strict")

    assert (found["types"], found["objects"]) == (types, objects)
    assert found["references"] == references + 200  # dependent handles
    assert found["roots"] == 38 + statics
    assert found["root_kinds"]["static"] == statics
    assert found["weak_roots"] == 6
    assert found["reachable_objects"] == objects
    assert found["missing_objects"] == found["null_references"] == 0
    assert found["warnings"] == {}
    assert info(capsys, NETTRACE / name, "--part", "2") == found


def test_what_a_farm_has() -> None:
    graph, _, _ = measure(str(NETTRACE / "farm-heapdump-netcore31.nettrace"))
    names = [graph.type_name(row) for row in range(graph.object_count)]
    assert graph.ref_field is not None
    assert graph.root_field is not None
    handles = [
        at
        for at, number in enumerate(graph.ref_field.tolist())
        if number >= 0 and graph.field_names[number] == EPHEMERON
    ]

    assert len(handles) == 200
    assert (names.count("Farm.Animal"), names.count("Farm.Cow")) == (185, 20)
    assert any(name.startswith("Farm.Barn`1[") for name in names)
    assert {"barn", "cwt", "grid", "s_localeEnvVars"} <= {
        graph.field_names[number] for number in graph.root_field.tolist() if number >= 0
    }
    # The runtime tells the type of the object, not that which declares the field.
    assert (graph.root_type == -1).all()


def test_generations_behind_a_snapshot() -> None:
    graph, _, _ = measure(str(NETTRACE / "farm-heap-moves-netcore31.nettrace"))

    assert graph.segments
    assert graph.generation is not None
    assert set(graph.generation.tolist()) <= {0, 1, 2, 3}


def test_a_collection_without_a_snapshot_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(
            ["info", str(NETTRACE / "farm-heapdump-netcore31.nettrace"), "--part", "3"]
        )

    assert caught.value.code == 3
    assert "collection 3 has no heap dump; --part accepts" in capsys.readouterr().err


TRACES = {
    "eventpipe-dotnetcore3.0-win-x64-objver4": (8, 478, 478, 3824, 23668),
    "HeartRateMonitor.10068": (4, 1, 1, 8, 140),
}


@pytest.fixture(params=TRACES)
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(NETTRACE / f"{request.param}.nettrace.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / f"{request.param}.nettrace"


def test_every_collection_of_a_trace(trace: Path) -> None:
    pointer, collections, moved, ranges, places = TRACES[trace.stem]
    with open_source(str(trace)) as source:
        stream = EventStream(Feed(source.chunks(), source.name), wanted)
        payloads = Payloads(stream.header.pointer_bytes, source.name)
        found: dict[Gc, list[Any]] = {}
        read = {
            Gc.START: payloads.start,
            Gc.END: payloads.end,
            Gc.HEAP_STATS: payloads.heap_stats,
            Gc.GENERATION: payloads.generation_range,
            Gc.MOVED: payloads.rows,
        }
        for event in stream.events():
            kind = Gc(event.kind.number)
            found.setdefault(kind, []).append(read[kind](event))

    assert stream.header.pointer_bytes == pointer
    assert stream.truncated_at is None
    assert not len(stream.gaps.lost)
    numbers = [start.number for start in found[Gc.START]]
    assert numbers == list(range(numbers[0], numbers[0] + collections))
    assert [found[Gc.END], len(found[Gc.HEAP_STATS])] == [numbers, collections]
    assert {start.mode for start in found[Gc.START]} <= set(Mode)
    assert len(found[Gc.MOVED]) == moved
    assert len(found[Gc.GENERATION]) == ranges
    assert {told.generation for told in found[Gc.GENERATION]} == {0, 1, 2, 3}
    assert sum(len(bulk.rows) for bulk in found[Gc.MOVED]) == places


def test_a_trace_without_a_snapshot_says_so(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["info", str(trace)])

    assert caught.value.code == 3
    error = capsys.readouterr().err
    assert "the trace has no heap dump (it has " in error
    count = TRACES[trace.stem][1]
    assert ("only collection " if count == 1 else f"{count:,} collections") in error


TIMELINES = {
    "eventpipe-dotnetcore3.0-win-x64-objver4": (
        478,
        {0: 473, 1: 5},
        (1, 0, "small objects allocated", "blocking", 5455940, 20035, 245416, 175504),
    ),
    "HeartRateMonitor.10068": (
        1,
        {0: 1},
        (4, 0, "small objects allocated", "blocking", 1233273, 3590, 673176, 68060),
    ),
}


def test_the_timeline_of_a_trace(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count, generations, first = TIMELINES[trace.stem]
    with pytest.raises(SystemExit):
        main(["timeline", str(trace), "--json"])
    found = json.loads(capsys.readouterr().out)

    assert len(found) == count
    assert Counter(one["generation"] for one in found) == generations
    assert tuple(found[0].values())[:8] == first
    assert all(one["moved_bytes"] is not None for one in found)
    assert not any(one["is_dump"] for one in found)
