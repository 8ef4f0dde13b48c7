"""JSON for the script of a page."""

from __future__ import annotations

import json


def script_json(value: object) -> str:
    """Return JSON that cannot be parsed as a tag, an entity or an end tag in HTML."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
