"""Compiled kernels: one decorator, one cache, and whether it is still cold.

numba compiles a kernel at its first call and keeps the machine code in the
user's cache folder, keyed by source file and machine, so that a read-only
install works and two processes may compile at once (each index is replaced
atomically). Import this module before ``numba`` itself.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ingest import __version__
from ingest.places import places

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    F = TypeVar("F", bound=Callable[..., Any])

    # Types of kernel arguments; a number's own type is numba's to infer.
    Number = Any
    Bools = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Ids = NDArray[np.uint64]
    Numbers = NDArray[np.generic]

_PACKAGE = Path(__file__).parent


def _sources() -> list[Path]:
    return sorted([*_PACKAGE.glob("readers/**/*.py"), *_PACKAGE.glob("analysis/*.py")])


def _cache_folder() -> Path:
    """The kernels' folder; a temporary one where the cache cannot be written."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    folder = places().cache / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="heaproots-kernels-"))


def _marker() -> Path:
    """A file that exists once every kernel of this version is in the cache."""
    stamp = hashlib.sha256(f"{__version__} {metadata.version('numba')}".encode())
    for source in _sources():
        about = source.stat()
        stamp.update(f"{source} {about.st_size} {about.st_mtime_ns}".encode())
    return _CACHE / f"warm-{stamp.hexdigest()[:16]}"


_CACHE = _cache_folder()
os.environ["NUMBA_CACHE_DIR"] = str(_CACHE)


def is_cold() -> bool:
    """Whether the next use of the kernels has to compile them first."""
    return not _marker().exists()


def mark_warm() -> None:
    """Remember that all kernels are compiled; call after they have all run."""
    _marker().touch()


def kernel(function: F) -> F:
    """Compile ``function`` with numba: cached, and without the GIL."""
    import numba

    compiled: F = numba.njit(cache=True, nogil=True)(function)
    return compiled
