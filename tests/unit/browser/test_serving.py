"""Pages on loopback: who gets them, and who does not."""

from __future__ import annotations

import socket
import threading
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING

import pytest

from ingest.browser.serving import PageServer, ServedPage, origins_of, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

BROWSER = "http://127.0.0.1:7474"
TEXT = "Straße <b>\n"


@pytest.fixture
def server() -> Iterator[PageServer]:
    with serving(origins_of(f"{BROWSER}/browser/")) as running:
        running.pages["/t0ken/guide"] = ServedPage("text/html", TEXT)
        running.pages["/heaproots.grass"] = ServedPage("text/plain", "node {}")
        yield running


def fetch(
    server: PageServer, method: str, path: str, **headers: str
) -> tuple[HTTPResponse, bytes]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given.setdefault("Host", f"localhost:{server.server_port}")
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.request(method, path, headers=given)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_a_page_goes_to_the_browser_s_own_origin(server: PageServer) -> None:
    response, body = fetch(server, "GET", "/t0ken/guide", Origin=BROWSER)

    assert (response.status, body.decode("utf-8")) == (200, TEXT)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Access-Control-Allow-Origin"] == BROWSER
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Vary"] == "Origin"
    local = "http://localhost:7474"
    response, _ = fetch(server, "GET", "/heaproots.grass", Origin=local)
    assert response.headers["Access-Control-Allow-Origin"] == local


def test_without_an_origin_no_origin_is_allowed(server: PageServer) -> None:
    response, _ = fetch(server, "GET", "/heaproots.grass")

    assert response.status == 200
    assert "Access-Control-Allow-Origin" not in response.headers


def test_head_has_the_length_and_no_body(server: PageServer) -> None:
    response, body = fetch(server, "HEAD", "/t0ken/guide")

    assert (response.status, body) == (200, b"")
    assert response.headers["Content-Length"] == str(len(TEXT.encode()))


def test_preflight(server: PageServer) -> None:
    asked = {
        "Origin": BROWSER,
        "Access_Control_Request_Method": "GET",
        "Access_Control_Request_Headers": "cache-control,pragma",
        "Access_Control_Request_Private_Network": "true",
    }
    response, body = fetch(server, "OPTIONS", "/t0ken/guide", **asked)

    assert (response.status, body) == (204, b"")
    assert response.headers["Access-Control-Allow-Origin"] == BROWSER
    assert response.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert response.headers["Access-Control-Allow-Headers"] == "cache-control,pragma"
    assert response.headers["Access-Control-Allow-Private-Network"] == "true"
    del asked["Access_Control_Request_Private_Network"]
    response, _ = fetch(server, "OPTIONS", "/t0ken/guide", **asked)
    assert "Access-Control-Allow-Private-Network" not in response.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    ["null", "https://evil.example", "http://127.0.0.1:7475", "https://127.0.0.1:7474",
     "http://127.0.0.1:74740", "*", ""],
)  # fmt: skip
def test_a_foreign_origin_is_refused(
    server: PageServer, method: str, origin: str
) -> None:
    response, body = fetch(server, method, "/heaproots.grass", Origin=origin)

    assert (response.status, body) == (403, b"")
    assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("host", ["evil.example:{}", "localhost", "localhost:1", ""])
def test_a_foreign_host_is_refused(server: PageServer, method: str, host: str) -> None:
    told = host.format(server.server_port)
    response, body = fetch(
        server, method, "/heaproots.grass", Host=told, Origin=BROWSER
    )

    assert (response.status, body) == (421, b"")


def test_a_request_without_a_host_is_refused(server: PageServer) -> None:
    with socket.create_connection(server.server_address, timeout=5) as raw:  # type: ignore[arg-type]
        raw.sendall(b"GET /heaproots.grass HTTP/1.0\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.0 421 ")


@pytest.mark.parametrize(
    "hosts", [("{}", "evil.test"), ("evil.test", "{}"), 2 * ("{}",)]
)
def test_a_second_host_is_refused(server: PageServer, hosts: tuple[str, str]) -> None:
    ours = f"localhost:{server.server_port}"
    lines = "".join(f"Host: {host.format(ours)}\r\n" for host in hosts)
    with socket.create_connection(server.server_address, timeout=5) as raw:  # type: ignore[arg-type]
        raw.sendall(f"GET /heaproots.grass HTTP/1.1\r\n{lines}\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.0 421 ")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    ["/", "/guide", "/t0ken", "/t0ken/guide/", "/t0ken/guide?x", "/../etc/passwd",
     "/T0ken/guide", "*"],
)  # fmt: skip
def test_an_unknown_path_is_not_there(
    server: PageServer, method: str, path: str
) -> None:
    assert fetch(server, method, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "CONNECT"])
def test_other_methods_are_refused(server: PageServer, method: str) -> None:
    assert fetch(server, method, "/heaproots.grass")[0].status == 501


def test_it_listens_on_loopback_only(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.url == f"http://localhost:{server.server_port}"


def test_one_that_says_nothing_does_not_keep_others_waiting(
    server: PageServer,
) -> None:
    with socket.create_connection(server.server_address, timeout=5):  # type: ignore[arg-type]
        assert fetch(server, "GET", "/heaproots.grass")[0].status == 200


def test_at_the_end_the_port_is_free() -> None:
    with serving(frozenset()) as running:
        port = running.server_port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not [t for t in threading.enumerate() if "serve_forever" in t.name]


def test_origins() -> None:
    assert origins_of("http://127.0.0.1:7474") == {
        "http://127.0.0.1:7474",
        "http://localhost:7474",
    }
    assert origins_of("https://db.example/browser/") == {"https://db.example"}
