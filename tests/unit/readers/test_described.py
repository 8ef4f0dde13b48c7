"""Whatever values the JSON has that describes a dump, it is read, or refused."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from ingest.errors import DumpError
from tests.fuzz.seeds import SEEDS
from tests.heaps import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ODD = [
    float("inf"),
    float("nan"),
    -1,
    10**30,
    "9" * 5000,
    "x",
    None,
    True,
    [],
    {},
    [[]],
]
"""JSON can have all of them: 1e999 is infinite."""

_MOST_OF_A_LIST = 3
_FACTS = (b"HEAD", b"NAME", b"SITE", b"TYPE", b"ROOT", b"DONE")
_MAGIC_BYTES, _RECORD = 8, struct.Struct("<4sQ")


def places(value: object, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values are in a value, as keys from the outside in."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value[:_MOST_OF_A_LIST]))
    for key, inner in pairs:
        yield (*above, key)
        yield from places(inner, (*above, key))


def others(value: object) -> Iterator[object]:
    """The same with another value in each place."""
    for place in places(value):
        for odd in ODD:
            changed: Any = deepcopy(value)
            at = changed
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = odd
            yield changed


def of_v8() -> Iterator[bytes]:
    told = json.loads(SEEDS["v8"]()[0])
    for changed in others(told["snapshot"]):
        yield json.dumps(told | {"snapshot": changed}).encode()


def of_cpython() -> Iterator[bytes]:
    data = SEEDS["hrpy"]()[0]
    records, at = [], _MAGIC_BYTES
    while at < len(data):
        tag, size = _RECORD.unpack_from(data, at)
        at += _RECORD.size + size
        records.append((tag, data[at - size : at]))
    for row, (tag, body) in enumerate(records):
        for changed in others(json.loads(body)) if tag in _FACTS else ():
            told = (tag, json.dumps(changed).encode())
            parts = [*records[:row], told, *records[row + 1 :]]
            yield data[:_MAGIC_BYTES] + b"".join(
                _RECORD.pack(name, len(part)) + part for name, part in parts
            )


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("made", [of_v8, of_cpython])
def test_values_that_describe_a_dump_are_not_believed(
    made: Callable[[], Iterator[bytes]],
    tmp_path: Path,
) -> None:
    path, count = tmp_path / "dump", 0
    for data in made():
        path.write_bytes(data)
        with suppress(DumpError):
            measure(str(path))
        count += 1

    assert count > 400
