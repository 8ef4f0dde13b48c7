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
from ingest.server.process import listens

if TYPE_CHECKING:
    from neo4j import Auth

    from ingest.server.target import Target


class OwnServer(AuthManager):
    """Gives the driver the password as long as our process listens on the port."""

    def __init__(self, target: Target) -> None:
        assert target.pid is not None
        self._uri = target.uri
        self._port = urlsplit(target.uri).port
        self._auth = basic_auth(target.username, target.password or "")
        try:
            self._process: psutil.Process | None = psutil.Process(target.pid)
        except psutil.Error:  # it has just ended
            self._process = None

    def get_auth(self) -> Auth:
        """The credentials; the driver asks when it has connected, before it sends them.

        Raises:
            ServerUnavailable: Our process does not listen there any more.
        """
        if self._process is None or not listens(self._process, self._port):
            raise ServerUnavailable(
                f"the embedded Neo4j at {self._uri} has ended; run the command again"
            )
        return self._auth

    def handle_security_exception(self, auth: object, error: object) -> bool:
        """Whether other credentials may help, of which there are none."""
        return False
