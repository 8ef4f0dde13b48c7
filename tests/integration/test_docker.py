"""What the Docker files share with the embedded server, and a server's identity."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.server.launch import Memory, configuration
from ingest.system.settings import Settings

if TYPE_CHECKING:
    from ingest.database.connection import Database

VERSION = Settings().neo4j_version
COMPOSE = (Path(__file__).parents[2] / "docker" / "compose.yaml").read_text("utf-8")
SHARED = (
    "dbms.cypher.forbid_exhaustive_shortestpath",
    "db.tx_log.rotation.retention_policy",
    "dbms.usage_report.enabled",
    "client.allow_telemetry",
    "server.bolt.telemetry.enabled",
)
"""What is a matter of principle; addresses and memory are each one's own."""


def test_compose_runs_the_version_that_is_embedded() -> None:
    assert f"HEAPROOTS_NEO4J_IMAGE:-neo4j:{VERSION}}}" in COMPOSE


def test_compose_sets_what_the_embedded_server_sets() -> None:
    embedded = dict(
        line.split("=", 1)
        for line in configuration(
            VERSION, data=Path("d"), bolt_port=1, http_port=2, sizes=Memory(3, 4)
        ).splitlines()
    )
    compose = {
        name.replace("__", "%").replace("_", ".").replace("%", "_"): value
        for name, value in re.findall(r'NEO4J_([a-z_]+): "(.*)"', COMPOSE)
    }
    for key in SHARED:
        assert compose[key] == embedded[key], key


@pytest.mark.server
def test_the_server_is_the_community_edition_of_a_known_series(
    database: Database,
) -> None:
    _, rows = database.read(
        "CALL dbms.components() YIELD name, versions, edition "
        "RETURN name, versions[0] AS version, edition",
        {},
    )
    ((name, version, edition),) = rows
    assert (name, edition) == ("Neo4j Kernel", "community")
    assert re.match(r"5\.26\.|20[0-9][0-9]\.", str(version))
