"""``what-if`` and ``check`` of loaded dumps: over tables that the server keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ingest.readers.gclog.example import example_gclog
from tests.conftest import embedded_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

pytestmark = [pytest.mark.server, embedded_only("no other server keeps tables")]


@pytest.mark.slow
@pytest.mark.usefixtures("own_server")
def test_a_loaded_dump_is_as_its_file(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    dump = tmp_path / "game.gclog"
    dump.write_text(example_gclog(), encoding="utf-8")
    assert ingest("load", str(dump), "--name", "monday")[0] == 0
    cuts = ["--cut", "ScoreChangedEventHandler -> LevelScreen", "--best", "2"]

    of_file = json.loads(ingest("what-if", str(dump), *cuts, "--json")[1])
    of_loaded = json.loads(ingest("what-if", "monday", *cuts, "--json")[1])

    assert of_loaded | {"dump": ""} == of_file | {"dump": ""}
    assert len(of_loaded["cuts"]) == 3
    of_file = json.loads(ingest("check", str(dump), "-f", "json")[1])
    code, out, _ = ingest("check", "monday", "-f", "json")
    assert code == 20
    assert json.loads(out)["findings"] == of_file["findings"] != []
    code, _, err = ingest("check", "monday", "--redact")
    assert (code, "monday still has its values" in err) == (1, True)
    code, _, err = ingest("what-if", "tuesday")
    assert (code, "tuesday" in err) == (9, True)
