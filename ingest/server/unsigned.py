"""Copies of jars without their signatures.

Java takes no class of a signed jar into a class archive, nor one that extends such a
class; it reads the manifest with a digest of each file, and computes the digest of each
class that it loads. With copies of two jars a server starts in two thirds of the time.
The jars were verified by the digest of the whole when they were downloaded.

Source: Java's manual, ``java`` command, "Application Class Data Sharing"; JAR File
Specification, "Signed JAR File".
"""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

from ingest.files import replaced_file

if TYPE_CHECKING:
    from pathlib import Path

_MANIFEST = "META-INF/MANIFEST.MF"
_OF_SIGNATURES = (".SF", ".RSA", ".DSA", ".EC")
_CHANGED_S = 315_532_800
"""When every copy was last changed: 1980. A class archive fits only jars of the same
time, and a copy that is made again has the same content."""


def copy_unsigned(jar: Path, copy: Path) -> bool:
    """Copy a jar without its signatures, and the digests in its manifest.

    Args:
        jar: The jar.
        copy: What is made, or replaced; so are its folders.

    Returns:
        Whether it could be made.
    """
    with suppress(OSError, zipfile.BadZipFile):
        copy.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(jar) as source, replaced_file(copy, private=True) as file:
            with zipfile.ZipFile(file, "w") as made:
                _copy(source, made)
            file.flush()
            os.utime(file.fileno(), (_CHANGED_S, _CHANGED_S))
        return True
    return False


def _copy(source: zipfile.ZipFile, made: zipfile.ZipFile) -> None:
    for entry in source.infolist():
        if _is_of_signature(entry.filename):
            continue
        content = source.read(entry)
        if entry.filename == _MANIFEST:  # each file has a section of its own
            content = content.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n\n"
        made.writestr(entry, content, zipfile.ZIP_DEFLATED, 1)


def _is_of_signature(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return folder == "META-INF" and file.upper().endswith(_OF_SIGNATURES)
