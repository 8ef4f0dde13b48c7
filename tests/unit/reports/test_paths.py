from __future__ import annotations

from ingest.reports.paths import path_text, paths_text
from ingest.suspects.steps import with_ends


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


def test_the_cut_in_the_middle_of_a_long_path_is_written() -> None:
    steps = [f"T{at}" for at in range(30)]
    steps[20] = "… 1,000 more Node"

    told, cut = with_ends(steps, 15, 20)

    assert told == (*steps[:10], "… 4 more steps", "T14", "T15", "… 1,004 more steps",
        *steps[21:])  # fmt: skip
    assert told[cut or 0] == "T15"
    assert with_ends(steps, 15, 30) == (tuple(steps), 15)
    assert with_ends(steps[:25], None, 20)[1] is None


def test_paths_share_their_trunk() -> None:
    trunk = ["static root in A", "B 0x1", "C 0x2"]

    text = paths_text([[*trunk, "D 0x3", "X 0x9"], [*trunk, "E 0x4", "X 0x9"]])

    assert text.splitlines()[-4:] == [
        "",
        "   0-2  as above, down to C 0x2",
        "     3  E 0x4",
        "     4  X 0x9",
    ]
    assert len(paths_text([["a", "X 0x9"], ["b", "X 0x9"]]).splitlines()) == 6
