"""Kill -9 of the embedded server in mid-load: one line, nothing lost, right after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.database.dump_list import list_dumps
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.server.embedded import target_of
from tests.conftest import embedded_only
from tests.dumps.gclog import large_gclog
from tests.integration.commands import load_and_kill

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer

pytestmark = [
    pytest.mark.deep,  # half a minute; a load that is killed is tried in test_load
    pytest.mark.server,
    embedded_only("kills its own server, which only the embedded provider can start"),
]

OBJECTS, REFERENCES = 2_000, 5_000


def test_a_server_killed_in_mid_load(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    path, small = tmp_path / "heap.gclog", tmp_path / "small.gclog"
    path.write_bytes(large_gclog(OBJECTS, REFERENCES))
    small.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    endpoint = own_server.start()
    with connect(target_of(endpoint)) as database:
        Loader(Store(database)).load(str(small))

    done = load_and_kill(path, endpoint.pid)

    assert done.returncode == 6
    assert "loaded in" not in done.stdout
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert own_server.running() is None
    with connect(
        target_of(endpoint), lambda _error, _lost: target_of(own_server.start())
    ) as database:
        ((left,),) = database.read("MATCH (o:Object) RETURN count(o)", {})[1]
        assert int(str(left)) > OBJECTS / 2, "the load had not begun to write"
        assert [dump.name for dump in list_dumps(database)] == ["small"]
        number = Loader(Store(database)).load(str(path)).number
        ((objects, references),) = database.read(
            "MATCH (o:Object {dump: $dump}) RETURN count(o), "
            "sum(COUNT { (o)-[:REFERENCES]->(:Object) })",
            {"dump": number},
        )[1]
    assert (objects, references) == (OBJECTS, REFERENCES)
