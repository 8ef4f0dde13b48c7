"""Values for the script of a page."""

from __future__ import annotations

import json


def script_json(value: object) -> str:
    """``value`` as JSON that no HTML parser reads as a tag, an entity or an end."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
