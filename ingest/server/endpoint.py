"""A running server: its address and credentials, and whether it answers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running server and its credentials."""

    bolt_uri: str
    http_url: str
    username: str
    password: str = field(repr=False)
    version: str
    pid: int


def ask(endpoint: Endpoint, database: str) -> None:
    """Run one query without the driver's retries, which would log errors."""
    import neo4j

    with (
        neo4j.GraphDatabase.driver(
            endpoint.bolt_uri,
            auth=(endpoint.username, endpoint.password),
            connection_timeout=2,
            connection_acquisition_timeout=5,
            telemetry_disabled=True,
            notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
        ) as driver,
        driver.session(database=database) as session,
    ):
        session.run("RETURN 1").consume()
