"""Neo4j Browser in a real browser, from the links that ``browse`` prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.server.target import Target
    from tests.conftest import Ran

_WAIT_MS = 60_000


@pytest.mark.deep
@pytest.mark.usefixtures("empty_database")
def test_a_server_of_ones_own_shows_the_guide_and_the_query(
    on_server: Callable[..., Ran], neo4j_target: Target, tmp_path: Path
) -> None:
    if neo4j_target.browser_url is None:
        pytest.skip("NOT RUN: where the Browser of this server is, is unknown")
    dump = str(tmp_path / "heap.gclog")
    assert on_server("example", dump)[0] == 0
    assert on_server("load", dump)[0] == 0
    browse = ("browse", "--browser", neo4j_target.browser_url, "--json")
    query = json.loads(on_server(*browse, "--query", "leak-suspects")[1])["browser"]
    serving = subprocess.Popen(
        [sys.executable, "-m", "ingest", *browse, "--guide"],
        stdout=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    try:
        assert serving.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            said += serving.stdout.readline()
            assert serving.poll() is None
        guide = json.loads(said)["browser"]
        for link, expected in (
            (guide, "24 LevelScreen ("),
            (query, "MATCH (:Dump {number: 1})-[:HAS_SUSPECT]->(s:Suspect)"),
        ):
            assert expected in _shown(link, neo4j_target, expected)
    finally:
        serving.terminate()
        serving.communicate(timeout=30)


def _shown(link: str, target: Target, expected: str) -> str:
    """The text of the page once somebody has logged in there."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(link)
        password = "input[type=password]"
        page.wait_for_selector(password, timeout=_WAIT_MS)
        page.fill(password, target.password or "")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=You are connected as user", timeout=_WAIT_MS)
        page.wait_for_function(
            # The editor has spaces that do not break.
            "some => document.body.innerText.replaceAll('\\xa0', ' ').includes(some)",
            arg=expected,
            timeout=_WAIT_MS,
        )
        return page.inner_text("body").replace("\xa0", " ")
