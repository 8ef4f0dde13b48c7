"""Which types the first screen lists."""

from __future__ import annotations

import random
from dataclasses import replace

from ingest.analysis.metrics import analyse
from ingest.reports.summary import facts
from tests.bench.gate import tables_of
from tests.dumps.programs import STATIC, Program


def test_types_of_the_program_come_first_and_metadata_is_none() -> None:
    program = Program(0, random.Random(1), random.Random(1))
    held = [program.obj("Script", 900), program.obj("Class", 5000)]
    held += [program.obj("package:shop/a.dart::Order", 2000) for _ in range(9)]
    for name in "ABCDE":
        held.append(program.obj(f"package:shop/a.dart::Small{name}", 8))
    held += [program.obj("dart:core::_OneByteString", 30_000)]
    list_of = program.obj("dart:core::_List", 40, *held)
    program.root(list_of, STATIC, "package:shop/a.dart::Orders")
    graph = replace(tables_of(program.dump()).graph, runtime="dart")

    found = facts(graph, analyse(graph), "a.dart", "", 10)

    assert isinstance(found["top_types"], list)
    assert [
        row["type"].rpartition(":")[2].rstrip("ABCDE") for row in found["top_types"]
    ] == ["Order", *["Small"] * 4, "_List", "_OneByteString", "Small"]
    own = facts(graph, analyse(graph), "a.dart", "", 10, own=["Script"])["top_types"]
    assert "Script" in [row["type"] for row in own]  # type: ignore[attr-defined]
