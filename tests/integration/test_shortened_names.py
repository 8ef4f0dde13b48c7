"""A Java program that ProGuard shortens twice, with other names each time."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest

from ingest.system.settings import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not shutil.which("javac"), reason="no Java compiler"),
]

PROGRAM = """package app;
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.*;
public class Main {
    static final List<Order> PENDING = new ArrayList<>();
    static class Order {
        String id; Line[] lines;
        Order(int n) { id = "order " + n; lines = new Line[] { new Line(n) }; }
    }
    static class Line {
        long sku; byte[] image = new byte[600];
        Line(int n) { sku = n; }
    }
    public static void main(String[] args) throws Exception {
        for (int n = 0; n < 3000; n++) PENDING.add(new Order(n));
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
            .dumpHeap(args[0], true);
        System.out.println(PENDING.get(0).id + PENDING.get(0).lines[0].image.length);
    }
}
"""
RULES = """
-injars ../in.jar
-outjars out.jar
-ignorewarnings
-dontwarn **
-dontnote **
-dontoptimize
-dontshrink
-keepattributes LineNumberTable
-keep class app.Main { public static void main(java.lang.String[]); }
-obfuscationdictionary words
-classobfuscationdictionary words
-printmapping mapping.txt
"""
PROGUARD = "net/sf/proguard/proguard-base/6.2.2/proguard-base-6.2.2.jar"


def ran(*words: str, folder: Path) -> str:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Two builds of the program: folders with ``mapping.txt`` and ``dump.hprof``."""
    (tmp_path / "Main.java").write_text(PROGRAM, encoding="utf-8")
    ran("javac", "-g", "--release", "11", "-d", "classes", "Main.java", folder=tmp_path)
    ran("jar", "cf", "in.jar", "-C", "classes", ".", folder=tmp_path)
    url = f"{settings().maven_url}/{PROGUARD}"
    with urllib.request.urlopen(url, timeout=60) as response:
        (tmp_path / "proguard.jar").write_bytes(response.read())
    for number in (1, 2):
        build = tmp_path / str(number)
        build.mkdir()
        words = [a + b for a in "abcdefgh" for b in "abcdefgh"]
        random.Random(number).shuffle(words)
        (build / "words").write_text("\n".join(words), encoding="utf-8")
        (build / "rules").write_text(RULES, encoding="utf-8")
        ran("java", "-jar", "proguard.jar", f"@{number}/rules", folder=tmp_path)
        dump = str(build / "dump.hprof")
        ran("java", "-cp", f"{number}/out.jar", "app.Main", dump, folder=tmp_path)
    return tmp_path


def test_two_builds_are_one_program(built: Path) -> None:
    def info(build: int, mapping: int) -> subprocess.CompletedProcess[str]:
        dump, names = built / str(build), built / str(mapping) / "mapping.txt"
        words = "info", str(dump / "dump.hprof"), "--mapping", str(names), "--json"
        return subprocess.run(
            [sys.executable, "-m", "ingest", *words],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    first, second = (json.loads(info(n, n).stdout)["suspects"][0] for n in (1, 2))

    assert "app.Main$Order" in first["type"]
    assert "static field Main.PENDING" in first["sentence"]
    assert first["fingerprint"] == second["fingerprint"]
    wrong = info(1, 2)
    assert wrong.returncode == 3
    assert wrong.stderr.count("\n") == 1
    assert "belongs to another" in wrong.stderr
