"""How to connect to a Neo4j: address, user, database, Browser."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True, slots=True)
class Target:
    """A Neo4j server and one of its databases.

    Attributes:
        uri: ``bolt://``, ``neo4j://``, or with TLS ``bolt+s://``, ``neo4j+s://``,
            and ``+ssc`` where the certificate is self-signed.
        username, password: ``None`` as password means no authentication.
        database: Name of the database.
        browser_url: Neo4j Browser of this server; ``None`` if unknown.
        pid: The process that must listen there, if it is this tool's own server: to
            any other, the password is not sent.
    """

    uri: str
    username: str
    password: str | None
    database: str
    browser_url: str | None = None
    pid: int | None = None


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
