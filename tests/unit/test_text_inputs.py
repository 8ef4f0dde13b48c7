"""Text that users write ends in a value or in one clear error, whatever it is."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.analysis.fingerprints import rule_of
from ingest.api.reading import memory_limit
from ingest.errors import BadParameter, IngestError
from ingest.fleet.sources import LabelPattern, find_sources, seconds_of, time_of
from ingest.gate.baseline import read_baseline
from ingest.gate.rules import find_rules
from ingest.heap.read_options import LayoutOption
from ingest.queries.library import own_query
from ingest.system.settings import _from_file
from tests.deep import PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = f"2-{'7' * 32}"
HUGE = ("9" * 5000, "0x" + "f" * 400, "1e999", "nan", "-inf", "[" * 3000, "9" * 400)
SEEDS: dict[str, str] = {
    "rules": "growth = 5\ngrowth_percent = 2.0\nsuspects = true\nown = ['App.*']\n"
    "[expect]\n'App.Page' = 3\n[[budget]]\ntype = 'App.*'\nmax_bytes = 10\n",
    "baseline": f"version = 1\n[{KEY}]\nrule = 'growth'\npath = 'a -> b'\n"
    "reason = 'known'\nexpires = 2027-01-31\n",
    "settings": "heap_mib = 2000\nmaven_url = 'https://maven.example'\n",
    "manifest": "source,program,version,time,uptime\na.hprof,shop,1.2,1796000000,15m\n",
    "query": ':param least => 5;\n:param names => ["a", {"b": 1.5}];\nMATCH (o:Object) '
    "WHERE o.shallow_bytes > $least AND o.caption IN $names RETURN o LIMIT 3\n",
    "pattern": "dumps/{program}/{version}/{host}-{time}.hprof",
    "numbers": "12/4/16/8 800MiB 15m 2026-11-22T10:15:00Z 1796000000 "
    + "9" * 400
    + "T",
}


def _read(kind: str, path: Path, text: str) -> None:
    """Read a text as one of the inputs."""
    if kind == "manifest":
        find_sources([], None, path)
    elif kind == "query":
        own_query(text, "mine.cypher", {})
    elif kind == "pattern":
        LabelPattern(text).match("dumps/shop/1.2/host-20261122T101500.hprof")
    elif kind == "numbers":
        for word in text.split():
            LayoutOption.parse(word)
            time_of(word)
            seconds_of(word)
            rule_of(word)
            with suppress(BadParameter):
                memory_limit(word)
    else:
        readers: dict[str, Callable[[Path], object]] = {
            "rules": lambda path: find_rules(path.parent, path),
            "baseline": read_baseline,
            "settings": _from_file,
        }
        readers[kind](path)


def _ends(kind: str, text: str) -> bool:
    """Whether it was accepted; raises what no user should see."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            _read(kind, path, text)
        except IngestError:
            return False
    return True


@pytest.mark.parametrize("kind", [kind for kind in SEEDS if kind != "manifest"])
def test_the_seeds_are_accepted(kind: str) -> None:
    assert _ends(kind, SEEDS[kind])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("rules", "growth = " + "[" * 5000),
        ("rules", "growth = 0x" + "f" * 400),
        ("rules", "growth_percent = nan"),
        ("rules", "growth = " + "9" * 5000),
        ("baseline", f"version = 1\n[{'9' * 5000}{KEY[1:]}]\n"),
        ("baseline", "version = " + "[" * 5000),
        ("settings", "heap_mib = " + "[" * 5000),
        ("query", ":param x => " + "[" * 5000 + "\nRETURN 1"),
        ("query", ":param x => 99999999999999999999;\nRETURN $x"),
        ("query", ':param x => "\\ud800";\nRETURN $x'),
    ],
)
def test_what_no_number_or_list_is_that_large_is_refused(kind: str, text: str) -> None:
    assert not _ends(kind, text)


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, str]:
    """One of the inputs with some of its words or lines changed."""
    kind = draw(st.sampled_from(sorted(SEEDS)))
    text = SEEDS[kind]
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 12)))
        new = draw(
            st.one_of(
                st.sampled_from(HUGE),
                st.text(max_size=6),
                st.sampled_from(["=", "\n", "[", "]", "'", '"', "{", "}", "$x", "=>"]),
                st.just(text[end : end + 20]),
            )
        )
        text = text[:begin] + new + text[end:]
    return kind, text


@settings(max_examples=20_000 if PROFILE == "deep" else 100)
@given(changed())
def test_changed_text_ends_in_a_value_or_one_error(text: tuple[str, str]) -> None:
    _ends(*text)
