"""Each query of the library by both versions of Cypher, on the newest Neo4j.

Cypher 5 is what the default server has, and frozen; Cypher 25 is what goes on. A server
of the calendar versions runs both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.connection import connect
from ingest.database.indexes import ensure_needed
from ingest.queries.library import library
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.system.settings import settings
from tests.conftest import embedded_only, share_jars, start_quickly, take_any_ports
from tests.cypher.cases import CASES
from tests.cypher.conftest import Loaded, load_heap, load_life, traced_heap
from tests.cypher.dart_heap import dart_heap
from tests.cypher.dotnet_heap import dotnet_heap
from tests.cypher.heap import main_heap, two_domains
from tests.cypher.jvm_heap import jvm_heap
from tests.cypher.python_heap import python_heap
from tests.cypher.v8_heap import v8_heap
from tests.locks import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.server, pytest.mark.deep]

HEAPS = {
    "main": main_heap,
    "domains": two_domains,
    "dart": dart_heap,
    "dotnet": dotnet_heap,
    "jvm": jvm_heap,
    "v8": v8_heap,
    "python": python_heap,
}


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Loaded]]:
    """Heaps on a server of the newest version."""
    folder = tmp_path_factory.mktemp("newest")
    share_jars(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder))
        take_any_ports(patch)
        start_quickly(patch)
        patch.setenv("INGEST_NEO4J_HEAP_MIB", "1024")
        patch.setenv("INGEST_NEO4J_VERSION", shipped()["calendar"])
        server = EmbeddedServer(settings())
        try:
            with connect(target_of(server.start())) as database:
                ensure_needed(database)
                heaps = {
                    name: load_heap(database, made(), name)
                    for name, made in HEAPS.items()
                }
                heaps["trace"] = load_life(database, traced_heap())[-1]
                yield heaps
        finally:
            server.stop()


def answers(
    loaded: Loaded, name: str, given: dict[str, str]
) -> list[list[tuple[object, ...]]]:
    query = library()[name]
    values = query.bind(given, 0 if query.is_of_fleet else loaded.number)
    return [
        [
            tuple(row)
            for row in loaded.database.read(f"CYPHER {n} {query.text}", values)[1]
        ]
        for n in (5, 25)
    ]


@embedded_only("starts a server of another version")
@pytest.mark.parametrize("name", library())
def test_both_versions_answer_the_same(name: str, newest: dict[str, Loaded]) -> None:
    asked = [one for one in CASES.get(name, []) if one[0] in newest]
    chosen = {heap: (given, has_rows) for heap, given, has_rows in reversed(asked)}
    if not chosen:  # of fleets, or of two dumps
        names = [one.name for one in library()[name].parameters if one.required]
        earlier = newest["main"].heap.name
        chosen = {"domains": (dict.fromkeys(names, earlier), False)}
        chosen["domains"][0].pop("dump", None)

    for heap, (given, has_rows) in chosen.items():
        old, new = answers(newest[heap], name, given)
        assert old == new, (heap, given)
        assert bool(new) or not has_rows, (heap, given)
    assert chosen
