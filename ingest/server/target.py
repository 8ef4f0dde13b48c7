"""The address of a Neo4j: the user's own one, or this tool's while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from ingest.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Target:
    """A Neo4j server and one of its databases.

    Attributes:
        uri: ``bolt://``, ``neo4j://``, or with TLS ``bolt+s://``, ``neo4j+s://``,
            and ``+ssc`` where the certificate is self-signed.
        username, password: ``None`` as password means no authentication.
        database: Name of the database.
        browser_url: Neo4j Browser of this server; ``None`` if unknown.
        pid: The process that must listen there, if it is this tool's own server; the
            password is sent to no other process.
    """

    uri: str
    username: str
    password: str | None
    database: str
    browser_url: str | None = None
    pid: int | None = None


def own_target(
    settings: Settings,
    uri: str | None = None,
    username: str | None = None,
    password: str | None = None,
    database: str | None = None,
) -> Target | None:
    """The user's own server, if they named one here or in their settings."""
    address = uri or settings.uri
    if not address:
        return None
    return Target(
        address,
        username or settings.username,
        password if password is not None else settings.password,
        database or settings.database,
    )


def usual_browser_url(uri: str) -> str:
    """The address of a server's Browser, unless it was set up otherwise.

    Args:
        uri: The Bolt address, with or without TLS.
    """
    parts = urlsplit(uri)
    host = parts.hostname or "localhost"
    if ":" in host:
        host = f"[{host}]"
    if "+" in parts.scheme:
        return f"https://{host}:7473"
    return f"http://{host}:7474"


def browser_link(target: Target, command: str = "", argument: str = "") -> str:
    """An address that opens Browser, connected to ``target``.

    Args:
        target: The server; its ``browser_url`` is known.
        command: What Browser does first: ``edit`` puts the argument into the editor,
            ``guide`` opens the guide at that address.
        argument: Its argument.
    """
    options = {"dbms": target.uri.replace("://", f"://{quote(target.username)}@", 1)}
    if target.password is None:
        options = {"dbms": target.uri, "preselectAuthMethod": "NO_AUTH"}
    if command:
        options |= {"cmd": command, "arg": argument}
    return f"{target.browser_url}/browser/?{urlencode(options, quote_via=quote)}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """This tool's server while it runs, and its credentials."""

    bolt_uri: str
    http_url: str
    username: str
    password: str = field(repr=False)
    version: str
    pid: int


FIRST_QUERY = "MATCH (d:Dump) RETURN d, datetime()"
"""The first query of every command, and of the command that started the server.

A server that has just started takes longer to plan another query than to answer it, and
twice as long to plan one that orders or computes.
"""


def ask(endpoint: Endpoint, database: str) -> None:
    """Run `FIRST_QUERY` without the driver's retries, which would log errors."""
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
        session.run(FIRST_QUERY).consume()
