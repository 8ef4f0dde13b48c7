"""Pages as cells of a notebook, each in its own frame."""

from __future__ import annotations

from html import escape


def framed(page: str, height: int) -> str:
    """A page in an ``iframe``, which loads nothing and contains its styles.

    Args:
        page: A whole page of this tool.
        height: Height of the cell, in pixels.
    """
    return (
        '<iframe sandbox="allow-scripts" loading="lazy" title="heaproots" '
        f'style="width:100%;height:{height}px;border:0" '
        f'srcdoc="{escape(page, quote=True)}"></iframe>'
    )
