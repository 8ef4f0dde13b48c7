"""Links of a page from the names of objects and types to their rows.

A link carries the name itself, so that the script of the page can also offer the tile
of the object or type and the command that shows what keeps it alive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.reports.panels import short_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

OBJECTS, TYPES = "retained-objects", "type-histogram"
"""Queries of the tables whose rows links lead to."""

_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")


@dataclass(frozen=True, slots=True)
class Links:
    """Where the names of a page lead to.

    Attributes:
        sections: Ids of sections for names without a row, by kind of name.
        rows: Ids of rows, by kind and name.
    """

    sections: dict[str, str] = field(default_factory=dict)
    rows: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_rows(self, kind: str, section: str, names: Iterable[str]) -> None:
        """Give ids to the rows of a table.

        Args:
            kind: ``object`` or ``type``.
            section: Id of the section of the table.
            names: Addresses or full names of types, a row each.
        """
        self.sections[kind] = section
        for number, name in enumerate(names, start=1):
            self.rows.setdefault((kind, short_of(name)), f"{kind}-{number}")

    def link(self, kind: str, name: str, text: str) -> str | Markup:
        """Return ``text`` as a link; unchanged if the page has no such section."""
        from markupsafe import Markup, escape

        name = short_of(name)
        place = self.rows.get((kind, name)) or self.sections.get(kind)
        if not place or not name:
            return text
        shown = escape(short_of(text))
        return Markup(
            f'<a class="ref" href="#{place}" data-{kind}="{escape(name)}">{shown}</a>'
        )

    def linked(self, text: str) -> Markup:
        """Return ``text`` with a link at each address."""
        from markupsafe import Markup, escape

        made, at = Markup(""), 0
        for found in _ADDRESS.finditer(text):
            made += escape(text[at : found.start()])
            made += escape(self.link("object", found[0], found[0]))
            at = found.end()
        return made + escape(text[at:])
