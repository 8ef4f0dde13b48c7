"""Rendering of pages: escaping, and the scripts and styles that a page includes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.words.command_line import command, why_command
from ingest.words.text import human_bytes, local_time, printable_lines

if TYPE_CHECKING:
    from jinja2 import Environment


_TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("page.js", "charts.js")
"""Files that make up the script of a page, in this order."""


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The query of a part of a page.

    Attributes:
        query: Name of the query.
        cypher: Its text with its values, to be pasted into Neo4j Browser.
        link: Address that opens it in Neo4j Browser, if known.
    """

    query: str
    cypher: str
    link: str | None


def digest(script: bytes) -> str:
    """Return the digest of a script, as a content security policy spells it."""
    import hashlib

    return f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """Escape control and right-to-left characters of a value in a template."""
    from markupsafe import Markup

    if isinstance(value, str) and not isinstance(value, Markup):
        return printable_lines(value)
    return value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["human_bytes"] = human_bytes
    made.filters["local_time"] = local_time
    return made


def render(template: str, **values: object) -> str:
    """Render a template.

    Args:
        template: File name of the template.
        values: Variables of the template. ``file`` is the file that was opened, if the
            dump is not loaded.
    """
    from markupsafe import Markup

    script = "".join(map(_asset, SCRIPTS))
    name, file = str(values.get("dump_name") or "") or None, str(values.get("file", ""))
    return (
        _environment()
        .get_template(template)
        .render(
            **(values | {"file": file}),
            command=command,
            why=lambda subject: why_command(subject, name, file),
            # Our own files: they contain no end tag, which a test checks.
            style=Markup(_asset("page.css")),
            script=Markup(script),
            script_digest=digest(script.encode()),
            version=__version__,
        )
    )


def script_json(value: object) -> str:
    """Return JSON that cannot be parsed as a tag, an entity or an end tag in HTML."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
