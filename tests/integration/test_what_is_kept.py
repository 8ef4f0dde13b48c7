"""What is in a store beside dumps is never lost: no bulk load makes the store anew.

By its name this file is the last one with this server: Neo4j never forgets the name of
a property, so no bulk load is possible afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.database.loading import Loader
from ingest.database.store import Store
from ingest.database.writing import Via
from ingest.errors import StoreError
from ingest.server.embedded import target_of
from tests.conftest import embedded_only

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer

pytestmark = [
    pytest.mark.server,
    embedded_only("only the embedded server's store can be made anew"),
]


@pytest.mark.slow
def test_what_is_not_a_dump_is_never_lost(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    path, small = tmp_path / "heap.gclog", tmp_path / "small.gclog"
    for file, size in ((path, 20), (small, 10)):
        file.write_text(f"a 2 x\nt 1 T\no 1 1 {size}\nr 1 1 0\nc x\n")
    with connect(target_of(own_server.start()), server=own_server) as database:
        store, data = Store(database), own_server.files.data
        Loader(store, via=Via.BOLT).load(str(small))
        database.run("CREATE (:Note {name: 'mine'})")
        with pytest.raises(StoreError, match="holds more than dumps"):
            Loader(store, via=Via.BULK).load(str(path))
        database.run("MATCH (n:Note) DELETE n")
        database.run("CREATE (:Host {name: 'a'})-[:ON_HOST]->(:Host {name: 'b'})")
        with pytest.raises(StoreError, match="holds more than dumps"):
            Loader(store, via=Via.BULK).load(str(path))
        database.run("MATCH (n:Host) DETACH DELETE n")
        database.run("MATCH (t:Type) WITH t LIMIT 1 SET t.checked_by_me = true")
        with pytest.raises(StoreError, match="checked_by_me"):
            Loader(store, via=Via.BULK).load(str(path))
        assert own_server.files.data == data
        assert Loader(store, via=Via.AUTO).load(str(path)).loaded
        assert own_server.files.data == data, "so few objects go over Bolt"
