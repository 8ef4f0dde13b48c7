"""Where the tool keeps its files.

The platform decides (XDG on Linux); ``INGEST_HOME`` moves all of it below one
folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

_NAME = "heaproots"


@dataclass(frozen=True, slots=True)
class Places:
    """Three folders of one user.

    Attributes:
        cache: What can be fetched or compiled again: jars, kernels.
        state: What cannot: the embedded database and its password.
        config: ``config.toml``, written by the user.
    """

    cache: Path
    state: Path
    config: Path


def places() -> Places:
    """The folders as the environment has them now; none is created."""
    if home := os.environ.get("INGEST_HOME"):
        base = Path(home).expanduser().absolute()
        return Places(base / "cache", base / "state", base / "config")
    return Places(
        platformdirs.user_cache_path(_NAME, appauthor=False),
        platformdirs.user_state_path(_NAME, appauthor=False),
        platformdirs.user_config_path(_NAME, appauthor=False),
    )
