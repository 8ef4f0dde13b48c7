"""``make neo4j-lock VERSION=...``: ship another Neo4j; and which newer ones there are.

The lock of a version takes the place of that of its line, which is 5.26 (long-term
support) or the calendar versions, here and wherever the old version is named. Its jars
are resolved and downloaded anew, for their digests.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.server import artifacts
from ingest.system.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUT = Path(__file__).parents[1]
LOCKS = CHECKOUT / "ingest" / "server" / "locks"
_NAME = re.compile(r"neo4j-(.*)\.lock\.toml")


def line_of(version: str) -> str:
    """``5.26``, or ``calendar``."""
    return "5.26" if version.startswith("5.26.") else "calendar"


def shipped() -> dict[str, str]:
    """The version of each line."""
    found = (_NAME.fullmatch(path.name) for path in LOCKS.iterdir())
    return {line_of(one[1]): one[1] for one in found if one}


def write(version: str) -> int:
    """Ship a version; returns the number of its jars."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["INGEST_HOME"] = home
        url = settings().maven_url
        lock = artifacts.lock_for(version, _say, maven_url=url)
        made = Path(home) / "cache" / "locks" / f"neo4j-{version}.lock.toml"
        text = made.read_text(encoding="utf-8")
    old = shipped().get(line_of(version))
    (LOCKS / made.name).write_text(text, encoding="utf-8")
    if old is not None and old != version:
        (LOCKS / f"neo4j-{old}.lock.toml").unlink()
        _rename(old, version)
    return len(lock.artifacts)


def _rename(old: str, new: str) -> None:
    """Name a version wherever the old one is named."""
    listed = subprocess.run(
        ["git", "grep", "-lIF", old, "--", ".", ":!CHANGELOG.md"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    for name in listed.splitlines():
        path = CHECKOUT / name
        if path.parent != LOCKS and path.exists():
            text = path.read_text(encoding="utf-8")
            whole = rf"(?<![\d.]){re.escape(old)}(?![\d]|\.\d)"
            path.write_text(re.sub(whole, new, text), encoding="utf-8")


def newer(is_there: Callable[[str], bool]) -> dict[str, str]:
    """The newest version of each line that is newer than the shipped one.

    The repository's own list of versions may be weeks behind, so they are tried: the
    next patches, and the next months.

    Args:
        is_there: Whether the repository has a version.
    """
    found = {}
    for line, here in shipped().items():
        newest = here
        while version := next(filter(is_there, _next(newest)), None):
            newest = version
        if newest != here:
            found[line] = newest
    return found


def _next(version: str) -> list[str]:
    """Versions that may follow one: some may never have been published."""
    major, minor, patch = map(int, version.split("."))
    patches = [f"{version.rpartition('.')[0]}.{patch + step}" for step in (1, 2, 3)]
    if line_of(version) == "5.26":
        return patches
    months = [divmod(12 * major + minor - 1 + step, 12) for step in (1, 2, 3)]
    return [*patches, *(f"{year}.{month + 1:02}.0" for year, month in months)]


def _is_there(version: str) -> bool:
    import requests

    pom = artifacts.Artifact("org.neo4j", "neo4j", version, "", "pom")
    url = f"{settings().maven_url.rstrip('/')}/{pom.path}"
    answer = requests.head(url, timeout=60, allow_redirects=True)
    if answer.status_code not in (200, 404):
        answer.raise_for_status()
    return answer.status_code == 200


def _say(stage: str, done: int, total: int | None) -> None:
    if not done:
        sys.stderr.write(f"{stage}{f': {total} jars' if total else ''}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?")
    parser.add_argument("--newer", action="store_true")
    asked = parser.parse_args()
    if asked.newer:
        for version in newer(_is_there).values():
            # GitHub shows such a line with the run.
            sys.stdout.write(
                f"::notice::Neo4j {version} is there: "
                f"make neo4j-lock VERSION={version}\n"
            )
        return
    if not asked.version:
        parser.error("name a version: make neo4j-lock VERSION=5.26.31")
    sys.stdout.write(f"Neo4j {asked.version}: {write(asked.version)} jars\n")


if __name__ == "__main__":
    main()
