"""Real dumps of .NET, where they are at hand: exact figures, and another's reading."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from ingest.cli import main
from ingest.pipeline import measure
from ingest.readers.base import Fold, ReadOptions

SAMPLES = Path(__file__).parents[3] / "shared/samples"
GCDUMP = SAMPLES / "gcdump"

pytestmark = pytest.mark.skipif(
    not GCDUMP.exists(), reason=f"NOT RUN: the samples {GCDUMP} are not at hand"
)


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
