"""Objects that are known in two dumps: which were born between them, and which died.

.NET traces record the moves of collections, so an object has the address at which a
collection first recorded it in all dumps of the trace. Dart dumps have the identity
hash codes of objects that were asked for one. V8 numbers objects as it first sees them:
two processes, and one whose inspector was closed meanwhile, give a number to objects of
different types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ingest.analysis.fingerprints import normalised_type
from ingest.runtimes import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.compare.dumps import ComparedDump

_KEY = ("first", "second")
_LEAST_ALIKE = 0.9
"""Share of the identities in both dumps that belong to objects of one type, from which
on the dumps are taken to be of one process."""
_SUMS = ("survived", "born", "died")


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of the objects of a type, or of those on a path.

    Attributes:
        key: The normalised type, or the fingerprint of the path.
        survived: Objects that both dumps have, and their bytes in the last one.
        born: Objects of the last dump that the first one does not have, and bytes.
        died: Objects of the first dump that the last one does not have, and bytes.
    """

    key: str
    survived: tuple[int, int]
    born: tuple[int, int]
    died: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Lives:
    """What became of the objects that are known by identity.

    Attributes:
        first, last: Names of the dumps.
        known: Objects with an identity in each of the two.
        reachable: All reachable objects of each.
        types: By type, those with the most bytes born and not died first.
        paths: The same by dominator path; the objects at the end of each.
    """

    first: str
    last: str
    known: tuple[int, int]
    reachable: tuple[int, int]
    types: tuple[Lived, ...]
    paths: tuple[Lived, ...]


def lives(first: ComparedDump, last: ComparedDump) -> Lives | None:
    """Who was born and who died between two dumps.

    Returns:
        ``None`` where no object is known in both: of formats without identity, and of
        two processes.
    """
    before, after = first.objects, last.objects
    if before is None or after is None or _process(first) != _process(last):
        return None
    survived = after.join(before, on=_KEY, how="semi")
    if survived.height <= _LEAST_ALIKE * _known_in_both(before, after):
        return None
    parts = (
        (last, "survived", survived),
        (last, "born", after.join(before, on=_KEY, how="anti")),
        (first, "died", before.join(after, on=_KEY, how="anti")),
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
    """Why `lives` knows nothing of dumps whose objects have ids for good.

    Returns:
        A sentence; ``None`` for dumps of other runtimes, and for those that were
        compared without their objects.
    """
    if first.objects is None or last.objects is None:
        return None
    if not (named(first.runtime).ids_last and named(last.runtime).ids_last):
        return None
    return (
        f"Which objects of {first.name} are still in {last.name} is not known: their "
        "ids are of two numberings. V8 numbers objects anew in another process, and "
        "once an inspector has disconnected."
    )


def _known_in_both(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """How many identities two dumps have in common, whatever their types are."""
    first = [frame.select("first").unique() for frame in (before, after)]
    return first[1].join(first[0], on="first", how="semi").height


def _process(dump: ComparedDump) -> str | None:
    """What must be equal for objects to be comparable; ``None`` if it is not known."""
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
