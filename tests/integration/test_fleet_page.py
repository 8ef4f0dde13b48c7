"""The page over a fleet in a real browser, from disk, without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.reports.fleet_page import fleet_page
from tests.integration.browser import chromium, opened
from tests.unit.reports.test_fleet_report import TOTALS, leaks, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

HOSTILE = "</td><script>window.__pwned=1</script><img src=x onerror=window.__pwned=2>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_opens_without_a_complaint(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    file = tmp_path / "fleet.html"
    names = report(leaks(HOSTILE, f"/dumps/{HOSTILE}"))
    file.write_text(fleet_page(names, TOTALS), encoding="utf-8")
    with opened(browser, file, width=width, scheme=scheme) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1").inner_text() == "Fleet my fleet"
        assert HOSTILE in page.locator("#leaks-table").inner_text()
        first = page.locator("#leaks-table tbody tr:first-child")
        before = first.inner_text()
        sort = page.locator("#leaks-table thead th", has_text="dumps").locator("button")
        sort.click()
        sort.click()
        assert first.inner_text() != before
        assert page.locator("#leaks .tools button").first.is_visible()
