"""Folders of the tool.

They are the platform's (XDG on Linux), or all below ``INGEST_HOME`` if it is set.
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
        cache: Files that can be downloaded or compiled again: jars, kernels.
        state: The embedded database and its password.
        config: ``config.toml``, written by the user.
    """

    cache: Path
    state: Path
    config: Path


def variable(name: str) -> str | None:
    """An environment variable; ``None`` if it is not set or only blanks.

    Nobody means a folder or an address of blanks: it is what a script makes of a
    variable that it lacks.
    """
    value = os.environ.get(name, "")
    return value if value.strip() else None


def places() -> Places:
    """Return the folders for the current environment, without creating them.

    Raises:
        OSError: The user has no home, as in some containers.
    """
    try:
        if home := variable("INGEST_HOME"):
            base = Path(home).expanduser().absolute()
            return Places(base / "cache", base / "state", base / "config")
        return Places(
            platformdirs.user_cache_path(_NAME, appauthor=False),
            platformdirs.user_state_path(_NAME, appauthor=False),
            platformdirs.user_config_path(_NAME, appauthor=False),
        )
    except RuntimeError as error:
        raise OSError(
            "this user has no home folder: set INGEST_HOME to a folder, such as "
            "/tmp/heaproots"
        ) from error
