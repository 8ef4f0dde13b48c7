"""What a user changes in the graph is seen: then its stored tables are not asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ingest.api import asked
from ingest.database.connection import connect
from ingest.readers.gclog.example import example_gclog
from ingest.server.embedded import target_of
from tests.conftest import embedded_only
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.server.embedded import EmbeddedServer
    from tests.conftest import Ran

pytestmark = [pytest.mark.server, embedded_only("only it has stored tables")]

LINE = "\nanswered from the tables of the dump; --from graph asks Neo4j\n"
LOADED, NEW = ("--dump", "example"), ("--dump", "second")


@pytest.mark.slow
def test_an_edit_is_seen_by_the_next_query(
    own_server: EmbeddedServer,
    ingest: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What other tests broke off in this process is no writer of this one.
    (own_server.home / "unedited.json").unlink(missing_ok=True)
    monkeypatch.setattr(asked, "LARGE_OBJECTS", 1)
    for name in ("example", "second"):
        text = example_gclog() + f"# {name}\n"
        (tmp_path / f"{name}.gclog").write_text(text, encoding="utf-8")

    def load(name: str, *more: str) -> Ran:
        """Beside the server, which does not end for it."""
        return ingest("load", str(tmp_path / f"{name}.gclog"), "--via", "bolt", *more)

    def ask(*more: str, query: str = "retained-types") -> tuple[str, dict[str, Any]]:
        code, out, err = ingest("query", query, "--json", *more)
        assert code == 0, err
        answer = json.loads(out)
        return answer["about"]["answered_from"], answer["rows"][0]

    def edit(text: str) -> None:
        """As in Browser, while the tool itself writes nothing."""
        noted = own_server.home / "unedited.json"
        wait_until(lambda: not json.loads(noted.read_text("utf-8"))["writers"])
        with connect(target_of(own_server.start())) as browser:
            browser.run(text)

    # Arrange: two dumps, of which the second is loaded beside the first
    for name in ("example", "second"):
        assert load(name)[0] == 0

    # Act and assert: tables, unless the graph is asked for
    assert ingest("query", "retained-types", *LOADED)[1].endswith(LINE)
    before = ask(*LOADED)
    assert before == ("tables", ask(*LOADED, "--from", "graph")[1])
    assert not ingest("query", "retained-types", "--from", "graph")[1].endswith(LINE)
    for command in (("report",), ("why", before[1]["type"])):
        assert ingest(*command, *LOADED)[1].endswith(LINE)
    assert ingest("query", "born-between", "--from", "tables")[0] == 5

    # A property, after which no older dump is asked in its tables
    edit("MATCH (t:Type) SET t.retained_bytes = 1 + t.retained_bytes")
    bytes_now = before[1]["retained_bytes"] + 1
    found, row = ask(*LOADED)
    assert (found, row["retained_bytes"]) == ("graph", bytes_now)
    code, _, err = ingest("query", "retained-types", "--from", "tables")
    assert (code, "its graph was changed since" in err) == (5, True)

    # What is loaded later is, and what is renamed is no edit
    assert load("second", "--replace")[0] == 0
    assert ask(*NEW)[0] == "tables"
    assert ask(*LOADED)[1]["retained_bytes"] == bytes_now
    own_server.stop()
    assert ask(*NEW)[0] == "tables"

    # A relationship
    assert ask(*NEW, query="type-references")[1]
    edit("MATCH (:Type)-[r:REFERENCES_TYPE]->(:Type) DELETE r")
    code, out, _ = ingest("query", "type-references", *NEW, "--json")
    assert json.loads(out)["rows"] == []
