from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.text import CAPTION_LENGTH, caption_of, human_bytes, namespace_of, printable

DICTIONARY = (
    "System.Collections.Generic.Dictionary`2[[System.String, mscorlib, "
    "Version=2.0.0.0],[A.B+C, Game]]"
)


@pytest.mark.parametrize(
    ("name", "namespace", "caption"),
    [
        ("System.Collections.Generic.List", "System.Collections.Generic", "List"),
        (DICTIONARY, "System.Collections.Generic", "Dictionary`2[[String],[B+C]]"),
        ("System.Byte[]", "System", "Byte[]"),
        ("dart:core::_Type", "dart:core", "_Type"),
        ("Plain", "", "Plain"),
        ("A.B+Inner", "A", "B+Inner"),
        ("<type 0x1d>", "", "<type 0x1d>"),
        ("", "", ""),
        ("A.List<B.C>", "A", "List<C>"),
        ("A." + 300 * "x", "A", (CAPTION_LENGTH - 1) * "x" + "…"),
    ],
)
def test_names_are_taken_apart(name: str, namespace: str, caption: str) -> None:
    assert namespace_of(name) == namespace
    assert caption_of(name) == caption


@given(st.text(max_size=80))
def test_a_caption_is_short_and_never_empty_without_need(name: str) -> None:
    assert len(caption_of(name)) <= CAPTION_LENGTH
    assert bool(caption_of(name)) == bool(name)


@given(st.text())
def test_printable_text_moves_no_cursor(text: str) -> None:
    shown = printable(text)

    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown


def test_escapes_are_shown() -> None:
    assert printable("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb\\nc\\u202e"
    assert printable("Größe → 10") == "Größe → 10"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (102_348, "99.9 KiB"),
        (102_400, "100 KiB"),
        (1_048_000, "1.0 MiB"),
        (10**9, "954 MiB"),
        (10**16, "9095 TiB"),
    ],
)
def test_bytes_in_the_unit_of_a_person(count: int, shown: str) -> None:
    assert human_bytes(count) == shown
