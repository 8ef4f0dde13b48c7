"""Programs after public reports, started, captured and read as a user does.

``tests/programs/reported.toml`` has what the first screen of ``ingest info`` must say
of each; a screen is right if it says all of that and nothing of what it must not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.answers.verdict import answer, cuts_line, cuts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = Path(__file__).parents[2] / "programs"
_SUFFIXES = {"python": "hrpy", "javascript": "heapsnapshot", "java": "hprof"}
_GUAVA = ("/usr/share/java/guava.jar", "/usr/share/maven/lib/failureaccess.jar")
_TIMEOUT_S = 600


def _command(runtime: str, kind: str, folder: Path) -> list[str]:
    """How a program is started."""
    if runtime == "python":
        return [sys.executable, str(PROGRAMS / "reported.py"), kind]
    if runtime == "javascript":
        return ["node", str(PROGRAMS / "reported.js"), kind]
    classes = folder / "classes"
    if not classes.exists():
        source = str(PROGRAMS / "Reported.java")
        subprocess.run(
            ["javac", "-nowarn", "-d", str(classes), source],
            check=True,
            capture_output=True,
        )
    return ["java", "-cp", ":".join((str(classes), *_GUAVA)), "Reported", kind]


def _ingest(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ingest", *arguments],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def first_screen(runtime: str, kind: str, folder: Path) -> tuple[str, list[str]]:
    """What ``ingest info`` prints of a program, on one line, and `cuts_of` it.

    Args:
        runtime: A table of ``reported.toml``.
        kind: The program.
        folder: Where its dump is written; one that is there is read again.

    Raises:
        RuntimeError: The program does not start, or cannot be captured.
    """
    dump = folder / f"{runtime}-{kind}.{_SUFFIXES[runtime]}"
    if not dump.exists():
        process = subprocess.Popen(
            _command(runtime, kind, folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{runtime} {kind} does not start")
            how = {"javascript": ["node", "--start-inspector"], "java": ["jvm"]}
            way, *options = how.get(runtime, [runtime])
            arguments = (way, str(process.pid), *options, "-o", str(dump), "--force")
            captured = _ingest("capture", *arguments)
            if captured.returncode:
                raise RuntimeError(captured.stderr[-300:])
        finally:
            process.kill()
            process.wait()
    found = answer([dump])
    cuts = [found] if isinstance(found, str) else cuts_of(dump, found["suspects"])
    return " ".join(_ingest("info", str(dump)).stdout.split()), cuts


def wrong_of(screen: str, truth: dict[str, Any]) -> list[str]:
    """What a screen lacks, and what it says wrongly."""
    lacks = [f"lacks {one}" for one in truth["says"] if not re.search(one, screen)]
    never = truth.get("never", [])
    return lacks + [f"says {one}" for one in never if re.search(one, screen)]


def rows(only: str, folder: Path) -> Iterator[str]:
    """A line for each screen that is wrong, then one for each runtime."""
    truths = tomllib.loads((PROGRAMS / "reported.toml").read_text())
    tools = {"javascript": "node", "java": "javac"}
    for runtime, programs in truths.items():
        if shutil.which(tools.get(runtime, sys.executable)) is None:
            yield f"{runtime}: not run, {tools[runtime]} is missing"
            continue
        chosen = {kind: one for kind, one in programs.items() if only in kind}
        right, cuts = 0, list[str]()
        for kind, truth in chosen.items():
            try:
                screen, tried = first_screen(runtime, kind, folder)
                cuts += tried
                wrong = [*wrong_of(screen, truth), *filter(None, tried)]
            except (RuntimeError, subprocess.SubprocessError) as error:
                wrong = [str(error)]
            right += not wrong
            if wrong:
                yield f"  {runtime} {kind}: {'; '.join(wrong)}"
        if chosen:
            screens = f"{right} of {len(chosen)} first screens right"
            yield f"{runtime}: {screens}, {cuts_line(cuts)}"
