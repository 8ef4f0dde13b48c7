"""The style: as Browser reads it, all of the schema and nothing else."""

from __future__ import annotations

import re

from ingest.browser.style import ARROWS, NODES, grass
from ingest.tables.schema import LABELS, LINKS, MOST, NEXT, RELATIONSHIPS, SIZES

Rules = dict[str, dict[str, str]]


def rules_of(text: str) -> Rules:
    """As Browser 5.24.0 parses: quotes toggle, blanks in selectors go."""
    rules: Rules = {}
    quoted = inside = False
    selector = body = ""
    for character in text:
        if character == "'":
            quoted = not quoted
        elif character == "{" and not quoted:
            inside = True
        elif character == "}" and not quoted:
            inside = False
            pairs = [part.split(":") for part in body.split(";") if part.strip()]
            assert all(len(pair) == 2 for pair in pairs), body
            assert selector not in rules
            rules[selector] = {name.strip(): value.strip() for name, value in pairs}
            selector = body = ""
        elif inside:
            body += character
        elif not character.isspace():
            selector += character
    assert not quoted
    assert not inside
    assert not selector
    return rules


RULES = rules_of(grass())


def test_every_label_and_relationship_has_a_style_and_nothing_else_has() -> None:
    styled = {f"node.{label.name}" for label in LABELS}
    styled |= {f"node.{name}" for name in (MOST, *dict(SIZES))}
    arrows = {entry.name for entry in RELATIONSHIPS} | {
        link.name for link in (*LINKS, NEXT)
    }
    styled |= {f"relationship.{name}" for name in arrows}

    assert set(RULES) - {"node", "relationship"} == styled
    assert set(NODES) == {label.name for label in LABELS}
    assert set(ARROWS) == arrows


def test_what_retains_more_is_larger() -> None:
    selectors = [f"node.{name}" for name in ("Object", *dict(SIZES))]
    diameters = [int(RULES[s]["diameter"].removesuffix("px")) for s in selectors]

    assert diameters == sorted(set(diameters))
    assert RULES[f"node.{MOST}"] == RULES["node.Object"]
    # Otherwise Browser gives the label a look of its own, and so its objects.
    for selector in selectors[1:]:
        assert RULES[selector] | {"diameter": ""} == RULES["node.Object"] | {
            "diameter": ""
        }


def test_captions_are_properties() -> None:
    for label in LABELS:
        caption = RULES[f"node.{label.name}"]["caption"]
        shown = re.fullmatch(r"\{(\w+)\}(\{name\})?", caption)
        assert shown
        names = {entry.name for entry in label.properties}
        assert shown[1] in names
        assert ("name" in names) is (shown[2] is None)
    assert RULES["node.Object"]["caption"] == "{type_name}{name}"
    assert RULES["node.Type"]["caption"] == "{caption}"
    for relation in RELATIONSHIPS:
        caption = RULES[f"relationship.{relation.name}"]["caption"]
        if relation.properties:
            known = {column.name for column in relation.properties}
            assert set(re.findall(r"\{(\w+)\}", caption)) <= known
    # Strong references have no strength: an arrow would say nothing.
    assert RULES["relationship.REFERENCES"]["caption"] == "{field}"
    assert RULES["relationship.REFERENCES_TYPE"]["caption"] == "{reference_count}"
    assert RULES["relationship.DOMINATES"]["caption"] == "<type>"


def test_sizes_and_colours_tell_the_labels_apart() -> None:
    sizes = [
        int(RULES[f"node.{name}"]["diameter"].removesuffix("px"))
        for name in ("Dump", "Root", "Type", "Object")
    ]
    colors = [RULES[f"node.{label.name}"]["color"] for label in LABELS]

    assert sizes == sorted(set(sizes), reverse=True)
    assert len(set(colors)) == len(colors)
    assert all(re.fullmatch("#[0-9A-F]{6}", color) for color in colors)


def test_what_is_written_in_a_node_can_be_read() -> None:
    """A contrast of at least 3 to 1, which WCAG 2.1 asks of graphics."""

    def light(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for label in LABELS:
        rule = RULES[f"node.{label.name}"]
        dark, bright = sorted(
            (light(rule["color"]), light(rule["text-color-internal"]))
        )
        assert (bright + 0.05) / (dark + 0.05) >= 3, label.name
