"""Inputs that are no dumps, or are not only read: mappings, source maps, redactions."""

from __future__ import annotations

import atexit
import importlib
import os
import tempfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ingest.errors import DumpError
from ingest.heap.read_options import DEFAULTS
from ingest.heap.redaction import Redaction
from ingest.progress import silent
from ingest.readers import format_of, open_source, read
from ingest.readers.shared.original_names import OriginalNames, Renaming
from ingest.readers.v8.functions import ScriptFunctions
from ingest.readers.v8.source_map import SourceMaps
from ingest.readers.v8.variables import Variables
from ingest.redact import FORMATS
from ingest.redact.rules import RedactionRules
from tests.fuzz.seeds import SEEDS, seeds_of
from tests.unit.readers.test_minified_variables import CASES, marked
from tests.unit.readers.test_original_names import FIRST, SECOND, mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph
    from ingest.redact.rules import Redactor

_SCRIPT = b"\n//# the script\n"
"""Between a map and its script."""

_PACKAGES = {"dartheap": "dart"}
_RULES = RedactionRules(Redaction(("app*",), "salt"), ("*.name",), "0" * 64)


@cache
def _file(suffix: str) -> Path:
    """A file of this process, for what is read by its name."""
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    number, name = tempfile.mkstemp(suffix, "fuzz", folder)
    os.close(number)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)


def _mapping(data: bytes) -> None:
    path = _file(".txt")
    path.write_bytes(data)
    renaming = Renaming(OriginalNames(path))
    for name in ("a.b", "a.a[]", "x.q$$Lambda/1", "x.z", "c", ""):
        renaming.class_name(name)
        for short in "abefgh":
            renaming.field_name(name, short, 2)
            renaming.frame(name, short, "r8-map-id-0af3", 3)
    renaming.check()


def _mapping_seeds() -> list[bytes]:
    return [mapping(names, "0af3").encode() for names in (FIRST, SECOND)]


def _source_map(data: bytes) -> None:
    content, _, script = data.partition(_SCRIPT)
    path = _file(".js.map")
    path.write_bytes(content)
    known = SourceMaps(path).of(path.name.removesuffix(".map"))
    if known is None:  # it names another script
        return
    for column in (0, 9, 40, 1 << 31):
        known.original(0, column)
        known.function_name("f", 0, column)
    columns = np.arange(-1, 120, 7)
    try:
        found = ScriptFunctions(script.decode("utf-8", "replace"))
        found.may_begin(np.zeros_like(columns), columns)
        Variables(found, known).names(np.zeros_like(columns), columns, ["e", "i"])
    except ValueError:
        return


def _source_map_seeds() -> list[bytes]:
    import json

    made = [marked(text) for text, _ in CASES.values()]
    return [
        json.dumps(found).encode() + _SCRIPT + text.encode() for text, found, _ in made
    ]


def _read(path: Path) -> HeapGraph | None:
    """The heap of a file; ``None`` if it cannot be read."""
    with open_source(str(path)) as source, suppress(DumpError):
        return read(source, DEFAULTS, silent)
    return None


def _redact(name: str, data: bytes) -> None:
    dump, copy = _file(".dump"), _file(".copy")
    dump.write_bytes(data)
    with open_source(str(dump)) as source:
        if format_of(source).name != name:
            return
    before = _read(dump)
    redactor = cast("Redactor", importlib.import_module(f"ingest.redact.{name}").redact)
    with copy.open("wb") as file:

        def write(piece: memoryview) -> None:
            file.write(piece)

        told = redactor(str(dump), _RULES, write, silent)
    if before is None:
        return
    after = _read(copy)
    assert after is not None, "the copy cannot be read"
    if not told.is_cut and not told.unread_bytes and not before.irregularities:
        assert after.object_count == before.object_count, "the copy has other objects"
        assert len(after.ref_target) == len(before.ref_target), "other references"


OTHERS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "mapping": (_mapping, _mapping_seeds),
    "source-map": (_source_map, _source_map_seeds),
    **{
        f"redact-{name}": (partial(_redact, name), SEEDS[_PACKAGES.get(name, name)])
        for name in FORMATS
    },
}
"""What reads an input, and seeds of inputs, by names for ``--format``."""


def all_seeds(package: str) -> list[bytes]:
    """Seeds of a format, or of another kind of input."""
    return OTHERS[package][1]() if package in OTHERS else seeds_of(package)
