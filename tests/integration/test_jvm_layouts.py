"""Sizes of objects against the VM's own histogram, for each layout of each JDK.

``HEAPROOTS_JDKS`` has the folders of JDKs, separated by colons; by default those in
``/usr/lib/jvm``. One of them needs ``javac`` and ``jcmd``.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ingest.heap.read_options import ReadOptions
from ingest.readers.hprof.names import java_name
from tests.heaps import measure
from tests.integration.java import compiled

MEMORY = "-Xmx64m"


def jdks() -> list[Path]:
    """Folders of JDKs and Java runtimes."""
    named = os.environ.get("HEAPROOTS_JDKS", "")
    folders = [Path(name) for name in named.split(":") if name]
    found = folders or sorted({p.resolve() for p in Path("/usr/lib/jvm").glob("*")})
    return [folder for folder in found if (folder / "bin" / "java").is_file()]


TOOLS = [
    jdk
    for jdk in jdks()
    if all((jdk / "bin" / tool).is_file() for tool in ("javac", "jcmd"))
]
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not TOOLS,
        reason="layouts of JVMs: no JDK with javac and jcmd; see HEAPROOTS_JDKS",
    ),
]

LAYOUTS = {
    "default": [MEMORY],
    "references of 8 bytes": [MEMORY, "-XX:-UseCompressedOops"],
    "class pointers of 8 bytes": [MEMORY, "-XX:-UseCompressedClassPointers"],
    "both of 8 bytes": [
        MEMORY,
        "-XX:-UseCompressedOops",
        "-XX:-UseCompressedClassPointers",
    ],
    "alignment of 16 bytes": [MEMORY, "-XX:ObjectAlignmentInBytes=16"],
    "above 32 GiB": [MEMORY, "-XX:HeapBaseMinAddress=40g"],
    "heap of 40 GiB": ["-Xms32m", "-Xmx40g"],
    "compact headers": [MEMORY, "-XX:+UseCompactObjectHeaders"],
    "compact headers, references of 8 bytes": [
        MEMORY,
        "-XX:+UseCompactObjectHeaders",
        "-XX:-UseCompressedOops",
    ],
}

UNKNOWN = {
    "java.lang.Class": "not all class objects are dumped, and statics may be padded",
    "int[]": "the VM fills gaps with arrays, which are dumped as int[]",
    "jdk.internal.vm.FillerElement[]": "these",
    # Where one field is in a class before JDK 15 can depend on the order of all.
    "jdk.internal.loader.ClassLoaders$AppClassLoader": "a field of 4 bytes",
    "java.lang.invoke.MethodHandleNatives$CallSiteContext": "a field of 8 bytes",
}
"""What a dump does not tell, and why; besides numbers in the names of lambdas."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled program."""
    folder = tmp_path_factory.mktemp("classes")
    javac = TOOLS[0] / "bin" / "javac"
    return compiled("Layouts.java", folder, javac=javac, release=8)


def histogram(text: str) -> dict[str, tuple[int, int]]:
    """Instances and bytes of each class, from ``jcmd GC.class_histogram``."""
    rows = re.findall(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", text, re.MULTILINE)
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for count, size, name in rows:
        known = found[java_name(name.replace(".", "/"))]
        found[java_name(name.replace(".", "/"))] = (
            known[0] + int(count),
            known[1] + int(size),
        )
    return dict(found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("jdk", jdks(), ids=lambda folder: folder.name)
def test_sizes_are_those_of_the_vm(
    jdk: Path, layout: str, program: Path, tmp_path: Path
) -> None:
    java: list[str | Path] = [
        jdk / "bin" / "java",
        "-XX:+UseSerialGC",
        "-Xlog:disable",  # warnings go to standard output
        *LAYOUTS[layout],
    ]
    checked = subprocess.run([*java, "-version"], capture_output=True, check=False)
    if checked.returncode:
        pytest.skip(f"{jdk.name} has no {layout}")
    dump, jcmd = tmp_path / "heap.hprof", TOOLS[0] / "bin" / "jcmd"
    with subprocess.Popen(
        [*java, "-cp", program, "Layouts"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        pid = str(process.pid)
        by_vm = subprocess.run(
            [jcmd, pid, "GC.class_histogram", "-all"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        command: list[str | Path] = [jcmd, pid, "GC.heap_dump", "-all", dump]
        subprocess.run(command, capture_output=True, check=True)
        process.stdin.close()

    graph, _, _ = measure(str(dump), ReadOptions())

    objects = graph.type_index[: graph.object_count]
    sizes = graph.shallow_bytes[: graph.object_count]
    counts = np.bincount(objects, minlength=len(graph.type_names))
    sums = np.bincount(objects, sizes, len(graph.type_names)).astype(np.int64)
    ours: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, count, size in zip(graph.type_names, counts, sums, strict=True):
        if count:
            known = ours[name]
            ours[name] = known[0] + int(count), known[1] + int(size)
    expected = histogram(by_vm)
    differing = {
        name: (ours.get(name), expected.get(name))
        for name in ours.keys() | expected.keys()
        if ours.get(name) != expected.get(name)
        and name not in UNKNOWN
        and "$$Lambda" not in name
    }
    assert differing == {}, graph.producer
    assert len(ours) > 200
    assert "assumed" not in graph.producer
