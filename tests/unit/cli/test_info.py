"""``info`` of several dumps: what grew comes first, whatever its size."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.dumps.gclog import Gclog
from tests.dumps.programs import dumps_of, static_list
from tests.fuzz.seeds import SEEDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three dumps of a program whose leak has half a per cent of its heap."""
    monkeypatch.chdir(tmp_path)
    found = []
    for at, text in enumerate(dumps_of((static_list,), 4000, 1)):
        found.append(f"a{at}.gclog")
        (tmp_path / found[-1]).write_text(text, encoding="utf-8")
    return found


def test_a_small_leak_comes_before_large_suspects(
    names: list[str], ingest: Callable[..., Ran]
) -> None:
    code, out, _ = ingest("info", *names)

    assert code == 0
    assert out.startswith("a2.gclog: gclog\n\nGrew since a0\n\n  - Order grew in every")
    assert "40, 50, 60 objects" in " ".join(out.split())
    assert "To free" not in out, "no advice to remove what does not grow"
    assert out.index("Grew since") < out.index("Leak suspects") < out.index("Heap\n")
    assert "One dump shows" not in out
    found = json.loads(ingest("info", *names, "--json")[1])
    assert found["growth"]["grown"][0]["objects"] == [40, 50, 60]
    assert all(
        "no more objects of this type" in one["doubts"][-1] for one in found["suspects"]
    )
    assert all(one["counts"][0] == one["counts"][-1] for one in found["suspects"])


def with_entries(path: Path, elsewhere: int, ballast: int = 0) -> str:
    """A table of 300 entries, and so many others that statics hold one by one.

    Beside ballast, which is one object, the table is too small for a suspect.
    """
    log = Gclog().domain("App.exe").type(1, "App.Table").type(2, "App.Entry")
    log.object(1, 1, 24, range(10, 310)).root(1, 4)
    for entry in range(10, 310 + elsewhere):
        log.object(entry, 2, 100 if entry < 310 else 20)
    for entry in range(310, 310 + elsewhere):
        log.root(entry, 4)
    if ballast:
        log.type(3, "App.Ballast").object(2, 3, ballast).root(2, 4)
    path.write_bytes(log.close("App.exe").bytes())
    return str(path)


def test_what_grew_elsewhere_is_no_growth_of_a_suspect(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    names = [with_entries(tmp_path / f"b{n}.gclog", n) for n in (50, 150)]

    found = json.loads(ingest("info", *names, "--json")[1])["suspects"][0]
    assert found["count"] == 300
    assert found["counts"] == [350, 450]
    assert (
        found["doubts"][-1] == "No more of them are held there than in b50: 300 → 300."
    )
    headlines = json.loads(ingest("compare", *names, "--format", "json")[1])[
        "headlines"
    ]
    assert not [one for one in headlines if "300 Entry" in one]


def test_what_was_no_suspect_when_it_was_exported_is_not_said_to_stay(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    kept = [str(tmp_path / f"kept{n}") for n in (50, 150)]
    for folder, elsewhere, ballast in ((kept[0], 50, 1 << 20), (kept[1], 150, 0)):
        dump = with_entries(tmp_path / "b.gclog", elsewhere, ballast)
        assert ingest("export", dump, folder)[0] == 0

    found = json.loads(ingest("info", *kept, "--json")[1])["suspects"][0]
    assert found["counts"] == [350, 450]
    assert not [one for one in found["doubts"] if "held there" in one]


def test_one_dump_says_what_it_cannot_tell(
    names: list[str], ingest: Callable[..., Ran]
) -> None:
    _, out, _ = ingest("info", names[0])

    said = " ".join(out.split())
    assert "One dump shows what holds memory, not what grows." in said
    assert "Size alone, which does not prove a leak." in said
    assert json.loads(ingest("info", names[0], "--json")[1])["growth"] is None


def test_an_export_is_summarized_as_its_dump(
    names: list[str], ingest: Callable[..., Ran]
) -> None:
    assert ingest("export", names[0], "kept", "--for", "parquet")[0] == 0

    whole = json.loads(ingest("info", names[0], "--json")[1])
    again = json.loads(ingest("info", "kept", "--json")[1])
    for name in ("objects", "reachable_bytes", "references", "sha256", "format"):
        assert again[name] == whole[name], name
    told = [[one["sentence"] for one in facts["suspects"]] for facts in (whole, again)]
    assert told[0] == told[1]


def heap_notes(ingest: Callable[..., Ran], folder: Path, package: str) -> str:
    """What ``info`` says of the heap of a small dump of a format, on one line."""
    path = folder / package
    path.write_bytes(SEEDS[package]()[0])
    out = ingest("info", str(path))[1]
    return " ".join(out[out.index("\nHeap\n") :].split())


def test_notes_are_about_what_the_format_has(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    found = {
        package: heap_notes(ingest, tmp_path, package) for package in ("hrpy", "hprof")
    }

    assert "soft, weak or phantom references" in found["hprof"]
    nothing_of = "phantom|soft|finalizer|weak|null references|can be freed"
    assert not re.search(nothing_of, found["hrpy"])
    for text in found.values():
        assert ("folded objects" in text) == ("Folded objects are details" in text)
        assert ("missing objects" in text) == ("Missing objects are referred" in text)
