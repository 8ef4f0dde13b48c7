"""Whether a captured file has all its records, before success is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.errors import CaptureError, DumpError
from ingest.progress import silent
from ingest.readers import check_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.progress import Progress


def check_captured(part: Path | None, progress: Progress = silent) -> None:
    """Read all records of a captured file, before it gets its name.

    Args:
        part: The file; ``None`` for a device, which cannot be read again.
        progress: Receives the bytes read.

    Raises:
        CaptureError: it ends too early, or is not a dump.
    """
    if part is None:
        return
    try:
        check_whole(str(part), progress)
    except DumpError as error:
        why = str(error).removeprefix(f"{part}: ").partition(";")[0]
        raise CaptureError(
            f"what the program wrote is not a whole dump ({why}); nothing was kept: "
            "try again, with enough space on the disk"
        ) from error
