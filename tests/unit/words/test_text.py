from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.words.text import (
    CAPTION_LENGTH,
    Captions,
    caption_of,
    counted,
    human_bytes,
    namespace_of,
    printable,
)

MAP = "A.Map`2"
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
        ("System.String[,]", "System", "String[,]"),
        ("System.String[,,][]", "System", "String[,,][]"),
        (f"{MAP}[System.String,Farm.Animal]", "A", "Map`2[String,Animal]"),
        (f"{MAP}[B.Map`2[C.D[,],E.F],G.H][]", "A", "Map`2[Map`2[D[,],F],H][]"),
        (
            f"{MAP}[[B.Map`2[[C.D[,], x],[E.F, y, V=1]], z], [G.H, w]][,]",
            "A",
            "Map`2[[Map`2[[D[,]],[F]]], [H]][,]",
        ),
        ("dart:core::_Type", "dart:core", "_Type"),
        ("package:app/list.dart::Node", "package:app/list.dart", "Node"),
        ("Plain", "", "Plain"),
        ("{key.1, a.b}", "", "{key.1, a.b}"),
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


def test_many_long_names_have_their_captions_at_once() -> None:
    begun = time.process_time()
    for number in range(200):
        assert caption_of(f"N.{number:04}" + 5000 * "x").startswith(f"{number:04}x")
    assert time.process_time() - begun < 2  # 20 s if each letter may begin a match


def test_the_location_of_a_function_is_not_cut() -> None:
    name = "Function (location:https://host.example/js/app.min.js:12:3)"

    assert caption_of(name) == name


@pytest.mark.parametrize(
    ("name", "caption"),
    [
        ("module /srv/app/store.js", "module app/store.js"),
        ("module store.js", "module store.js"),
        (
            "scope in /srv/node_modules/@a/bus/esm/index.js",
            "scope in @a/bus/esm/index.js",
        ),
        ("scope in file:///srv/app/lib/a.mjs", "scope in lib/a.mjs"),
        ("scope in node:internal/timers", "scope in node:internal/timers"),
    ],
)
def test_a_script_keeps_its_name_and_its_folder(name: str, caption: str) -> None:
    assert caption_of(name) == caption


ALIKE = [
    f"{MAP}[System.String,Farm.Animal]",
    f"{MAP}[System.String,Barn.Animal]",
    "System.String[,]",
    "System.String[]",
    "System.String",
    "App.Session",
    "Session",
    "Web.Session",
    "A.B[[C, one]]",
    "A.B[[C, two]]",
    "B[[C]]",
    *(f"A.{200 * 'x'}{end}" for end in "abc"),
    119 * "x" + "…",
]


def test_two_types_have_two_captions() -> None:
    captions = Captions.of_types([*ALIKE, *ALIKE])
    shown = dict(zip(ALIKE, map(captions.of, ALIKE), strict=True))

    assert len(set(shown.values())) == len(ALIKE)
    assert max(map(len, shown.values())) <= CAPTION_LENGTH
    assert shown[ALIKE[0]] == ALIKE[0]
    assert shown["System.String[,]"] == "String[,]"
    assert shown["Web.Session"] == "Web.Session"
    assert shown["A.B[[C, two]]"] == "A.B[[C, two]]"
    assert Captions.of_types(["A.B", "C.D"]).of("A.B") == "B"


@given(
    st.lists(
        st.text("AB.,[]` #…", max_size=12) | st.text("x", min_size=118), max_size=9
    )
)
def test_any_types_have_different_captions(names: list[str]) -> None:
    captions = Captions.of_types(names)

    assert len(set(map(captions.of, names))) == len(set(names))


@given(st.lists(st.text("AB.,:[]` ", max_size=12), max_size=9))
def test_a_longer_caption_has_a_mark(names: list[str]) -> None:
    """Reports read only captions with one of these from the database."""
    longer = Captions.of_types(names).qualified.values()

    assert all(any(mark in caption for mark in ".:,#") for caption in longer)


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


def test_one_thing_is_no_plural() -> None:
    assert counted(1, "more types") == "1 more type"
    assert counted(1, "classes") == "1 class"
    assert counted(1, "queries") == "1 query"
    assert [counted(n, "dumps") for n in (0, 1, 2000)] == [
        "0 dumps",
        "1 dump",
        "2,000 dumps",
    ]
