"""Objects that were born or died between two dumps.

.NET traces record the moves of collections, so the address at which a collection first
recorded an object identifies it in all dumps of the trace. Of objects of Ruby, address
and generation do; those of Mono have numbers that follow their moves. Dart dumps have
identity hash codes of those objects whose code the program asked for. V8 numbers
objects as it first sees them; another process, or the same one after its inspector was
closed, gives these numbers to other objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ingest.analysis.fingerprints import normalised_type
from ingest.runtimes import named
from ingest.tables.processes import LEAST_OF_TYPES, SharedIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.dumps import ComparedDump

_KEY = ("first", "second")
_SUMS = ("survived", "born", "died")


@dataclass(frozen=True, slots=True)
class Lived:
    """How many objects of a type, or on a path, survived, were born or died.

    Attributes:
        key: The normalised type, or the fingerprint of the path.
        survived: Objects in both dumps, and their bytes in the last one.
        born: Objects of the last dump that the first one does not have, and bytes.
        died: Objects of the first dump that the last one does not have, and bytes.
    """

    key: str
    survived: tuple[int, int]
    born: tuple[int, int]
    died: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Lives:
    """Which objects with an identity survived, were born or died.

    Attributes:
        first, last: Names of the dumps.
        known: Objects with an identity in each of the two.
        reachable: All reachable objects of each dump.
        types: By type, sorted by bytes born minus bytes died, the most first.
        paths: The same by dominator path, for the objects at its end.
    """

    first: str
    last: str
    known: tuple[int, int]
    reachable: tuple[int, int]
    types: tuple[Lived, ...]
    paths: tuple[Lived, ...]


def lives(first: ComparedDump, last: ComparedDump) -> Lives | None:
    """Which objects were born and which died between two dumps.

    Returns:
        ``None`` if no object is known in both dumps, as in formats without identity or
        in dumps of two processes.
    """
    before, after = first.objects, last.objects
    if before is None or after is None or _process(first) != _process(last):
        return None
    if _process(first) is None and not _are_of_one_process(before, after):
        return None
    # An object with a lasting id may change its type: a node of a page that was
    # detached, a plain object with one more property.
    by = _KEY[:1] if _ids_last(first, last) else _KEY
    parts = (
        (last, "survived", after.join(before, on=by, how="semi")),
        (last, "born", after.join(before, on=by, how="anti")),
        (first, "died", before.join(after, on=by, how="anti")),
    )
    return Lives(
        first.name,
        last.name,
        (before.height, after.height),
        (first.reachable_count, last.reachable_count),
        _summed([_by_type(dump, name, frame) for dump, name, frame in parts]),
        _summed([_by_path(dump, name, frame) for dump, name, frame in parts]),
    )


def why_unknown(first: ComparedDump, last: ComparedDump) -> str | None:
    """Why `lives` knows nothing about dumps whose ids last.

    Returns:
        A sentence; ``None`` for dumps of other runtimes, and for dumps compared without
        their objects.
    """
    if first.objects is None or last.objects is None:
        return None
    if not _ids_last(first, last):
        return None
    return (
        f"Which objects of {first.name} are still in {last.name} is not known: nothing "
        "shows that their ids are of one numbering. Each process numbers its objects "
        "anew, and V8 also once an inspector has disconnected."
    )


def _ids_last(*dumps: ComparedDump) -> bool:
    return all(named(dump.runtime).identified_by for dump in dumps)


def _are_of_one_process(before: pl.DataFrame, after: pl.DataFrame) -> bool:
    """Whether the identities of two dumps name the same objects."""
    if "text" in before.columns and "text" in after.columns:
        return _evidence(before, after).is_of_one_numbering
    first = [frame.select("first").unique() for frame in (before, after)]
    known = first[1].join(first[0], on="first", how="semi").height
    return after.join(before, on=_KEY, how="semi").height > LEAST_OF_TYPES * known


def _evidence(before: pl.DataFrame, after: pl.DataFrame) -> SharedIds:
    """What the objects of two dumps with lasting ids have in common."""
    columns = ("first", "second", "text")
    both = after.select(columns).join(
        before.select(columns), on="first", suffix="_then"
    )
    is_text = (pl.col("text") != 0) & (pl.col("text_then") != 0)
    counts = both.select(
        pl.len(),
        types=(pl.col("second") == pl.col("second_then")).sum(),
        texts=is_text.sum(),
        equal_texts=(is_text & (pl.col("text") == pl.col("text_then"))).sum(),
    )
    return SharedIds(*counts.row(0))


def _process(dump: ComparedDump) -> str | None:
    """A key that is equal for dumps with comparable objects; ``None`` if unknown."""
    return None if dump.identity is None else dump.identity.trace


def _sums(frame: pl.DataFrame, name: str, by: str) -> pl.DataFrame:
    """Objects and bytes of each row of a table."""
    return frame.group_by(pl.col(by).cast(pl.Int32)).agg(
        pl.len().cast(pl.Int64).alias(name),
        pl.sum("shallow_bytes").alias(f"{name}_bytes"),
    )


def _by_type(dump: ComparedDump, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    keys = dump.types.select(
        "type",
        key=pl.col("name").map_elements(normalised_type, return_dtype=pl.String),
    )
    return _sums(frame, name, "type").join(keys, on="type").drop("type")


def _by_path(dump: ComparedDump, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    keys = dump.paths.select("path", key="fingerprint")
    return _sums(frame, name, "path").join(keys, on="path").drop("path")


def _summed(parts: Sequence[pl.DataFrame]) -> tuple[Lived, ...]:
    """One row for each key."""
    found = (
        pl.concat(parts, how="diagonal")
        .group_by("key")
        .agg(pl.all().sum())
        .sort(pl.col("died_bytes") - pl.col("born_bytes"), "key")
    )
    return tuple(
        Lived(row["key"], *((row[name], row[f"{name}_bytes"]) for name in _SUMS))
        for row in found.iter_rows(named=True)
    )
