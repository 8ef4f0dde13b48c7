"""Credentials for the embedded server, sent to its own process only.

Any user of the machine can listen on a port while our server does not: after it was
stopped or killed, the driver would send the password there when it connects again.

This module imports the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
from neo4j import basic_auth
from neo4j.auth_management import AuthManager

from ingest.errors import ServerUnavailable
from ingest.server.process import Listener

if TYPE_CHECKING:
    from neo4j import Auth

    from ingest.server.target import Target


class OwnServer(AuthManager):
    """Gives the driver the password as long as our process listens on the port."""

    def __init__(self, target: Target) -> None:
        assert target.pid is not None
        self._uri = target.uri
        port = urlsplit(target.uri).port
        self._auth = basic_auth(target.username, target.password or "")
        try:
            process = psutil.Process(target.pid)
            self._listener: Listener | None = Listener(process, port)
        except psutil.Error:  # it has just ended
            self._listener = None

    def get_auth(self) -> Auth:
        """The credentials; the driver asks before it sends them or uses them again.

        Raises:
            ServerUnavailable: Our process does not listen there any more.
        """
        if self._listener is None or not self._listener.is_open():
            raise ServerUnavailable(
                f"the embedded Neo4j at {self._uri} has ended; run the command again"
            )
        return self._auth

    def handle_security_exception(self, auth: object, error: object) -> bool:
        """Whether other credentials may help, of which there are none."""
        return False
