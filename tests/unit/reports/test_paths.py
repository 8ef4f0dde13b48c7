from __future__ import annotations

from ingest.reports.paths import path_text


def test_steps_are_numbered_and_the_cut_is_marked() -> None:
    assert path_text(["static root in A", "B 0x1", "C[] 0x2"], 1) == (
        "     0  static root in A\n     1  B 0x1  <- cut here\n     2  C[] 0x2\n"
    )


def test_a_run_of_one_type_folds_and_counts() -> None:
    run = [f"Node 0x{i}" for i in range(1, 9)]

    assert path_text(["root", *run, "X 0x9"]).splitlines() == [
        "     0  root",
        "     1  Node 0x1",
        "        … 6 more Node",
        "     8  Node 0x8",
        "     9  X 0x9",
    ]
    types = ["root", *(f"<type 0x{i}>" for i in range(1, 8)), "X"]
    assert len(path_text(types).splitlines()) == len(types)


def test_the_middle_of_a_very_long_path_is_left_out() -> None:
    lines = path_text([f"T{i} 0x{i}" for i in range(1000)]).splitlines()

    assert lines[20] == "        … 960 more steps"
    assert lines[-1] == "   999  T999 0x999"
    assert len(lines) == 41
