from __future__ import annotations

from ingest.reports.why import path_tree


def test_a_path_stands_as_a_tree() -> None:
    assert path_tree(["static root in A", "B 0x1", "C[] 0x2"]) == (
        "    static root in A\n      └ B 0x1\n        └ C[] 0x2\n"
    )


def test_a_run_of_one_type_folds_and_no_other() -> None:
    run = [f"Node 0x{i}" for i in range(1, 9)]

    assert path_tree(["root", *run]).splitlines() == [
        "    root",
        "      └ Node 0x1",
        "        └ … 6 more Node",
        "          └ Node 0x8",
    ]
    types = ["root", *(f"<type 0x{i}>" for i in range(1, 8)), "X"]
    assert len(path_tree(types).splitlines()) == len(types)


def test_the_middle_of_a_very_long_path_is_left_out() -> None:
    text = path_tree([f"T{i} 0x{i}" for i in range(1000)])

    assert "… 960 more steps" in text
    assert len(text.splitlines()) == 41
    assert max(map(len, text.splitlines())) <= 80
