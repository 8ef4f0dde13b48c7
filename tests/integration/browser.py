"""Chromium for tests: the system's own, without network; skipped without one."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """A headless Chromium, or a skipped test that says what is missing."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("pages in a browser: no Chromium (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", *options]
        )
        note_use(f"Chromium {browser.version}")
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page, and all that it complained of or asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


_WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@contextmanager
def opened(
    browser: Browser,
    file: Path,
    *,
    width: int = 1280,
    scheme: str = "light",
) -> Iterator[Opened]:
    """``file`` from disk, all its charts drawn; at the end nothing was amiss."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        offline=True,
    )
    context.add_init_script(_WATCH)
    page = context.new_page()
    seen = Opened(page)

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            seen.complaints.append(message.text)

    def asked(request: Request) -> None:
        if request.url != file.as_uri():
            seen.requests.append(request.url)

    page.on("console", said)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("dialog", lambda dialog: seen.complaints.append(dialog.message))
    page.on("request", asked)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn]")
    yield seen
    assert seen.complaints == []
    assert seen.requests == []
    assert page.evaluate("window.__violations") == []
    assert page.evaluate("window.__pwned") is None
    context.close()
