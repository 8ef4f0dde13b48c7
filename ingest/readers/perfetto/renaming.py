"""Original names of classes and fields, as packets of the trace itself tell them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ingest.readers.perfetto.packets import class_names, fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.arrays.compiled import Bytes

_INSTALLED = re.compile(r"/data/app/(?:~~[^/]+/)?([\w.]+)-[^/]*/")
"""Where a package is installed, which is the location of its classes."""


class Renames(Protocol):
    """Original names of what was shortened."""

    def class_name(self, name: str) -> str:
        """The original name of a class, or of an array; ``name`` if it kept that."""

    def field_name(self, owner: str, name: str, code: int) -> str:
        """The original name of a field; ``name`` if it kept that."""


class _PackageNames:
    """Original names of the wanted classes of one package."""

    def __init__(self) -> None:
        self.classes: dict[str, tuple[str, Bytes]] = {}
        self._fields: dict[str, dict[str, str]] = {}

    def class_name(self, name: str) -> str:
        """See `Renames.class_name`."""
        head, brackets, rest = name.partition("[")
        found = self.classes.get(head)
        return name if found is None else found[0] + brackets + rest

    def field_name(self, owner: str, name: str, code: int) -> str:
        """See `Renames.field_name`."""
        if owner not in self.classes:
            return name
        known = self._fields.get(owner)
        if known is None:
            known = self._fields[owner] = {}
            data = self.classes[owner][1]
            for field, _, first, last in fields(data, 0, len(data)):
                if field == 3:
                    short, original = _two_names(data, first, last)
                    known.setdefault(short, original.rpartition(".")[2])
        return known.get(name) or name


_NONE = _PackageNames()


class TraceNames:
    """All names that packets of a trace tell; few of their classes are in a heap."""

    def __init__(self) -> None:
        self._packets: list[Bytes] = []
        self._packages: dict[str, _PackageNames] = {}
        self._any = _PackageNames()

    def add(self, data: Bytes, begin: int, end: int) -> None:
        """Keep a packet with names."""
        self._packets.append(data[begin:end].copy())

    def want(self, names: Iterable[str]) -> None:
        """Read the names of some classes; call it before asking for them."""
        if not self._packets:
            return
        wanted = {name.encode().partition(b"[")[0] for name in names}
        for data in self._packets:
            package = ""
            found: list[tuple[str, str, Bytes]] = []
            for field, begin, end, at, last in class_names(data):
                text = data[at:last].tobytes()
                if field == 1:
                    package = text.decode("utf-8", "replace")
                elif text in wanted:
                    short, original = _two_names(data, begin, end)
                    if original:
                        found.append((short, original, data[begin:end].copy()))
            of_package = self._packages.setdefault(package, _PackageNames())
            for short, original, content in found:
                of_package.classes.setdefault(short, (original, content))
                self._any.classes.setdefault(short, (original, content))

    def at(self, location: str) -> Renames:
        """The names of classes with a location; of all packages where it names none."""
        if not self._any.classes:
            return _NONE
        found = _INSTALLED.match(location)
        if found is None:
            return self._any
        return self._packages.get(found[1]) or self._packages.get("") or _NONE


def _two_names(data: Bytes, begin: int, end: int) -> tuple[str, str]:
    """The texts of the fields 1 and 2 of a message."""
    texts = {1: "", 2: ""}
    for field, value, first, last in fields(data, begin, end):
        if field in texts and value < 0:
            texts[field] = _text(data, first, last)
        if all(texts.values()):
            break
    return texts[1], texts[2]


def _text(data: Bytes, begin: int, end: int) -> str:
    return np.asarray(data[begin:end]).tobytes().decode("utf-8", "replace")
