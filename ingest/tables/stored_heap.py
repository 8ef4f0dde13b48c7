"""A heap made again from its tables, as far as a search for paths and cuts needs it.

The tables are those beside the embedded server, or those of
``ingest export --for parquet``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.arrays.compiled import kernel
from ingest.errors import DumpError, IngestError
from ingest.heap.graph import (
    NO_FIELD,
    Domain,
    HeapGraph,
    RefKind,
    RootFlag,
    RootKind,
    starts_type,
)
from ingest.heap.identity import Identity
from ingest.runtimes import NAMES
from ingest.system.memory import in_ranges
from ingest.tables.dump_properties import EXPORTED

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints, Starts
    from ingest.tables.mapping import Tables

_NEEDED = ("objects", "types", "roots", "references")

_MANY_REFERENCES = 1 << 20
"""With at least so many references, two processors look for starts."""


@dataclass(frozen=True, slots=True)
class StoredAbout:
    """What the tables of a dump say of it.

    Attributes:
        format: Name of its format.
        runtime: Name of the runtime whose heap it is; empty if that is not known.
        identity: Identifies the dump and its file.
        name: Name of the dump.
        source: Name of its file.
        strength: The policy of strengths under which it was measured.
        is_redacted: Whether its values were removed.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.
    """

    format: str
    runtime: str
    identity: Identity
    name: str
    source: str
    strength: str
    is_redacted: bool
    incomplete: str


def about_export(folder: Path) -> StoredAbout:
    """Tell which dump ``ingest export --for parquet`` wrote to a folder.

    Raises:
        DumpError: The tables do not tell, or cannot be read.
    """
    path = folder / f"{EXPORTED.name}.parquet"
    if not path.is_file():
        raise DumpError(
            f"it has no {path.name}, so it does not tell what dump it is of; export "
            "it again",
            path=folder,
        )
    columns = (
        "format", "runtime", "sha256", "trace", "part", "name", "source",
        "strength_policy", "redacted", "incomplete",
    )  # fmt: skip
    try:
        frame = pl.read_parquet(path, glob=False)
        # Earlier versions did not tell whether a dump is complete.
        if "incomplete" not in frame.columns:
            frame = frame.with_columns(incomplete=pl.lit(None))
        frame = frame.select(columns)
        frame = frame.cast({name: EXPORTED.schema[name] for name in columns})
        ((form, runtime, sha256, trace, part, name, source, *rest),) = frame.rows()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise DumpError(f"{path.name} cannot be read: {why}", path=folder) from error
    if form is None or sha256 is None:
        raise DumpError(f"{path.name} tells no format or no digest", path=folder)
    if (runtime or "") not in NAMES:
        raise DumpError(f"{path.name} tells an unknown runtime: {runtime}", path=folder)
    identity = Identity(sha256, trace, part)
    return StoredAbout(
        form, runtime or "", identity, name or "", source or "",
        rest[0] or "", bool(rest[1]), rest[2] or "",
    )  # fmt: skip


def stored_heap(
    tables: Tables, format_name: str, runtime: str, incomplete: str = ""
) -> HeapGraph:
    """The objects, types, references and roots of stored tables.

    Values, domains, segments and collections are not read. Memory: that of the stored
    heap.

    Args:
        tables: The tables.
        format_name: Name of the dump's format.
        runtime: Name of the runtime whose heap it is; empty if that is not known.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.

    Raises:
        IngestError: The tables contradict one another.
    """
    try:
        return _heap(tables, format_name, runtime, incomplete)
    except (pl.exceptions.PolarsError, OSError, IndexError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise IngestError(f"the tables of the dump cannot be read: {why}") from error


def _heap(tables: Tables, format_name: str, runtime: str, incomplete: str) -> HeapGraph:
    objects = (
        tables.lazy("objects")
        .select(
            pl.col("address")
            .str.strip_prefix("0x")
            .str.to_integer(base=16, dtype=pl.UInt64),
            pl.col("type").fill_null(-1),
            "shallow_bytes",
            pl.col("missing").fill_null(value=False),
        )
        .collect()
    )
    references = tables.lazy("references").collect()
    roots = tables.lazy("roots").collect()
    types = tables.lazy("types").select("name").collect()["name"]
    count = len(objects)
    sources = references["source"].to_numpy()
    # An object's references are together, but the table need not be sorted.
    if (sources[1:] < sources[:-1]).any():
        references = references.sort("source", maintain_order=True)
        sources = references["source"].to_numpy()
    names, fields = _fields(references["field"], roots["field"])
    return HeapGraph(
        format_name=format_name,
        runtime=runtime,
        object_count=count - int(objects["missing"].sum()),
        object_id=objects["address"].to_numpy(writable=True),
        type_index=objects["type"].to_numpy(writable=True),
        shallow_bytes=objects["shallow_bytes"].to_numpy(writable=True),
        ref_start=starts_of(sources, count),
        ref_target=references["target"].to_numpy(writable=True),
        ref_kind=_numbers(references["strength"].fill_null("strong"), RefKind),
        root_object=roots["object"].to_numpy(writable=True),
        root_kind=_numbers(roots["kind"], RootKind),
        root_flags=np.where(roots["weak"], RootFlag.WEAK, 0).astype(np.uint8),
        root_type=roots["type"].fill_null(-1).to_numpy(writable=True),
        type_names=tuple(types),
        type_domain=np.zeros(len(types), np.int32),
        domains=(Domain(""),),
        ref_field=fields[0],
        root_field=fields[1],
        field_names=names,
        told_incomplete=incomplete,
    )


@kernel
def _fill_starts(sources: Ints, first: int, end: int, start: Starts) -> None:
    """Enter the starts of the sources of references ``first`` to ``end``."""
    above = sources[first - 1] if first > 0 else -1
    for ref in range(first, end):
        source = sources[ref]
        for row in range(above + 1, source + 1):
            start[row] = ref
        above = source
    if end == len(sources):
        for row in range(above + 1, len(start)):
            start[row] = end


def starts_of(sources: NDArray[np.int32], count: int) -> Starts:
    """The column ``ref_start`` of ``count`` rows.

    Args:
        sources: The source of each reference, ascending; -1 for none.
        count: The rows.
    """
    start = np.empty(count + 1, starts_type(len(sources)))
    in_ranges(
        lambda first, end: _fill_starts(sources, first, end, start),
        0, len(sources), least=_MANY_REFERENCES,
    )  # fmt: skip
    return start


def _numbers(
    labels: pl.Series, kinds: type[RefKind] | type[RootKind]
) -> NDArray[np.uint8]:
    numbers = {kind.label: int(kind) for kind in kinds}
    return labels.replace_strict(numbers, return_dtype=pl.UInt8).to_numpy(writable=True)


def _fields(
    of_references: pl.Series, of_roots: pl.Series
) -> tuple[tuple[str, ...], list[NDArray[np.int32]]]:
    """Names of fields, and the columns of `HeapGraph` that have their rows."""
    texts = pl.concat([of_references, of_roots])
    is_element = texts.str.contains(r"^\[\d+\]$").fill_null(value=False)
    names = texts.filter(~is_element & texts.is_not_null()).unique().sort()
    element = -1 - texts.str.strip_chars("[]").cast(pl.Int32, strict=False)
    rows = pl.DataFrame({"name": names}).with_row_index("row")
    row = (
        pl.DataFrame({"name": texts})
        .join(rows, on="name", how="left", maintain_order="left")["row"]
        .cast(pl.Int32)
    )
    found = pl.select(
        pl.when(is_element).then(element).otherwise(row).fill_null(NO_FIELD)
    ).to_series()
    column = found.cast(pl.Int32).to_numpy(writable=True)
    at = len(of_references)
    return tuple(names), [column[:at].copy(), column[at:].copy()]
