"""Commands that need no server, printed by others that need none, work when pasted.

All others, and bash itself, are tried by the deep suite, on a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.tables.export_format import ExportFormat
from tests.hints import (
    CONTEXT,
    ODD,
    filled,
    pasted_from,
    printed_by,
    ran,
    words_of,
    write_dumps,
)
from tests.readme import COMMANDS, README

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRINTING = [
    ["info", "example.gclog"],
    ["info", ODD],
    ["info", "shop.hprof"],
    ["info", "level8.gclog", "level16.gclog"],
    ["info", "two.nettrace"],
    ["compare", "level8.gclog", "level24.gclog", "--html", "compare.html"],
    ["check", "level8.gclog", "level24.gclog"],
    ["what-if", "shop.hprof"],
    ["what-if", ODD],
    ["objsize", "shop.hprof", CONTEXT],
    ["why", "RequestContext", "--in", "shop.hprof"],
    ["report", "--in", ODD],
    ["report", "--in", ODD, "--format", "markdown"],
    ["report", "--in", "shop.hprof", "--html", "report.html"],
    ["timeline", "two.nettrace"],
    *(["export", "shop.hprof", f"as-{kind.value}", "--for", kind.value]
      for kind in ExportFormat),
    ["check", "level8.gclog", "level24.gclog", "--baseline", "leaks.txt",
     "--update-baseline"],
    ["fleet", "report", "nofleet"],
    ["fleet", "add", "dumps", "--to", "fleet"],
    ["fleet", "report", "fleet", "--html", "fleet.html"],
]  # fmt: skip
WITHOUT_A_SERVER = {"info", "compare", "check", "what-if", "objsize", "export",
                    "example", "timeline"}  # fmt: skip


def _needs_no_server(words: list[str]) -> bool:
    if words[0] in ("why", "report"):
        return "--in" in words
    if words[0] == "fleet":
        return words[1] in ("add", "report")
    return words[0] in WITHOUT_A_SERVER


def _is_fine(code: int, words: list[str]) -> bool:
    return code == 0 or (code == 20 and words[0] == "check")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("hints")
    write_dumps(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(place / "home"))
        patch.chdir(place)
        yield place


@pytest.mark.slow
def test_every_printed_command_works(folder: Path) -> None:
    printed = printed_by(folder, PRINTING)
    all_words = words_of(filled(one.line) for one in printed)

    tried, faults = [], []
    for one, words in zip(printed, all_words, strict=True):
        if _needs_no_server(words):
            code, said = ran(words)
            tried.append(words)
            faults += [] if _is_fine(code, words) else [(one, code, said)]

    assert not faults, "\n".join(map(str, faults))
    assert {"check", "compare", "fleet", "why"} <= {words[0] for words in tried}
    assert any(ODD in words for words in tried)


@pytest.mark.slow
@pytest.mark.parametrize("page", [README, COMMANDS], ids=["readme", "commands"])
def test_a_page_can_be_pasted(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    lines = pasted_from(page.read_text(encoding="utf-8"))
    all_words = [words for words in words_of(lines) if _needs_no_server(words)]

    for words in all_words:
        code, said = ran(words)
        assert _is_fine(code, words), said
    assert {"example", "info", "check"} <= {words[0] for words in all_words}
