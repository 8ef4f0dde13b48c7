"""Programs that run out of memory: their dumps are added, and say what leaks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

pytestmark = pytest.mark.deep

MODULE = Path(__file__).parents[2] / "ingest/capture/python"

JAVA = """
import java.util.*;
public class Shop {
  static class Order { long[] items = new long[20]; }
  static final List<Order> ORDERS = new ArrayList<>();
  public static void main(String[] arguments) { while (true) ORDERS.add(new Order()); }
}
"""
NODE = """
class Order { constructor(n) { this.items = new Array(20).fill(n); } }
const orders = [];
function work() {
  for (let n = 0; n < 500; n++) orders.push(new Order(n));
  setImmediate(work);
}
work();
"""
PYTHON = """
import os, resource, signal, sys, time
sys.path.insert(0, sys.argv[2])
import heaproots_dump

class Order:
    def __init__(self): self.items = [1.5] * 20

ORDERS = []
heaproots_dump.install(signal.SIGUSR2, sys.argv[1] + "/python-{n}.hrpy")
used = int(open("/proc/self/statm").read().split()[0]) * 4096
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
try:
    while True:
        ORDERS.append(Order())
except MemoryError:
    resource.setrlimit(resource.RLIMIT_AS, before)
    os.kill(os.getpid(), signal.SIGUSR2)
while not os.path.exists(sys.argv[1] + "/python-1.hrpy"):
    time.sleep(0.1)
time.sleep(1)
"""


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"programs that run out of memory: no {program} on the PATH")
    note_use(program)
    return found


def run(*command: object) -> None:
    subprocess.run(
        [str(part) for part in command], timeout=300, stderr=subprocess.DEVNULL
    )


def test_programs_that_run_out_of_memory(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    javac, java, node = needed("javac"), needed("java"), needed("node")
    dumps, programs = tmp_path / "dumps", tmp_path / "programs"
    dumps.mkdir()
    programs.mkdir()
    for name, text in {"Shop.java": JAVA, "shop.js": NODE, "shop.py": PYTHON}.items():
        (programs / name).write_text(text, encoding="utf-8")
    run(javac, "-nowarn", "-d", programs, programs / "Shop.java")
    run(java, "-Xmx24m", "-XX:+HeapDumpOnOutOfMemoryError", f"-XX:HeapDumpPath={dumps}",
        "-cp", programs, "Shop")  # fmt: skip
    run(node, "--max-old-space-size=40", "--heapsnapshot-near-heap-limit=1",
        f"--diagnostic-dir={dumps}", programs / "shop.js")  # fmt: skip
    run(sys.executable, programs / "shop.py", dumps, MODULE)

    code, out, _ = ingest(
        "watch", str(dumps), "--to", str(tmp_path / "fleet"), "--once", "--every", "1",
        "--json",
    )  # fmt: skip

    assert code == 0
    answers = {
        Path(found["source"]).suffix: found
        for found in map(json.loads, out.splitlines())
    }
    assert set(answers) == {".hprof", ".heapsnapshot", ".hrpy"}
    for suffix, holder in {
        ".hprof": "Shop.ORDERS", ".heapsnapshot": "orders", ".hrpy": "ORDERS",
    }.items():  # fmt: skip
        sentence = answers[suffix]["suspects"][0]["sentence"]
        assert "Order" in sentence
        assert holder in sentence
        assert answers[suffix]["state"] == "ready"
