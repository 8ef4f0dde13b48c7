"""The GraSS style for Neo4j Browser, made from the schema.

Selectors of Browser 5.24.0 can match only labels and relationship types, and
``diameter`` is a fixed number. So an object with a large retained size has a further
label, by which it is drawn larger. That label needs a complete rule: ``CALL
db.schema.visualization()`` draws a node for each label, and if a label has no rule,
Browser makes one without colour and caption, which then applies to the objects, too. A
node of that visualization has only the property ``name``, its label, so captions fall
back to ``name``.

Source: Neo4j Browser 5.24.0, GraphStyleModel (selectors, properties, captions).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ingest.tables.schema import LABELS, LINKS, MOST, NEXT, RELATIONSHIPS, SIZES
from ingest.tables.schema import label as label_of

if TYPE_CHECKING:
    from ingest.tables.column import Label

NAME = "heaproots.grass"
_CAPTIONS = ("type_name", "caption", "name")
"""Properties for captions; a node shows the first that it has."""
_ARROW_CAPTIONS = {
    "REFERENCES": "{field}",
    "WEAKLY_REFERENCES": "{field} {strength}",
    "REFERENCES_TYPE": "{reference_count}",
}
"""Captions by relationship type; the others show the type."""


@dataclass(frozen=True, slots=True)
class NodeLook:
    """Style of the nodes of a label.

    Attributes:
        color, border, text: CSS colours.
        diameter: Pixels.
    """

    color: str
    border: str
    text: str
    diameter: int


@dataclass(frozen=True, slots=True)
class ArrowLook:
    """Style of the relationships of a type.

    Attributes:
        color: CSS colour.
        width: Pixels.
    """

    color: str
    width: int


NODES = {
    "Dump": NodeLook("#2F3E55", "#1C2738", "#FFFFFF", 90),
    "Root": NodeLook("#C8553D", "#8F3A29", "#FFFFFF", 70),
    "Domain": NodeLook("#7A7F87", "#565A60", "#FFFFFF", 70),
    "Type": NodeLook("#E3B448", "#A9832B", "#2B2B2B", 60),
    "Segment": NodeLook("#2F7D65", "#1F5E4B", "#FFFFFF", 60),
    "Generation": NodeLook("#3F6F2E", "#2B5120", "#FFFFFF", 70),
    "GarbageCollection": NodeLook("#A23B72", "#742A52", "#FFFFFF", 60),
    "AllocationSite": NodeLook("#5B7F95", "#3E5A6B", "#FFFFFF", 60),
    "TypePath": NodeLook("#8E6BBF", "#65469A", "#FFFFFF", 60),
    "Suspect": NodeLook("#D6336C", "#9C1F4B", "#FFFFFF", 80),
    "Object": NodeLook("#4C8EDA", "#2870C2", "#FFFFFF", 50),
}
ARROWS = {
    "HAS_DOMAIN": ArrowLook("#B4B9C2", 1),
    "HAS_ROOT": ArrowLook("#C8553D", 1),
    "REFERENCES": ArrowLook("#4C8EDA", 2),
    "WEAKLY_REFERENCES": ArrowLook("#C3D6EC", 1),
    "STATIC_IN": ArrowLook("#E3B448", 1),
    "INSTANCE_OF": ArrowLook("#D9C99A", 1),
    "DOMINATES": ArrowLook("#2F3E55", 3),
    "REFERENCES_TYPE": ArrowLook("#A9832B", 2),
    "EXTENDS": ArrowLook("#A9832B", 1),
    "HAS_SEGMENT": ArrowLook("#2F7D65", 1),
    "HAS_GENERATION": ArrowLook("#3F6F2E", 1),
    "HAS_COLLECTION": ArrowLook("#A23B72", 1),
    "FOLLOWED_BY": ArrowLook("#A23B72", 2),
    "SURVIVED_AS": ArrowLook("#3F6F2E", 3),
    "CONTINUED_AS": ArrowLook("#3F6F2E", 2),
    "NEXT": ArrowLook("#3F6F2E", 3),
    "HAS_ALLOCATION_SITE": ArrowLook("#5B7F95", 1),
    "ALLOCATED_AT": ArrowLook("#5B7F95", 2),
    "HAS_PATH": ArrowLook("#8E6BBF", 1),
    "CONTAINS": ArrowLook("#8E6BBF", 2),
    "OF_TYPE": ArrowLook("#E3B448", 1),
    "HAS_SUSPECT": ArrowLook("#D6336C", 1),
    "SUSPECTS": ArrowLook("#D6336C", 3),
    "ACCUMULATES_IN": ArrowLook("#D6336C", 2),
}


LARGER = {1: 66, 10: 90}
"""Diameter in pixels of an object that retains a percentage of the heap."""


def grass() -> str:
    """Return the style, for a file or the ``:style`` command of Browser."""
    blocks = [
        _block("node", color="#A5ABB6", diameter="50px"),
        _block("relationship", color="#A5ABB6", caption="'<type>'"),
    ]
    blocks += [
        _node(label.name, NODES[label.name], _caption(label)) for label in LABELS
    ]
    blocks.append(_node(MOST, NODES["Object"], _caption(label_of("Object"))))
    for name, percent in SIZES:
        look = replace(NODES["Object"], diameter=LARGER[percent])
        blocks.append(_node(name, look, _caption(label_of("Object"))))
    names = [entry.name for entry in RELATIONSHIPS]
    names += [link.name for link in (*LINKS, NEXT)]
    for name in dict.fromkeys(names):
        arrow = ARROWS[name]
        caption = _ARROW_CAPTIONS.get(name, "<type>")
        blocks.append(
            _block(
                f"relationship.{name}",
                color=arrow.color,
                shaft_width=f"{arrow.width}px",
                font_size="8px",
                padding="3px",
                text_color_external="#000000",
                text_color_internal="#FFFFFF",
                caption=f"'{caption}'",
            )
        )
    return "\n".join(blocks)


def _node(name: str, look: NodeLook, caption: str) -> str:
    return _block(
        f"node.{name}",
        color=look.color,
        border_color=look.border,
        border_width="2px",
        text_color_internal=look.text,
        diameter=f"{look.diameter}px",
        font_size="10px",
        caption=f"'{caption}'",
    )


def _caption(label: Label) -> str:
    names = {entry.name for entry in label.properties}
    found = next(name for name in _CAPTIONS if name in names)
    return f"{{{found}}}" if "name" in names else f"{{{found}}}{{name}}"


def _block(selector: str, **properties: str) -> str:
    lines = [f"  {name.replace('_', '-')}: {properties[name]};" for name in properties]
    return "\n".join([f"{selector} {{", *lines, "}", ""])
