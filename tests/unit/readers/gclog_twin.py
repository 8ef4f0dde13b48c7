"""A slow, readable gclog reader: the oracle for the fast one.

It reads lines with ``str.split`` and resolves ids with dictionaries, and says what
each object, root and irregularity is; nothing is shared with the real reader.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

HEX = re.compile(r"[0-9a-fA-F]+")
LARGEST_SIZE = 2**47 - 1


@dataclass
class Heap:
    """What a gclog says; objects by (section, id), in order."""

    objects: dict[tuple[int, int], tuple[int, int, list[int]]] = field(
        default_factory=dict
    )
    types: dict[tuple[int, int], str] = field(default_factory=dict)
    roots: list[tuple[int, int, int, int, int | None]] = field(default_factory=list)
    sections: int = 0
    nulls: int = 0
    odd: Counter[str] = field(default_factory=Counter)


def number(token: str) -> int | None:
    if not HEX.fullmatch(token) or int(token, 16) >= 2**64:
        return None
    return int(token, 16)


def read(text: str) -> Heap:
    heap = Heap()
    section, state = -1, "outside"
    for line in re.split(r"\r\n|\n|\r", text):
        stripped = line.strip(" \t")
        if not stripped:
            continue
        letter, _, rest = stripped.replace("\t", " ").partition(" ")
        letter = letter.lower()
        if letter not in ("a", "c", "o", "r", "t"):
            heap.odd["unknown_record"] += 1
            continue
        if letter == "a":
            heap.odd["unclosed_domain"] += state == "inside"
            section, state = section + 1, "inside"
            continue
        if letter == "c":
            heap.odd["stray_close"] += state != "inside"
            state = "outside"
            continue
        if state == "outside":
            section, state = section + 1, "implicit"
        heap.odd["outside_domain"] += state == "implicit"
        tokens = rest.split()
        values = [number(token) for token in tokens]
        if letter == "t":
            # A name may hold anything: only the first token is a number.
            if not values or values[0] is None:
                heap.odd["malformed_record"] += 1
                continue
            name = line.lstrip(" \t")[1:].lstrip(" \t")[len(tokens[0]) :].lstrip(" \t")
            key = (section, values[0])
            if key in heap.types and heap.types[key] != name:
                heap.odd["conflicting_type"] += 1
            heap.types.setdefault(key, name)
        elif letter == "o":
            read_object(heap, section, values)
        else:
            read_root(heap, section, values)
    heap.odd["unclosed_domain"] += state == "inside"
    heap.sections = max(section + 1, 1)
    return heap


def read_object(heap: Heap, section: int, values: list[int | None]) -> None:
    if len(values) < 3 or None in values[:3]:
        heap.odd["malformed_record"] += 1
        return
    number_, kind, size = values[:3]
    assert number_ is not None
    assert kind is not None
    assert size is not None
    heap.odd["zero_object_id"] += number_ == 0
    if size > LARGEST_SIZE:
        heap.odd["size_out_of_range"] += 1
        size = 0
    targets = [value for value in values[3:] if value]
    heap.odd["malformed_reference"] += values[3:].count(None)
    key = (section, number_)
    if key in heap.objects:
        heap.odd["conflicting_object"] += heap.objects[key] != (kind, size, targets)
    else:
        heap.objects[key] = (kind, size, targets)
        heap.nulls += values[3:].count(0)


def read_root(heap: Heap, section: int, values: list[int | None]) -> None:
    if len(values) < 3 or None in values[:4]:
        heap.odd["malformed_record"] += 1
        return
    number_, kind, flags = values[:3]
    assert number_ is not None
    assert kind is not None
    assert flags is not None
    if number_ == 0:
        heap.odd["null_root"] += 1
        return
    container = values[3] if len(values) > 3 else None
    heap.odd["unknown_root_kind"] += kind > 5
    heap.odd["unknown_root_flags"] += flags > 7
    heap.odd["static_without_container"] += kind == 4 and container is None
    heap.odd["container_without_static"] += kind != 4 and container is not None
    heap.odd["extra_elements"] += len(values) > 4
    heap.roots.append((section, number_, min(kind, 6), flags & 7, container))


def place(known: set[tuple[int, int]], section: int, wanted: int) -> tuple[int, int]:
    """Where an id used in ``section`` leads: there, else the first elsewhere."""
    if (section, wanted) in known:
        return section, wanted
    return next((key for key in sorted(known) if key[1] == wanted), (section, wanted))
