"""The examples of leak tests, in the frameworks that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.browser import NAMES
from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.deep

CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
EXAMPLES = Path(__file__).parents[2] / "ingest/gate/examples"
JUNIT = "org.junit.platform:junit-platform-console-standalone:1.11.4"

JAVA = """
import java.util.*;
import org.junit.jupiter.api.Test;

class ShopTest {
  static class Order { long[] items = new long[40]; }
  static final List<Order> ORDERS = new ArrayList<>();
  static final Order[] LAST = new Order[1];

  @Test void everyOrderIsKept() throws Exception {
    LeakCheck.assertNothingAccumulates(500, () -> ORDERS.add(new Order()));
  }
  @Test void theLastOrderIsKept() throws Exception {
    LeakCheck.assertNothingAccumulates(500, () -> LAST[0] = new Order());
  }
}
"""
SHOP = """
export class Order { constructor(n) { this.items = new Array(40).fill(n); } }
export const orders = [];
export const last = { order: null };
"""
VITEST = """
import { test } from "vitest";
import { expectNothingAccumulates } from "./leak-check.mjs";
import { Order, last, orders } from "./shop.mjs";

test("every order is kept", async () => {
  await expectNothingAccumulates(500, () => { orders.push(new Order(1)); });
}, 120_000);
test("the last order is kept", async () => {
  await expectNothingAccumulates(500, () => { last.order = new Order(1); });
}, 120_000);
"""
PLAYWRIGHT = """
import { test } from "@playwright/test";
import { expectNothingAccumulatesInPage } from "./leak-check.mjs";

for (const [name, work] of [
  ["every order is kept", () => orders.push(new Order(1))],
  ["the last order is kept", () => { last = new Order(1); }],
]) test(name, async ({ page }) => {
  test.setTimeout(120_000);
  await page.setContent(`<script>
    class Order { constructor(n) { this.items = new Array(40).fill(n); } }
    var orders = [], last;
  </script>`);
  const session = await page.context().newCDPSession(page);
  await expectNothingAccumulatesInPage(session, 500, () => page.evaluate(work));
});
"""
CONFIG = """
export default { reporter: "line", use: { launchOptions: {
  executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } } };
"""


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"examples of leak tests: no {program} on the PATH")
    note_use(program)
    return found


def said(folder: Path, command: Sequence[object]) -> str:
    """What a framework prints, with ``ingest`` of this checkout on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | {"PATH": path, "CHROMIUM": CHROMIUM or "", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return done.stdout


def install(folder: Path, *packages: str) -> None:
    npm = needed("npm")
    (folder / "package.json").write_text('{"type": "module"}')
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", *packages],
        cwd=folder,
        env=os.environ | {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        pytest.skip(f"examples of leak tests: npm cannot install {packages}")


def test_junit(tmp_path: Path) -> None:
    javac, maven = needed("javac"), needed("mvn")
    copied = ["dependency:copy", f"-Dartifact={JUNIT}", f"-DoutputDirectory={tmp_path}"]
    if subprocess.run([maven, "-q", *copied], capture_output=True).returncode:
        pytest.skip("examples of leak tests: Maven cannot fetch JUnit")
    (jar,) = tmp_path.glob("*.jar")
    (tmp_path / "ShopTest.java").write_text(JAVA)
    subprocess.run(
        [javac, "-cp", jar, "-d", tmp_path, EXAMPLES / "LeakCheck.java",
         tmp_path / "ShopTest.java"],
        check=True,
    )  # fmt: skip
    found = said(tmp_path, ["java", "-jar", jar, "execute", "-cp", tmp_path,
                            "--scan-classpath", tmp_path])  # fmt: skip
    assert "1 tests successful" in found, found
    assert "1 tests failed" in found
    assert "Objects accumulate from dump to dump" in found
    assert "ShopTest.ORDERS" in found


def test_vitest(tmp_path: Path) -> None:
    install(tmp_path, "vitest@3")
    shutil.copy(EXAMPLES / "leak-check.mjs", tmp_path)
    (tmp_path / "shop.mjs").write_text(SHOP)
    (tmp_path / "shop.test.mjs").write_text(VITEST)
    found = said(tmp_path, ["npx", "vitest", "run"])
    assert "1 failed | 1 passed" in found, found
    assert "Objects accumulate from dump to dump" in found
    assert "Order grew" in found


@pytest.mark.skipif(CHROMIUM is None, reason="examples of leak tests: no Chromium")
def test_playwright(tmp_path: Path) -> None:
    install(tmp_path, "@playwright/test@1")
    shutil.copy(EXAMPLES / "leak-check.mjs", tmp_path)
    (tmp_path / "shop.spec.mjs").write_text(PLAYWRIGHT)
    (tmp_path / "playwright.config.mjs").write_text(CONFIG)
    found = said(tmp_path, ["npx", "playwright", "test", "--workers=1"])
    assert "1 failed" in found, found
    assert "1 passed" in found
    assert "Order grew" in found
