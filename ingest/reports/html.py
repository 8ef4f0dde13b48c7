"""Templates to pages: escaping, and the scripts and styles that a page carries."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.text import human_bytes, printable_lines

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Source:
    """Where numbers come from.

    Attributes:
        query: Name of the query.
        cypher: It with its values, to be pasted into Neo4j Browser.
        link: An address that opens it there, where that is known.
    """

    query: str
    cypher: str
    link: str | None


@dataclass(frozen=True, slots=True)
class Library:
    """The chart library as a page carries it.

    Attributes:
        packed: Its script, gzipped, in base64.
        digest: Of the script, as a content security policy names it.
    """

    packed: str
    digest: str


@cache
def chart_library() -> Library:
    """Plotly's script, out of its Python package, which is not imported for it."""
    found = find_spec("plotly")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0])
    script = (folder / "package_data" / "plotly.min.js").read_bytes()
    script = script.replace(b"\r\n", b"\n")
    # Fixed, so that the same report is the same file.
    packed = gzip.compress(script, 9, mtime=0)
    return Library(base64.b64encode(packed).decode("ascii"), digest(script))


def digest(script: bytes) -> str:
    """A script's digest as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """What ``{{ }}`` shows of a value: nothing that moves a cursor or turns text."""
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
    return made


def render(template: str, **values: object) -> str:
    """A page from its template.

    Args:
        template: Name of the file.
        values: What it shows.
    """
    from markupsafe import Markup

    script = _asset("page.js")
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            # Files of our own: they hold no end tag, which a test checks.
            style=Markup(_asset("page.css")),
            script=Markup(script),
            script_digest=digest(script.encode()),
            library=chart_library(),
            version=__version__,
        )
    )
