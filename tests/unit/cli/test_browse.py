"""``browse`` as far as it needs no server."""

from __future__ import annotations

import html
import os
import signal
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from ingest.browser.style import grass
from ingest.cli import main
from ingest.cli.browse import _private_link, _wait_for_ctrl_c
from ingest.server.target import Target, browser_link, usual_browser_url

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = Target("bolt://127.0.0.1:7687", "neo4j", "p", "neo4j", "http://127.0.0.1:7474")


def code_of(arguments: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return int(exit_.value.code or 0)


def test_the_style_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(["browse", "--print", "style"]) == 0
    assert capsys.readouterr().out == grass()


@pytest.mark.parametrize(
    "options",
    [
        ["--guide", "--query", "dump"],
        ["--guide", "--print", "style"],
        ["--query", "dump", "--print", "guide"],
    ],
)
def test_one_thing_at_a_time(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert code_of(["browse", *options]) == 2
    assert "use only one of" in capsys.readouterr().err


def test_links() -> None:
    link = browser_link(TARGET, "guide", "http://localhost:1/t=/guide?a&b")
    parts = urlsplit(link)

    assert link.startswith("http://127.0.0.1:7474/browser/?")
    assert parse_qs(parts.query) == {
        "dbms": ["bolt://neo4j@127.0.0.1:7687"],
        "cmd": ["guide"],
        "arg": ["http://localhost:1/t=/guide?a&b"],
    }
    assert "cmd" not in browser_link(TARGET)


@pytest.mark.parametrize(
    ("uri", "usual"),
    [
        ("bolt://db.example.com:17687", "http://db.example.com:7474"),
        ("neo4j://10.0.0.7", "http://10.0.0.7:7474"),
        ("neo4j+s://db.example.com", "https://db.example.com:7473"),
        ("bolt+ssc://[::1]:7687", "https://[::1]:7473"),
    ],
)
def test_the_usual_address_of_browser(uri: str, usual: str) -> None:
    assert usual_browser_url(uri) == usual


@pytest.mark.parametrize("given", ["ftp://host", "host:7474", "http://", "http://a b"])
def test_what_is_no_address_is_refused(
    capsys: pytest.CaptureFixture[str], given: str
) -> None:
    assert code_of(["browse", "--browser", given]) == 2
    assert "is no address such as" in " ".join(capsys.readouterr().err.split())


def test_no_other_program_gets_the_secret_of_the_guide_as_an_argument() -> None:
    address = "http://127.0.0.1:7474/browser/?cmd=guide&arg=http://localhost:1/t0ken"
    with _private_link(address) as link:
        page = Path(unquote(urlsplit(link).path))
        assert link.startswith("file:///")
        assert "t0ken" not in link
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert html.escape(address) in page.read_text("utf-8")
    assert not page.exists()


def test_ctrl_c_ends_the_wait_and_nothing_else() -> None:
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    _wait_for_ctrl_c()
    timer.join()

    assert signal.getsignal(signal.SIGINT) is before
