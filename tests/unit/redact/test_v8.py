"""Redacted snapshots of V8: what is gone, and that nothing else is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.dumps.v8 import V8Heap, julia, program, tracked, written
from tests.unit.redact.heaps import SECRET, check_same, read_file, redacted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _node(kind: str, name: str) -> Callable[[V8Heap], None]:
    def add(heap: V8Heap) -> None:
        heap.edge(4, "property", "more", heap.node(kind, name, 16))

    return add


def _edge(kind: str, name: str) -> Callable[[V8Heap], None]:
    return lambda heap: heap.edge(4, kind, name, 9)


PLACES = {
    "string": _node("string", SECRET),
    "concatenated string": _node("concatenated string", SECRET),
    "sliced string": _node("sliced string", f'"\\ü😀{SECRET}'),
    "regular expression": _node("regexp", f"/{SECRET}/"),
    "symbol": _node("symbol", SECRET),
    "number": _node("number", SECRET),
    "bigint": _node("bigint", SECRET),
    "attribute": _node("native", f"<input value=\"{SECRET}\" id='{SECRET}'>"),
    "URL of a window": _node("object", f"Window / https://{SECRET}.example.com/a.html"),
    "query of a URL": _node("native", f"Document / https://h/a.html?key={SECRET}"),
    "path of a script": _node("code", f"/home/{SECRET}/store.js"),
    "path in Windows": _node("code", f"C:\\Users\\{SECRET}\\store.js"),
    "token among the names": _node("closure", SECRET),
    "key of an object": _edge("property", f"{SECRET}!"),
    "mail address as a key": _edge("property", f"{SECRET}@example.com"),
    "name of a shortcut": _edge("shortcut", f"https://{SECRET}/"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_gone_from_each_place(place: str, tmp_path: Path) -> None:
    heap = program()
    PLACES[place](heap)
    data = heap.bytes()
    assert SECRET.encode() in data

    copy, told = redacted(data, tmp_path)

    assert SECRET.encode() not in copy
    assert not told.told.is_cut
    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "type_names")
    assert len(before.type_names) == len(after.type_names)
    assert after.is_redacted


@pytest.mark.parametrize("heap", [program, tracked, julia])
def test_names_of_the_program_stay(heap: Callable[[], V8Heap], tmp_path: Path) -> None:
    redacted(heap().bytes(), tmp_path)

    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "type_names")
    hidden = {name for name in before.type_names if "/srv/" in name}
    assert {*before.type_names} - {*after.type_names} == hidden
    assert before.field_names == after.field_names


def test_texts_keep_their_lengths(tmp_path: Path) -> None:
    copy, _ = redacted(program().bytes(), tmp_path)

    texts = json.loads(copy)["strings"]
    assert "*" * len("Ärger xx") in texts
    assert "*" * 1024 in texts


def test_other_members_of_the_document_are_emptied(tmp_path: Path) -> None:
    document = program().document()
    document["snapshot"]["title"] = SECRET
    document["samples"] = [SECRET]
    document["more"] = {"text": [SECRET, "}"]}
    copy, told = redacted(written(document), tmp_path)

    assert SECRET.encode() not in copy
    assert told.told.unread_bytes > 0
    assert json.loads(copy)["more"] is None
    assert json.loads(copy)["samples"] == []


def test_the_values_of_kept_fields_stay(tmp_path: Path) -> None:
    heap = program()
    heap.node("object", "Note", 16, [("property", "name", heap.node("string", SECRET))])
    heap.edge(4, "property", "note", len(heap.nodes) - 1)

    copy, _ = redacted(heap.bytes(), tmp_path, keep=["Session.name"])

    assert "Ärger" in copy.decode() or "\\u00c4rger" in copy.decode()
    assert SECRET.encode() not in copy


def test_a_number_that_spells_a_property_is_not_told(tmp_path: Path) -> None:
    heap = program()
    text = heap.node("string", "7")
    one = heap.node("number", "heap number", 16, [("internal", "value", text)])
    heap.edge(4, "property", "count", one)
    heap.edge(4, "property", "7", 9)

    redacted(heap.bytes(), tmp_path)

    before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
    check_same(before, after, "type_names")
    told = [
        "" if one.values is None else one.values.pick(np.arange(one.object_count))
        for one in (before, after)
    ]
    assert "7" in told[0]
    assert "7" not in told[1]


def test_names_of_types_are_hashed(tmp_path: Path) -> None:
    redacted(program().bytes(), tmp_path, types=["Session"])

    after = read_file(tmp_path / "copy")
    assert "Session" not in after.type_names
    assert "Note" in after.type_names


def test_a_cut_snapshot_is_redacted_as_far_as_it_goes(tmp_path: Path) -> None:
    heap = program()
    heap.edge(4, "property", "more", heap.node("string", SECRET, 16))
    data = heap.bytes()
    begin = data.index(b'"edges"')

    for end in (*range(begin + 20, len(data) - 1, 131), data.index(b"sk_live") + 20):
        copy, told = redacted(data[:end], tmp_path)

        assert told.told.is_cut, end
        assert b"sk_live" not in copy
        before, after = read_file(tmp_path / "dump"), read_file(tmp_path / "copy")
        assert len(before.object_id) == len(after.object_id)
