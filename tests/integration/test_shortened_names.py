"""A Java and an Android program, shortened twice, with other names each time.

ProGuard shortens the Java program, which runs and is dumped. R8 shortens the Android
program to dex, as Gradle lets it; no Android is at hand to run it, so its dump is
written, with the names that R8 gave.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dumps.hprof import BYTE, INT, OBJECT, Hprof, jdk

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not (shutil.which("javac") and shutil.which("mvn")),
        reason="shortened names: no javac or mvn on the PATH",
    ),
]

JARS = Path(__file__).parents[2] / ".test-cache" / "shorteners"
TOOLS = (
    "com.guardsquare:proguard-base:7.5.0", "com.android.tools:r8:8.5.35",
    "com.google.android:android:4.1.1.4",
)  # fmt: skip
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>
<artifactId>shorteners</artifactId><version>1</version><repositories><repository>
<id>google</id><url>https://maven.google.com</url></repository></repositories>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    "</dependency>"
)

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


ANDROID = """package shop;
import android.app.Activity;
import android.os.Bundle;
import java.util.*;
public class MainActivity extends Activity {
    private final Cart cart = new Cart();
    @Override public void onCreate(Bundle saved) {
        Tracker.OPEN.add(this);
        cart.add(saved == null ? "new" : saved.getString("item"));
    }
}
class Cart {
    private final List<Item> items = new ArrayList<>();
    void add(String title) { items.add(new Item(title)); }
}
class Item {
    final String title; final byte[] image = new byte[900];
    Item(String title) { this.title = title; }
}
class Tracker { static final List<Activity> OPEN = new ArrayList<>(); }
"""
ANDROID_RULES = """
-keep public class * extends android.app.Activity
-keep,allowobfuscation class shop.** { *; }
-dontoptimize
-dontwarn **
-keepattributes SourceFile,LineNumberTable
-obfuscationdictionary words
-classobfuscationdictionary words
"""


def ran(*words: str, folder: Path) -> str:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def jars() -> Path:
    """ProGuard, R8 and the classes of Android, with what they need, by Maven."""
    if not JARS.exists():
        JARS.parent.mkdir(exist_ok=True)
        pom, part = JARS.with_suffix(".xml"), JARS.with_suffix(".part")
        named = (DEPENDENCY.format(*tool.split(":")) for tool in TOOLS)
        pom.write_text(POM.format("".join(named)), encoding="utf-8")
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
             f"-DoutputDirectory={part}"],
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip("shortened names: Maven cannot fetch ProGuard and R8")
        part.rename(JARS)
    return JARS


def build(folder: Path, number: int, rules: str) -> Path:
    """A folder with rules, and a dictionary of its own."""
    made = folder / str(number)
    made.mkdir()
    words = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    random.Random(number).shuffle(words)
    (made / "words").write_text("\n".join(words), encoding="utf-8")
    (made / "rules").write_text(rules, encoding="utf-8")
    return made


def archive(folder: Path, name: str, source: str, *options: str) -> None:
    """Compile a source into ``in.jar``."""
    (folder / name).write_text(source, encoding="utf-8")
    ran("javac", "-nowarn", "-g", *options, "-d", "classes", name, folder=folder)
    ran("jar", "cf", "in.jar", "-C", "classes", ".", folder=folder)


def java_builds(folder: Path, jars: Path) -> None:
    """Two builds of the Java program: ``mapping.txt`` and ``dump.hprof``."""
    archive(folder, "Main.java", PROGRAM, "--release", "11")
    for number in (1, 2):
        made = build(folder, number, RULES)
        tool = "java", "-cp", f"{jars}/*", "proguard.ProGuard"
        ran(*tool, f"@{number}/rules", folder=folder)
        dump = str(made / "dump.hprof")
        ran("java", "-cp", f"{number}/out.jar", "app.Main", dump, folder=folder)


def android_builds(folder: Path, jars: Path) -> None:
    """Two builds of the Android program, likewise, and ``original.hprof``."""
    android = next(jars.glob("android-4*.jar"))
    archive(folder, "MainActivity.java", ANDROID, "--release", "8", "-cp", str(android))
    (folder / "original.hprof").write_bytes(android_heap({}))
    for number in (1, 2):
        made = build(folder, number, ANDROID_RULES)
        ran(
            "java", "-cp", f"{jars}/*", "com.android.tools.r8.R8", "--release",
            "--min-api", "21", "--lib", str(android), "--pg-conf", "rules",
            "--pg-map-output", "mapping.txt", "--output", "out.zip", "../in.jar",
            folder=made,
        )  # fmt: skip
        names = shortened((made / "mapping.txt").read_text(encoding="utf-8"))
        assert "shop.Cart" in names
        (made / "dump.hprof").write_bytes(android_heap(names))


def shortened(mapping: str) -> dict[str, str]:
    """Short names of classes, and of fields as ``Class.field``."""
    names, owner = {}, ""
    for line in mapping.splitlines():
        if found := re.fullmatch(r"(\S+) -> (\S+):", line):
            owner = found[1]
            names[owner] = found[2]
        elif found := re.fullmatch(r"\s+\S+ (\w+) -> (\w+)", line):
            names[f"{owner}.{found[1]}"] = found[2]
    return names


def android_heap(names: dict[str, str]) -> bytes:
    """A dump of ART of three activities that `Tracker` still has, with short names."""

    def of(name: str) -> str:
        return names.get(f"shop.{name}", f"shop.{name}").replace(".", "/")

    def field(name: str) -> str:
        return names.get(f"shop.{name}", name.partition(".")[2])

    dump = jdk("1.0.3", 4)
    dump.space(65, "app")
    array = {"elementData": OBJECT, "size": INT}
    dump.cls("java/util/ArrayList", 0x3000, "java/lang/Object", array)
    activity = {"mDestroyed": 4}
    dump.cls("android/app/Activity", 0x3010, "java/lang/Object", activity)
    cart, items = field("MainActivity.cart"), field("Cart.items")
    title, image = field("Item.title"), field("Item.image")
    main = of("MainActivity")
    dump.cls(main, 0x3020, "android/app/Activity", {cart: OBJECT})
    dump.cls(of("Cart"), 0x3030, "java/lang/Object", {items: OBJECT})
    both = {title: OBJECT, image: OBJECT}
    dump.cls(of("Item"), 0x3040, "java/lang/Object", both)
    static: dict[str, tuple[int, float]] = {field("Tracker.OPEN"): (OBJECT, 0x10000)}
    dump.cls(of("Tracker"), 0x3050, "java/lang/Object", statics=static)
    list_(dump, 0x10000, [0x20000 + 0x10000 * n for n in range(3)])
    for at in range(0x20000, 0x50000, 0x10000):
        dump.obj(at, main, mDestroyed=1, **{cart: at + 16})
        dump.obj(at + 16, of("Cart"), **{items: at + 32})
        rows = range(at + 0x100, at + 0x3000, 0x20)
        list_(dump, at + 32, rows)
        for row in rows:
            dump.obj(row, of("Item"), **{image: row + 16})
            dump.numbers(row + 16, BYTE, bytes(900))
    for class_id in dump.classes.values():
        dump.root(5, class_id)
    return dump.bytes()


def list_(dump: Hprof, address: int, items: range | list[int]) -> None:
    """An `ArrayList` and its array."""
    dump.obj(address, "java/util/ArrayList", elementData=address + 8, size=len(items))
    dump.array(address + 8, "[Ljava/lang/Object;", items)


def info(dump: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ingest", "info", str(dump), "--json", *options],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def first_screens(folder: Path) -> list[dict[str, object]]:
    """What is said of both builds; the mapping of another one is refused."""
    found = []
    for number in (1, 2):
        dump = folder / str(number) / "dump.hprof"
        mappings = [str(folder / str(n) / "mapping.txt") for n in (number, 3 - number)]
        found.append(json.loads(info(dump, "--mapping", mappings[0]).stdout))
        wrong = info(dump, "--mapping", mappings[1])
        assert wrong.returncode == 3
        assert wrong.stderr.count("\n") == 1
        assert "belongs to another" in wrong.stderr
    return found


def suspects(screen: dict[str, object]) -> list[dict[str, str]]:
    rows = screen["suspects"]
    assert isinstance(rows, list)
    assert rows
    return rows


def test_two_builds_of_a_java_program_are_one(tmp_path: Path, jars: Path) -> None:
    java_builds(tmp_path, jars)

    first, second = (suspects(one)[0] for one in first_screens(tmp_path))

    assert "app.Main$Order" in first["type"]
    assert "static field Main.PENDING" in first["sentence"]
    assert first["fingerprint"] == second["fingerprint"]


def test_an_android_program_is_as_if_it_had_never_been_shortened(
    tmp_path: Path, jars: Path
) -> None:
    android_builds(tmp_path, jars)
    original = json.loads(info(tmp_path / "original.hprof").stdout)

    builds = first_screens(tmp_path)

    assert any("Tracker.OPEN" in one["sentence"] for one in suspects(original))
    for build in builds:
        assert suspects(build) == suspects(original)
        assert build["types"] == original["types"]
