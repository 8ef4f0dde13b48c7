"""Invented names of types and fields, different for every seed.

They tell nothing: a leaking type is not called ``Leak``, a holder not ``Cache``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_SYLLABLES = (
    "ar", "bel", "cor", "dan", "el", "fen", "gar", "hal", "is", "jun", "kel", "lor",
    "mar", "nor", "os", "pel", "quin", "ros", "sol", "tam", "ul", "ver", "win", "yor",
    "zan", "bri", "cla", "dre", "fli", "gro",
)  # fmt: skip
_WORDS = (
    "Order", "Invoice", "Ticket", "Route", "Sensor", "Panel", "Widget", "Document",
    "Session", "Frame", "Layer", "Track", "Shape", "Rule", "Job", "Message", "Packet",
    "Account", "Ledger", "Player", "Sprite", "Tile", "Cell", "Query", "Plan", "Report",
    "Image", "Chart", "Filter", "Reading", "Device", "Channel", "Booking", "Review",
)  # fmt: skip
_SUFFIXES = (
    "", "", "", "Item", "Info", "State", "View", "Model", "Entry", "Record", "Context",
    "Handler", "Manager", "Service", "Registry", "Store", "Node", "Controller",
)  # fmt: skip
_FIELDS = (
    "items", "entries", "pending", "current", "children", "values", "active", "known",
    "rows", "parts", "index", "data", "log", "links", "members", "waiting",
)  # fmt: skip


class Names:
    """Names that were not given before, as programs of a language have them."""

    def __init__(self, random: Random, language: str) -> None:
        self._random, self._language = random, language
        self._given: set[str] = set()
        self._areas = [self._word() for _ in range(6)]
        self.program = self._word()

    def type(self) -> str:
        """The full name of a new type of the program."""
        while True:
            words = self._random.sample(_WORDS, self._random.randint(1, 2))
            simple = "".join(words) + self._random.choice(_SUFFIXES)
            if self._random.random() < 0.3:
                simple = self._word().capitalize() + simple
            area = self._random.choice(self._areas)
            if self._language == "javascript":
                name = simple
            elif self._language == "dart":
                name = f"package:{self.program}/{area}.dart::{simple}"
            else:
                name = f"{self.program.capitalize()}.{area.capitalize()}.{simple}"
            if simple not in self._given:
                self._given.add(simple)
                return name

    def field(self) -> str:
        """The name of a field."""
        word = self._random.choice(_FIELDS)
        other = self._random.choice(_WORDS)
        return "_" + self._random.choice([word, other.lower() + word.capitalize()])

    def _word(self) -> str:
        count = self._random.randint(2, 3)
        return "".join(self._random.choice(_SYLLABLES) for _ in range(count))
