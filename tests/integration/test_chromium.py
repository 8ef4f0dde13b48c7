"""A real page that leaks rows that were removed from it: what is said of its heap."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.capture.inspector import place_of as inspector
from ingest.capture.inspector import targets
from ingest.errors import FINDINGS
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.integration.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

PAGE = Path(__file__).parents[1] / "programs" / "leaks.html"

SENTENCES = {
    "list": "held in a list by module-level removedRows of programs/leaks.html",
    "listener": "held as event handlers by window",
    "timers": "held through timers by the timers of the page",
}
FUNCTIONS = {
    "listener": "one of them is onResize leaks.html:23:56.",
    "timers": "one of them is later leaks.html:25:42.",
}
"""The function that holds a row, with its line."""


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


WORKER = """
<script>
const text = `class Kept {}; self.kept = [];
  for (let i = 0; i < 500; i++) kept.push(new Kept()); onmessage = () => {}`;
const address = URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
window.worker = new Worker(address);
</script>
"""


@pytest.mark.slow
def test_a_worker_is_captured_by_way_of_its_page(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    page_of_worker, dump = tmp_path / "page.html", tmp_path / "x.heapsnapshot"
    page_of_worker.write_text(WORKER, encoding="utf-8")
    place = f"127.0.0.1:{free_port()}"
    with chromium(f"--remote-debugging-port={place.partition(':')[2]}") as browser:
        browser.new_page()  # which has no worker
        page = browser.new_page()
        page.goto(page_of_worker.as_uri())
        page.wait_for_timeout(300)
        (worker,) = (
            one for one in targets(inspector(place), 5) if one.kind == "worker"
        )
        code, out, said = ingest(
            "capture", "chrome", place, "--target", worker.id, "-o", str(dump), "--json"
        )

    assert code == 0, said
    assert json.loads(out)["target"]["type"] == "worker"
    with open_source(str(dump)) as source:
        heap = read(source, DEFAULTS, silent)
    kept = heap.type_index == heap.type_names.index("Kept")
    assert np.count_nonzero(kept) == 500


@pytest.mark.deep
@pytest.mark.parametrize("way", SENTENCES)
def test_detached_nodes_are_named_with_what_holds_them(
    way: str, tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    dumps = [str(tmp_path / f"{step}.heapsnapshot") for step in (1, 2, 3)]
    place = f"127.0.0.1:{free_port()}"
    with chromium(f"--remote-debugging-port={place.partition(':')[2]}") as browser:
        page = browser.new_page()
        page.goto(f"{PAGE.as_uri()}#{way}")
        for dump in dumps:
            page.evaluate("leak(300)")
            code, out, said = ingest(
                "capture", "chrome", place, "--target", "leaks", "-o", dump, "--json"
            )
            assert code == 0, said
            assert json.loads(out)["target"]["type"] == "page"

    told = " ".join(ingest("info", dumps[-1])[1].split())
    code, checked, _ = ingest("check", *dumps)
    compared = " ".join(ingest("compare", *dumps)[1].split())

    assert code == FINDINGS
    assert "1. 900 Detached <div>" in told
    assert SENTENCES[way] in told
    assert "They are detached from all documents, and still held." in told
    assert FUNCTIONS.get(way, "") in told
    assert "ingest capture chrome HOST:PORT" in told
    grew = "Detached <div> grew in every dump: 300, 600, 900"
    assert grew in " ".join(checked.split())
    assert "300 → 600 → 900" in compared
