"""``objsize`` through its own door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """Two nodes that share one object, of which a root holds another one too."""
    log = Gclog().domain("App.exe").type(1, "App.Node").type(2, "App.Leaf")
    log.object(0x100, 1, 10, [0x200, 0x201]).object(0x110, 1, 20, [0x200, 0x202])
    log.object(0x200, 2, 100).object(0x201, 2, 200).object(0x202, 2, 400)
    for held in (0x100, 0x110, 0x202):
        log.root(held)
    path = tmp_path / "app.gclog"
    path.write_bytes(log.close("App.exe").bytes())
    return str(path)


def test_a_type_reaches_and_retains_more_than_its_objects_alone(
    ingest: Callable[..., Ran], dump: str, tmp_path: Path
) -> None:
    tables = str(tmp_path / "tables")
    assert ingest("export", dump, tables)[0] == 0

    (of_type,) = json.loads(ingest("objsize", dump, "Node", "--json")[1])
    (of_both,) = json.loads(ingest("objsize", tables, "0x100", "0x110", "--json")[1])
    (of_one,) = json.loads(ingest("objsize", dump, "0x110", "--json")[1])

    assert (
        of_type
        == of_both
        == {
            "object_count": 2,
            "shallow_bytes": 30,
            "reached_count": 5,
            "reached_bytes": 730,
            "retained_count": 4,
            "retained_bytes": 330,
            "shared_bytes": 400,
        }
    )
    assert (of_one["reached_bytes"], of_one["retained_bytes"]) == (520, 20)


@pytest.mark.parametrize("subject", ["App.None", "0x999", "static", "Node -> Leaf"])
def test_what_is_no_object_is_refused(
    ingest: Callable[..., Ran], dump: str, subject: str
) -> None:
    code, out, err = ingest("objsize", dump, subject)

    assert (code, out) == (10, "")
    assert err.startswith(f"error: {dump}: the dump has no ")
