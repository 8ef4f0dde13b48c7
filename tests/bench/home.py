"""The folder of the bench, and a home of its own for what the tool keeps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ingest.system.places import places

HOME = Path(__file__).parents[2] / ".bench"


def fresh_home() -> None:
    """A home of the bench's own with an empty store, and the jars of the user's."""
    jars, home = places().cache / "maven", HOME / "home"
    shutil.rmtree(home / "state", ignore_errors=True)
    (home / "cache").mkdir(parents=True, exist_ok=True)
    if jars.exists() and not (home / "cache" / "maven").exists():
        (home / "cache" / "maven").symlink_to(jars, target_is_directory=True)
    os.environ["INGEST_HOME"] = str(home)
