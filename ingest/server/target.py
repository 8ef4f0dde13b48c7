"""One Neo4j to talk to: its address, its user, its Browser."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True, slots=True)
class Target:
    """One Neo4j to talk to.

    Attributes:
        uri: ``bolt://``, ``neo4j://``, or with TLS ``bolt+s://``, ``neo4j+s://``,
            and ``+ssc`` where the certificate is self-signed.
        username, password: ``None`` as password means no authentication.
        database: Name of the database.
        browser_url: Neo4j Browser of this server, where it is known.
    """

    uri: str
    username: str
    password: str | None
    database: str
    browser_url: str | None = None


def browser_link(target: Target, command: str = "", argument: str = "") -> str:
    """An address that opens Browser, connected to ``target``.

    Args:
        target: The server; its Browser is known.
        command: What Browser does first: ``edit`` types the argument in, ``guide``
            opens the guide of that address.
        argument: Its argument.
    """
    asked = {"dbms": target.uri.replace("://", f"://{quote(target.username)}@", 1)}
    if target.password is None:
        asked = {"dbms": target.uri, "preselectAuthMethod": "NO_AUTH"}
    if command:
        asked |= {"cmd": command, "arg": argument}
    return f"{target.browser_url}/browser/?{urlencode(asked, quote_via=quote)}"
