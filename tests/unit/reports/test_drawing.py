"""Root paths as drawings."""

from __future__ import annotations

from ingest.reports.drawing import (
    BOX_WIDTH,
    MOST_LAYERS,
    Network,
    paths_of_object,
    paths_of_type,
    picture,
)
from ingest.words.text import Captions

SHORT = Captions()


def row(root: str, *steps: str) -> dict[str, object]:
    """A path; the letters of a step are its type."""
    return {
        "root": root,
        "types": [f"N.{step.rstrip('0123456789')}" for step in steps],
        "addresses": [f"0x{step}" for step in steps],
        "retained_bytes": [1024 * len(steps) for _ in steps],
        "fields": ["" for _ in steps],
        "values": ["" for _ in steps],
    }


def shown(network: Network) -> list[str]:
    return [
        f"{network.boxes[a].title} {network.boxes[a].detail.split(' ')[0]} -> "
        f"{network.boxes[b].title} {network.boxes[b].detail.split(' ')[0]}"
        for a, b in network.arrows
    ]


def test_shared_parts_of_paths_are_drawn_once() -> None:
    network = paths_of_object(
        [row("static root", "A1", "C1"), row("local root", "B1", "C1")], SHORT
    )

    assert shown(network) == [
        "static root root -> A 0xA1",
        "A 0xA1 -> C 0xC1",
        "local root root -> B 0xB1",
        "B 0xB1 -> C 0xC1",
    ]
    assert [box.kind for box in network.boxes] == [
        "root",
        "object",
        "subject",
        "root",
        "object",
    ]


def test_dominators_are_marked_but_not_the_subject() -> None:
    network = paths_of_object([row("r", "A1", "B1")], SHORT, {"0xA1", "0xB1"})

    assert [box.kind for box in network.boxes] == ["root", "dominator", "subject"]


def test_a_long_run_of_one_type_folds() -> None:
    nodes = [f"Node{i}" for i in range(1, 9)]
    network = paths_of_object([row("r", "List1", *nodes, "Item1")], SHORT)

    assert [(box.title, box.detail) for box in network.boxes][2:5] == [
        ("Node", "0xNode1 · 10.0 KiB"),
        ("… 6 more", "Node"),
        ("Node", "0xNode8 · 10.0 KiB"),
    ]
    assert len(network.arrows) == len(network.boxes) - 1
    short = paths_of_object([row("r", "Node1", "Node2", "Node3", "Item1")], SHORT)
    assert len(short.boxes) == 5


def test_a_run_is_not_folded_where_another_path_joins() -> None:
    nodes = [f"Node{i}" for i in range(1, 6)]
    network = paths_of_object([row("r", *nodes), row("s", "Other1", *nodes[2:])], SHORT)

    assert {box.detail.split(" ")[0] for box in network.boxes} >= {
        f"0xNode{i}" for i in range(1, 6)
    }


def test_a_long_path_of_many_types_is_cut_in_the_middle() -> None:
    steps = [f"T{'x' * (i % 7)}y{i}" for i in range(200)]
    network = paths_of_object([row("r", *steps)], SHORT)

    assert len(network.boxes) < MOST_LAYERS
    assert "… 194 more" in {box.title for box in network.boxes}


def test_paths_of_a_type_share_their_prefix_and_their_end() -> None:
    network = paths_of_type(
        [
            {"path": ["r", "N.A", "N.B", "N.T"], "instance_count": 5},
            {"path": ["r", "N.A", "N.T"], "instance_count": 2},
        ],
        SHORT,
    )

    assert [box.title for box in network.boxes] == ["r", "A", "B", "T"]
    assert network.arrows == {
        (0, 1): "7",
        (1, 2): "5",
        (2, 3): "5",
        (1, 3): "2",
    }


def test_a_picture_has_its_boxes_inside() -> None:
    found = picture(
        paths_of_object(
            [row("r", "A1", "C1"), row("s", "B1", "C1"), row("t", "C1")], SHORT
        )
    )

    for shape in found.shapes:
        assert 0 <= shape.x <= shape.x + shape.width <= found.width
        assert 0 <= shape.y <= shape.y + shape.height <= found.height
    assert len(found.lines) == 5


def test_boxes_become_wider_for_long_names_where_there_is_room() -> None:
    one = paths_of_object([row("r", "A" * 70)], SHORT)
    many = paths_of_object(
        [row(f"r{i}", "A" * 70, f"{'B' * 60}{i}") for i in range(9)], SHORT
    )

    assert picture(one, 1040).shapes[1].title == "A" * 70
    assert "…" in picture(one, 340).shapes[1].title
    assert picture(one, 340).width <= 340
    assert {shape.width for shape in picture(many, 340).shapes} == {BOX_WIDTH}


def test_fields_label_arrows_and_values_label_boxes() -> None:
    path = row("static root", "A1", "B1")
    path["fields"], path["values"] = ["", "next"], ["", 'say "hi"']

    network = paths_of_object([path], SHORT)

    assert list(network.arrows.values()) == ["", "next"]
    assert network.boxes[2].title == 'B "say "hi""'
    assert 'N.B "say "hi""' in network.boxes[2].full


def test_a_static_is_named_above_its_kind() -> None:
    names = ["static root in GameEvents", "static root package:a/b.dart::_c", "x root"]

    boxes = [paths_of_object([row(name, "A1")], SHORT).boxes[0] for name in names]

    assert [(box.title, box.detail) for box in boxes] == [
        ("GameEvents", "static root"),
        ("_c", "static root"),
        ("x root", "root"),
    ]


def test_two_types_of_a_drawing_are_told_apart() -> None:
    captions = Captions.of_types(["App.Node", "Web.Node"])
    path = row("r", "A1", "B1")
    path["types"] = ["App.Node", "Web.Node"]

    boxes = paths_of_object([path], captions).boxes[1:]

    assert [box.title for box in boxes] == ["App.Node", "Web.Node"]
