"""A slow, readable reader of heap dumps in CLR Profiler logs: an oracle.

It knows dumps, objects and roots, and shares nothing with the real reader.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

KINDS = {0: "other", 1: "local", 2: "finalizer_queue", 3: "handle"}
LARGEST_SIZE = 2**47 - 1


@dataclass
class Dump:
    """One dump; of two objects at one address the first counts."""

    objects: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)
    object_count: int = 0
    roots: list[tuple[int, str, int]] = field(default_factory=list)
    plain: list[int] = field(default_factory=list)
    nulls: int = 0

    def held(self) -> list[tuple[int, str, int]]:
        """Roots: address, kind, flags; those without kinds only where all are so."""
        if self.roots:
            return self.roots
        return [(address, "other", 0) for address in self.plain]


@dataclass
class Heaps:
    """What a log says of its dumps."""

    dumps: list[Dump] = field(default_factory=list)
    types: dict[int, str] = field(default_factory=dict)
    odd: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    def begun(self, *, by_object: bool) -> Dump:
        """The dump that a record belongs to."""
        last = self.dumps[-1] if self.dumps else None
        if last is None or self.is_over or (not by_object and last.object_count):
            last = Dump()
            self.dumps.append(last)
            self.odd["objects_without_roots"] += by_object
            self.is_over = False
        return last


def number(token: str) -> int | None:
    """A number, -1 for any with a sign; ``None`` if it is none, or is too large."""
    if re.fullmatch(r"-?0[xX][0-9a-fA-F]+", token):
        value = int(token, 16)
    elif re.fullmatch(r"-?[0-9]+", token):
        value = int(token)
    else:
        return None
    if abs(value) >= 2**64:
        return None
    return -1 if token[0] == "-" else value


def listed(heaps: Heaps, tokens: list[str]) -> list[int]:
    """Numbers up to one with a sign."""
    found = []
    for token in tokens:
        value = number(token)
        if value == -1:
            break
        if value is None:
            heaps.odd["malformed_reference"] += 1
        else:
            found.append(value)
    return found


def read(text: str) -> Heaps:
    """Read a log."""
    heaps = Heaps()
    for line in re.split(r"\r\n|\n|\r", text):
        tokens = line.split()
        if not tokens:
            continue
        letter, rest = tokens[0].lower(), tokens[1:]
        if letter == "o":
            read_object(heaps, rest)
        elif letter == "e":
            read_root(heaps, rest)
        elif letter == "r":
            values = listed(heaps, rest)
            dump = heaps.begun(by_object=False)
            dump.plain += [value for value in values if value]
        elif letter == "t":
            kind = number(rest[0]) if rest else None
            if kind is None or kind < 0:
                heaps.odd["malformed_record"] += 1
            else:
                name = " ".join(rest[2:] if rest[1:2] in (["0"], ["1"]) else rest[1:])
                heaps.types.setdefault(kind, name)
        elif letter in ("b", "g"):
            told = number(rest[0]) if rest else None
            if told is None or not 0 <= told < 2**62:
                heaps.odd["malformed_record"] += 1
            else:
                heaps.is_over = True
        elif letter not in ("i", "z", "c"):
            heaps.odd["unknown_record"] += 1
    return heaps


def read_object(heaps: Heaps, tokens: list[str]) -> None:
    """Read what stands behind an ``o``."""
    dump = heaps.begun(by_object=True)
    head = [number(token) for token in tokens[:3]]
    if len(head) < 3 or None in head or -1 in head[:2]:
        heaps.odd["malformed_record"] += 1
        return
    address, kind, size = (value or 0 for value in head)
    if size < 0 or size > LARGEST_SIZE:
        heaps.odd["size_out_of_range"] += 1
        signed = int(tokens[2], 0)
        size = signed + 2**32 if -(2**31) <= signed < 0 else 0
    heaps.odd["zero_object_id"] += address == 0
    targets = listed(heaps, tokens[3:])
    dump.object_count += 1
    if address not in dump.objects:
        dump.nulls += targets.count(0)
        dump.objects[address] = (kind, size, [target for target in targets if target])


def read_root(heaps: Heaps, tokens: list[str]) -> None:
    """Read what stands behind an ``e``."""
    dump = heaps.begun(by_object=False)
    told = [number(token) for token in tokens[:4]]
    if len(told) < 3 or None in told or -1 in told[:3]:
        heaps.odd["malformed_record"] += 1
        return
    address, kind, flags = (value or 0 for value in told[:3])
    if address:
        heaps.odd["unknown_root_kind"] += kind not in KINDS
        heaps.odd["unknown_root_flags"] += flags > 15
        dump.roots.append((address, KINDS.get(kind, "other"), flags & 7))
