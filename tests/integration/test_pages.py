"""Pages in a real browser, from disk, without a network."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from ingest.readers.gclog.example import example_gclog
from tests.conftest import use_server
from tests.dumps.gclog import Gclog
from tests.dumps.nettrace import NetTrace
from tests.integration.browser import chromium, opened
from tests.integration.commands import output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from ingest.database.connection import Database
    from ingest.server.target import Target

pytestmark = pytest.mark.server

HOSTILE = (
    "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=2</script>",
    '<a href="javascript:window.__pwned=3">N.Link</a>',
    "<img src=x onerror=window.__pwned=4>",
    "N.<b>bold</b><br>&lt;i&gt;&#60;%{value}",
    "N.Right\u202eto left\u2028\"'`${window.__pwned=5}",
    "N.{{ 7 * 7 }}{% raw %}",
    "N." + "long" * 2000,
)


def hostile_gclog() -> str:
    """Types with names that want to be more than text, all of them in each chart."""
    log = Gclog().domain(HOSTILE[0])
    for number, name in enumerate(HOSTILE, start=1):
        log.type(number, name)
    for number in range(1, len(HOSTILE) + 1):
        below = [number * 16 + 1, number * 16 + 2]
        log.object(number * 16, number, 1000, below)
        log.object(below[0], number % len(HOSTILE) + 1, 3000)
        log.object(below[1], number, 2000)
        log.root(number * 16, 4, container=number)
        log.object(number * 16 + 3, number, 100)
    return log.close(HOSTILE[0]).text()


def collecting_trace() -> bytes:
    """Nine collections; the last but one is the dump, one does not tell the heap."""
    trace = NetTrace()
    trace.types({1: HOSTILE[0]})
    for number in range(1, 10):
        trace.ticks += 40_000_000
        is_dump = number == 8
        trace.start(number, generation=2 if is_dump else number % 3, reason=is_dump)
        if is_dump:
            trace.roots([(0x10000, 0, 0)])
            trace.nodes([(0x10000, 640, 1, 0)])
        trace.ticks += 3_000_000
        if number != 4:
            trace.heap_stats()
        trace.end(number)
    trace.point()
    return trace.file()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(
    browser: Browser,
    database: Database,
    neo4j_target: Target,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Path]]:
    """Pages of the example and of the hostile dump."""
    del browser  # without it there is nothing to make pages for
    folder = tmp_path_factory.mktemp("pages")
    database.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS")
    (folder / "example.gclog").write_text(example_gclog(), encoding="utf-8")
    (folder / "hostile.gclog").write_text(hostile_gclog(), encoding="utf-8")
    (folder / "trace.nettrace").write_bytes(collecting_trace())
    dumps = ("example.gclog", "hostile.gclog", "trace.nettrace")
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder / "home"))
        use_server(patch, neo4j_target)
        for file in dumps:
            name = file.partition(".")[0]
            output("load", str(folder / file), "--name", name)
            made[name] = folder / f"{name}.html"
            output("report", "--dump", name, "--html", str(made[name]))
        for name, dump, subject in (
            ("why-object", "example", "0x1c1773"),
            ("why-type", "example", "LevelScreen"),
            ("why-hostile", "hostile", "0x11"),
        ):
            made[name] = folder / f"{name}.html"
            output("why", subject, "--dump", dump, "--html", str(made[name]))
    yield made
    database.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS")


CHARTS = ("objects", "types", "root-paths")


def level(page: Page, chart: str) -> str:
    """What the chart itself shows as its top."""
    return str(page.locator(f"#{chart} .tile").first.get_attribute("data-at"))


def crumbs(page: Page, chart: str) -> list[str]:
    return page.locator(f"#{chart} .crumbs li").all_inner_texts()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("why-object", 1280, "light"),
        ("why-type", 390, "dark"),
        ("why-hostile", 1280, "light"),
        ("why-hostile", 390, "dark"),
    ],
)
def test_why_is_a_picture(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    with opened(browser, pages[name], width=width, scheme=scheme) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("svg.paths .subject").count() == 1
        assert page.locator("svg.paths .root").count() >= 1
        outside = page.evaluate(
            """[...document.querySelectorAll("svg.paths .box")].filter((box) => {
              const rect = box.querySelector("rect").getBoundingClientRect();
              return [...box.querySelectorAll("text")].some((text) => {
                const inner = text.getBoundingClientRect();
                return inner.left < rect.left || inner.right > rect.right;
              });
            }).map((box) => box.textContent)"""
        )
        assert outside == []


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("example", 1280, "light"),
        ("hostile", 1280, "light"),
        ("hostile", 390, "dark"),
        ("trace", 390, "dark"),
    ],
)
def test_a_page_opens_without_a_complaint(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    assert pages[name].stat().st_size < 1_000_000
    with opened(browser, pages[name], width=width, scheme=scheme) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        charts = page.locator("section.chart").count()
        assert charts == (len(CHARTS) if name != "trace" else charts)
        for at in range(charts):
            assert page.locator("section.chart .plot").nth(at).locator(".tile").count()
        figures = page.locator("section.timeline .plot svg").count()
        assert (figures > 0) is (name == "trace")
        assert page.locator("h1").inner_text() == f"Leak report of {name}"
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 23, 26)") is (scheme == "dark")


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_goes_in_by_click_and_out_by_its_breadcrumb(
    browser: Browser, pages: dict[str, Path], chart: str
) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        page.locator(f"#{chart}").scroll_into_view_if_needed()
        assert (level(page, chart), len(crumbs(page, chart))) == ("0", 1)
        first = page.locator(f"#{chart} tbody button").first.inner_text()
        page.locator(f"#{chart} .tile").nth(1).click(position={"x": 8, "y": 8})
        assert level(page, chart) != "0"
        inside = crumbs(page, chart)
        assert inside[0] == "Reachable heap"
        assert inside[1] == first
        page.locator(f"#{chart} .crumbs button").first.click()
        assert level(page, chart) == "0"
        assert crumbs(page, chart) == ["Reachable heap"]


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("chart", CHARTS)
def test_the_same_goes_by_keyboard(
    browser: Browser, pages: dict[str, Path], chart: str
) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        inside = page.locator(f"#{chart} tbody button").first
        name = inside.inner_text()
        inside.focus()
        page.keyboard.press("Enter")
        said = page.locator(f"#{chart} .level-said").inner_text()
        assert said.startswith(name)
        assert page.evaluate("document.activeElement.getAttribute('aria-current')")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        assert len(crumbs(page, chart)) == 1
        assert level(page, chart) == "0"


def test_names_in_charts_are_text(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["hostile"]) as seen:
        page = seen.page
        for chart in CHARTS:
            plot = page.locator(f"#{chart} .plot")
            assert plot.locator("a, i, script, img").count() == 0
            texts = " ".join(plot.locator(".tile").all_text_contents())
            assert "<script>" in texts
            assert "&lt;i&gt;&#60;%{value}" in texts
            plot.locator(".tile").nth(1).hover(position={"x": 4, "y": 4})
            hint = page.locator(f"#{chart} .hint")
            assert "objects" in hint.inner_text()
            assert hint.locator("*").count() == 0


def test_tiles_lie_inside_each_other_and_the_legend_names_their_colours(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        for chart in CHARTS:
            found = page.evaluate(
                """(name) => {
                  const plot = document.querySelector(`#${name} .plot`);
                  const tiles = [...plot.querySelectorAll(".tile")];
                  const all = plot.getBoundingClientRect();
                  const isOutside = (tile) => {
                    const box = tile.getBoundingClientRect();
                    return box.left < all.left - 1 || box.right > all.right + 1
                      || box.bottom > all.bottom + 1;
                  };
                  const swatches = `#${name} .legend span`;
                  const colour = (one) => one.style.background;
                  return {
                    outside: tiles.filter(isOutside).length,
                    colours: [...new Set(tiles.slice(1).map(colour))],
                    legend: [...document.querySelectorAll(swatches)].map(colour),
                  };
                }""",
                chart,
            )
            assert found["outside"] == 0
            assert sorted(found["colours"]) == sorted(found["legend"])


@pytest.mark.slow
def test_an_address_leads_to_its_row_its_tile_and_its_command(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        link = page.locator("#suspects .path a.ref").first
        address = link.inner_text()
        menu = page.locator("#menu")

        link.focus()
        page.keyboard.press("Enter")
        command = menu.locator("code").inner_text()
        assert command == f"ingest why {address} --dump example"
        page.keyboard.press("Enter")
        assert (
            page.evaluate("document.activeElement.dataset.row") == f"object {address}"
        )
        assert not menu.is_visible()

        link.click()
        menu.get_by_text("Tile in “Dominator tree”").click()
        at = page.locator("#objects .tile.found").get_attribute("data-at")
        label = page.locator(f"#objects .tile[data-at='{at}'] b").inner_text()
        assert label == "ScoreChangedEventHandler"

        page.locator("#suspects .facts a.ref").first.click()
        assert "StarMiner.LevelScreen" in menu.inner_text()
        assert "Tile in “Dominator tree by type”" in menu.inner_text()
        page.keyboard.press("Escape")
        assert not menu.is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_collections_are_a_figure(
    browser: Browser, pages: dict[str, Path], width: int, scheme: str
) -> None:
    with opened(browser, pages["trace"], width=width, scheme=scheme) as seen:
        page = seen.page
        figure = page.locator("#gc-timeline")
        legend = figure.locator(".legend li").all_inner_texts()
        assert legend == [
            "heap after a collection",
            "generation 0",
            "generation 1",
            "generation 2",
            "the dump",
            "at 0: heap size unknown",
        ]
        marks = [
            figure.locator(f".plot {shape}").count()
            for shape in (".ring", ".mark.circle", ".mark.square", ".mark.diamond")
        ]
        assert marks == [1, 3, 3, 3]
        figure.locator(".plot").scroll_into_view_if_needed()
        page.evaluate("scrollBy(0, -200)")
        figure.locator(".mark").nth(7).hover()
        said = figure.locator(".hint").inner_text()
        assert "Collection 8: the dump" in said
        assert "generation 2, blocking" in said
        assert figure.locator("tbody tr").count() == 9
        button = page.locator("#theme")
        button.click()
        assert figure.locator(".legend li").count() == len(legend)


def column(page: Page, table: str, number: int) -> list[str]:
    cells = page.locator(f"#{table} tbody tr:visible > :nth-child({number})")
    return cells.all_inner_texts()


def test_a_table_sorts_and_filters(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        table = "type-histogram-table"
        head = page.locator(f"#{table} thead th").nth(1)
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        counts = [int(text.replace(",", "")) for text in column(page, table, 2)]
        assert counts == sorted(counts, reverse=True)
        assert len(counts) == 12
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        page.locator("#type-histogram .more-rows").click()
        assert len(column(page, table, 1)) == 32
        page.locator("#type-histogram input").fill("starminer sprite")
        assert sorted(column(page, table, 1)) == [
            "List`1[[Sprite]]",
            "Sprite",
            "Sprite[]",
        ]
        said = page.locator("#type-histogram .filter [role=status]").inner_text()
        assert said == "3 of 32 rows"
        page.locator("#type-histogram input").fill("no such type")
        assert column(page, table, 1) == []


def test_a_query_is_copied(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        page.locator("#type-histogram details.query summary").click()
        page.locator("#type-histogram [data-copy]").click()
        said = page.locator("#type-histogram .tools .said")
        expect(said).to_have_text("Copied.")
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('textarea'),"
            " {id: 'paste'}))"
        )
        page.locator("#paste").focus()
        page.keyboard.press("Control+V")
        pasted = page.locator("#paste").input_value()
        assert pasted.startswith(":param dump => ")
        assert "MATCH (t:Type)" in pasted


def test_colours_change_on_a_button(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["example"], scheme="dark") as seen:
        page = seen.page
        assert page.locator("#theme").inner_text() == "Colours: system"
        page.locator("#theme").click()
        assert page.locator("#theme").inner_text() == "Colours: light"
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(251, 251, 250)"


def test_every_control_has_a_name_and_every_chart_a_table(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with opened(browser, pages["example"]) as seen:
        page = seen.page
        nameless = page.evaluate(
            """[...document.querySelectorAll("button, a, input, select, summary")]
            .filter((one) => !one.closest("[hidden]"))
            .filter((one) => !(one.textContent.trim() || one.labels?.length))
            .map((one) => one.outerHTML)"""
        )
        assert nameless == []
        for chart in CHARTS:
            assert page.locator(f"#{chart} table tbody tr").count() > 1
        headings = page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])"
        )
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(headings))


def test_without_script_the_tables_are_there(
    browser: Browser, pages: dict[str, Path]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["example"].as_uri())
    assert page.locator("#objects tbody tr").count() > 3
    assert page.locator("button:visible").count() == 0
    assert page.locator("#type-histogram tbody tr:visible").count() == 32
    context.close()


def test_the_password_is_not_in_a_page(
    pages: dict[str, Path], neo4j_target: Target
) -> None:
    assert neo4j_target.password
    for file in pages.values():
        assert neo4j_target.password not in file.read_text(encoding="utf-8")


def test_data_of_charts_is_json(pages: dict[str, Path]) -> None:
    text = pages["hostile"].read_text(encoding="utf-8")
    for part in text.split('<script type="application/json">')[1:]:
        data = json.loads(part.partition("</script>")[0])
        assert len(data["parent"]) == len(data["bytes"]) == len(data["type"])
