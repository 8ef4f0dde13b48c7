"""A server on loopback with a few pages for one web application.

The pages contain data of a heap, so only the Browser of their user may fetch them:
the server is bound to 127.0.0.1, and refuses requests with a foreign ``Host`` (DNS
rebinding) or a foreign ``Origin``.

Source: Fetch standard, section 3.2 (CORS); Private Network Access, section 3.1.
"""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOPBACK = ("localhost", "127.0.0.1")
_METHODS = "GET, HEAD, OPTIONS"
_HEADER_NAMES = re.compile(r"[A-Za-z0-9, -]+")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_IDLE_S = 10.0
_POLL_S = 0.05  # longest time to end a server


@dataclass(frozen=True, slots=True)
class ServedPage:
    """The content of one path.

    Attributes:
        media_type: For the ``Content-Type`` header.
        text: The body.
    """

    media_type: str
    text: str


class PageServer(ThreadingHTTPServer):
    """Serves pages to one web application.

    Attributes:
        origins: Allowed origins; see `origins_of`.
        hosts: Names of the server itself, with its port.
        url: Its address, with the name ``localhost``: the only host from which Neo4j
            Browser accepts guides without a setting.
        pages: Pages by path; more can be added while the server runs.
    """

    daemon_threads = True

    def __init__(self, origins: frozenset[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origins = origins
        self.hosts = frozenset(f"{name}:{self.server_port}" for name in _LOOPBACK)
        self.url = f"http://localhost:{self.server_port}"
        self.pages: dict[str, ServedPage] = {}

    def server_bind(self) -> None:
        """Bind without looking up the host name, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


def origins_of(address: str) -> frozenset[str]:
    """Return the origin of a web application; on loopback, with both of its names."""
    parts = urlsplit(address)
    port = "" if parts.port is None else f":{parts.port}"
    names = _LOOPBACK if parts.hostname in _LOOPBACK else (parts.hostname,)
    return frozenset(f"{parts.scheme}://{name}{port}" for name in names)


@contextmanager
def serving(origins: frozenset[str]) -> Iterator[PageServer]:
    """Run a server on a free port of loopback for the duration of the block."""
    with PageServer(origins) as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(_POLL_S,), daemon=True
        )
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "heaproots"
    sys_version = ""
    timeout = _IDLE_S

    def do_GET(self) -> None:
        """Send a page."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers of a page."""
        self._answer(with_body=False)

    def do_OPTIONS(self) -> None:
        """Allow the application to fetch a page."""
        if self._page() is None:
            return
        self.send_response(HTTPStatus.NO_CONTENT)
        self._allow_origin()
        self.send_header("Access-Control-Allow-Methods", _METHODS)
        asked = self.headers.get("Access-Control-Request-Headers", "")
        if _HEADER_NAMES.fullmatch(asked):
            self.send_header("Access-Control-Allow-Headers", asked)
        if self.headers.get("Access-Control-Request-Private-Network") == "true":
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def _page(self) -> ServedPage | None:
        """Return the requested page, or refuse the request and return ``None``."""
        hosts = self.headers.get_all("Host", [])
        # With two, a proxy and this server could each use another one.
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        elif (
            origin := self.headers.get("Origin")
        ) is not None and origin not in self.server.origins:
            self._refuse(HTTPStatus.FORBIDDEN)
        elif (page := self.server.pages.get(self.path)) is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            return page
        return None

    def _answer(self, *, with_body: bool) -> None:
        page = self._page()
        if page is None:
            return
        body = page.text.encode("utf-8")
        self.send_response(HTTPStatus.OK)
        self._allow_origin()
        self.send_header("Content-Type", f"{page.media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", _POLICY)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _allow_origin(self) -> None:
        """Allow the origin of the request, which `_page` has checked."""
        if (origin := self.headers.get("Origin")) is not None:
            self.send_header("Access-Control-Allow-Origin", origin)
        self.send_header("Vary", "Origin")

    def _refuse(self, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
