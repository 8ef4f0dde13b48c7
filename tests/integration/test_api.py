"""The interface on a real server: the same answers from a graph as from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import ingest
from ingest.agents.tools import Tools
from ingest.errors import BadParameter, IngestError, NotFound, QueryError
from ingest.readers import FORMATS
from tests.fuzz.seeds import SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.api.graph import Graph
    from ingest.server.target import Target

pytestmark = pytest.mark.server

NAMES = [one.package.rpartition(".")[2] for one in FORMATS]
OFTEN = {"gclog", "hprof", "v8", "hrpy"}
"""Of each kind of runtime one; what is written does not depend on the format."""


@pytest.fixture
def address(neo4j_target: Target) -> tuple[Any, ...]:
    return (
        neo4j_target.uri,
        neo4j_target.username,
        neo4j_target.password,
        neo4j_target.database,
    )


@pytest.fixture
def graph(address: tuple[Any, ...]) -> Iterator[Graph]:
    with ingest.connect(*address) as opened:
        yield opened


def body(text: str) -> list[str]:
    """What is said after the line that names the dump; without commands for it.

    Of several shortest paths of an instance, one is shown: which one is left open, so
    that part is compared in tests/cypher/test_reports.py by its numbers only.
    """
    before, part, after = text.partition("Shortest paths from GC roots, merged by type")
    if part:
        text = before + after.partition("\nOwners: ")[2]
    return [line for line in text.splitlines()[1:] if "More paths" not in line]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OFTEN else pytest.mark.deep)
        for name in NAMES
    ],
)
def test_a_file_of_each_format_says_what_its_graph_says(
    graph: Graph, name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}-as-file"
    path.write_bytes(SEEDS[name]()[0])
    heap = ingest.open(str(path))
    loaded = graph.load(str(path), name=path.name, replace=True).name

    # A printed command names the file where there is no loaded dump to name.
    report = str(heap.report()).replace(str(path), loaded)
    assert body(report) == body(str(graph.report(dump=loaded)))
    types = heap.types().filter(heap.types()["instance_count"] > 0)["name"]
    for kind in types.to_list()[:5]:
        assert body(str(heap.why(kind))) == body(str(graph.why(kind, dump=loaded)))
    for address_ in heap.objects(columns=["address"])["address"].to_list()[:10]:
        assert body(str(heap.why(address_))) == body(
            str(graph.why(address_, dump=loaded))
        )


def test_a_graph_answers_in_frames(graph: Graph, tmp_path: Path) -> None:
    from ingest.readers.gclog.example import example_gclog

    path = tmp_path / "frames.gclog"
    path.write_text(example_gclog(24), encoding="utf-8")
    name = graph.load(str(path), name="frames", replace=True).name

    assert name in graph.dumps()["name"].to_list()
    suspects = graph.query("leak-suspects", dump=name, limit=1)
    assert suspects["object_count"].to_list() == [24]
    chain = graph.query("dominator-chain", dump=name, address="0x1C1773")
    assert chain["step"].to_list() == list(range(chain.height))
    rows = graph.cypher(
        "MATCH (t:Type {dump: $dump}) RETURN t.name AS type ORDER BY type LIMIT $n",
        dump=name,
        n=3,
    )
    assert (rows.columns, rows.height) == (["type"], 3)
    with pytest.raises(QueryError, match="more than 2 rows"):
        graph.cypher("UNWIND range(1, 3) AS n RETURN n", limit=2)
    with pytest.raises(IngestError):
        graph.cypher("CREATE (n:Nothing) RETURN n")
    with pytest.raises(QueryError, match="longer than it may"):
        graph.cypher(
            "UNWIND range(1, 100000000) AS a UNWIND range(1, 100000) AS b "
            "RETURN sum(a * b) AS n",
            timeout_s=1.0,
        )
    with pytest.raises(NotFound):
        graph.why("NoSuchType", dump=name)
    with pytest.raises(BadParameter, match="has no parameter"):
        graph.query("leak-suspects", dump=name, no=1)


@pytest.mark.slow
def test_an_agent_asks_the_graph(
    address: tuple[Any, ...], graph: Graph, tmp_path: Path
) -> None:
    from ingest.readers.gclog.example import example_gclog

    path = tmp_path / "agents.gclog"
    path.write_text(example_gclog(24), encoding="utf-8")
    name = graph.load(str(path), name="agents", replace=True).name
    tools = Tools([tmp_path], connection=address)
    try:
        assert '"agents", "loaded"' in tools.dumps()
        assert "GameEvents" in tools.suspects(name)
        assert "GameEvents" in tools.why(name, "LevelScreen")
        assert "LevelScreen" in tools.run_query("type-histogram", name)
        shown = tools.cypher(
            "MATCH (o:Object {dump: $dump}) RETURN o.address AS a ORDER BY a",
            name,
            limit=1000,
        )
        assert "left out" in shown
        for evil in (
            "MATCH (n) DETACH DELETE n",
            "CALL db.clearQueryCaches()",
            "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
            "CALL apoc.load.json('http://127.0.0.1/')",
            "CALL { MATCH (n) SET n.x = 1 } IN TRANSACTIONS RETURN 1 AS n",
            "TERMINATE TRANSACTIONS 'x'",
            "RETURN 1 AS n; MATCH (n) DELETE n",
        ):
            with pytest.raises(IngestError):
                tools.cypher(evil, name)
        assert graph.query("dump", dump=name).height == 1
    finally:
        tools.close()
