"""The input of ``neo4j-admin database import full``: CSV files and its arguments.

Node ids are given, not looked up (``--id-type=actual``): Dump, Domain, Type, Object
and Root of the first dump are numbered from 0 without a gap, then those of the next.

Source: Neo4j operations manual, "Import", sections "CSV file header format" and
"Syntax".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import polars as pl

from ingest.progress import silent
from ingest.tables.column import FLOAT
from ingest.tables.field_values import grouped
from ingest.tables.fleet_graph import FLEET_LABELS, FLEET_RELATIONSHIPS
from ingest.tables.mapping import (
    END,
    START,
    node_columns,
    relationships,
    row_column,
    rows_by_size,
)
from ingest.tables.object_tables import FIELD_VALUES
from ingest.tables.parquet import LIST_SEPARATOR, write_csv
from ingest.tables.processes import (
    Moment,
    SharedIds,
    sample_step,
)
from ingest.tables.schema import (
    CONTINUED,
    LABELS,
    LINKS,
    RELATIONSHIPS,
    SURVIVED,
    label,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.column import Column, DType, Label, Link, Relationship, Table
    from ingest.tables.fleet_graph import FleetFrames
    from ingest.tables.mapping import Tables

_LINE_END = r"[\r\n]"
_BUFFER_CHARS = 4 << 20
"""Characters that the importer reads of each file before it begins, by default. Four
times as much takes it a second. It cannot read a row that is longer."""
_ROW_CHARS = 1 << 20
"""More characters than a row takes without its texts."""
_TEXTS = pl.List(pl.String)


@dataclass(frozen=True, slots=True)
class DumpToImport:
    """One dump on its way into a new store.

    Attributes:
        number: Its number.
        properties: Properties of its Dump node; dates are text.
        tables: The heap.
    """

    number: int
    properties: Mapping[str, object]
    tables: Tables


def write_import_files(
    folder: Path,
    dumps: Sequence[DumpToImport],
    progress: Progress = silent,
    *,
    fleet: FleetFrames | None = None,
) -> list[str]:
    """Write a header for each label and relationship, and a file of each for each dump.

    Columns, labels and relationships that no dump has are left out.

    Args:
        folder: An empty folder.
        dumps: All that the new store will have.
        progress: Receives the files written.
        fleet: Graphs of fleets that the new store will have too.

    Returns:
        The importer's arguments; the paths in them start in ``folder``.
    """
    writer = _FolderWriter(folder, dumps, progress)
    for entry in LABELS:
        writer.add_label(entry)
    for relation in RELATIONSHIPS:
        writer.add_relationship(relation)
    writer.add_survivors()
    writer.add_continued()
    if fleet is not None:
        writer.add_fleet(fleet)
    return [
        "--id-type=actual",
        "--bad-tolerance=0",
        *writer.multiline_arguments(),
        "--array-delimiter=U+001F",
        f"--read-buffer-size={writer.buffer_chars}",
        "--high-parallel-io=on",
        *writer.arguments,
    ]


class _Files(NamedTuple):
    """The files of some rows: one for rows of one line, one for rows of several."""

    plain: Path | None
    several: Path | None


class _FolderWriter:
    def __init__(
        self, folder: Path, dumps: Sequence[DumpToImport], progress: Progress
    ) -> None:
        self._folder = folder
        self._dumps = dumps
        self._progress = progress
        self._done = 0
        self._total = (len(LABELS) + len(RELATIONSHIPS) + len(LINKS)) * len(dumps)
        self.arguments: list[str] = []
        self._several: list[Path] = []
        self._longest_bytes = 0
        self._first_ids: list[dict[str, int]] = []
        free = 0
        for dump in dumps:
            first = {}
            for entry in LABELS:
                first[entry.name] = free
                free += 1 if entry.table is None else dump.tables.rows(entry.table.name)
            self._first_ids.append(first)
        self._free_id = free

    @property
    def buffer_chars(self) -> int:
        """Characters of the longest row written, even if all of them were quotes."""
        return max(_BUFFER_CHARS, 2 * self._longest_bytes + _ROW_CHARS)

    def multiline_arguments(self) -> list[str]:
        """The arguments that name the files with line ends in texts."""
        if not self._several:
            return []
        names = ",".join(path.name for path in self._several)
        return ["--multiline-fields-format=v2", f"--multiline-fields={names}"]

    def add_label(self, entry: Label) -> None:
        """Write the nodes of one label."""
        absent = self._absent(entry.table)
        given = [column for column in entry.properties if column.name not in absent]
        header = [":ID", *map(_typed, given)]
        argument = f"--nodes={entry.name}"
        if entry.name == "Object":
            self._add_objects(argument, entry, [*header, ":LABEL"], absent)
            return

        def part(at: int) -> pl.LazyFrame:
            dump, first = self._dumps[at], self._first_ids[at][entry.name]
            if entry.table is None:
                return _dump_row(first, dump.properties, entry)
            row = pl.col(row_column(entry)).cast(pl.Int64)
            return dump.tables.lazy(entry.table.name).select(
                (row + first).alias(":ID"), *node_columns(entry, dump.number, absent)
            )

        self._add(argument, entry.name, header, part)

    def _add_objects(
        self, argument: str, entry: Label, header: list[str], absent: frozenset[str]
    ) -> None:
        """Write the objects; those with values of fields have files of their own."""
        table = entry.table
        assert table is not None

        def part(at: int) -> pl.LazyFrame:
            dump, first = self._dumps[at], self._first_ids[at][entry.name]
            row = pl.col(row_column(entry))
            frame = dump.tables.lazy(table.name)
            nodes = [
                (row.cast(pl.Int64) + first).alias(":ID"),
                *node_columns(entry, dump.number, absent),
                _more_labels(row.cast(pl.Int64), dump),
            ]
            if not dump.tables.rows(FIELD_VALUES.name):
                return frame.select(nodes)
            valued = pl.Series("object", [], pl.Int32)
            for i, (types, values) in enumerate(grouped(dump.tables)):
                valued.append(values["object"])
                more = [_as_imported(name, dtype) for name, dtype in types.items()]
                given = frame.join(values.lazy(), on="object").select(*nodes, *more)
                name = f"{entry.name}-values-{dump.number}-{i}"
                typed = [f"{name}:{dtype.importer}" for name, dtype in types.items()]
                files = [self._write(name, given)]
                self._name(argument, name, [*header, *typed], files)
            others = pl.LazyFrame({"object": valued})
            return frame.join(others, on="object", how="anti").select(nodes)

        self._add(argument, entry.name, header, part)

    def add_relationship(self, relation: Relationship) -> None:
        """Write the relationships of one row of the schema."""
        absent = self._absent(relation.table)
        given = [column for column in relation.properties if column.name not in absent]
        header = [":START_ID", ":END_ID", *map(_typed, given)]

        def part(at: int) -> pl.LazyFrame:
            dump, first = self._dumps[at], self._first_ids[at]
            frame = relationships(relation, dump.tables.lazy(relation.table.name))
            return frame.select(
                pl.col(START).cast(pl.Int64).fill_null(0) + first[relation.start],
                pl.col(END).cast(pl.Int64) + first[relation.end],
                *(column.name for column in given),
            )

        name = f"{relation.start}-{relation.name}-{relation.end}"
        self._add(f"--relationships={relation.name}", name, header, part)

    def add_survivors(self) -> None:
        """Write the relationships from objects to themselves in later dumps."""
        entry = label(SURVIVED.label)

        def ends(at: int, name: str, by: tuple[str, ...]) -> pl.LazyFrame:
            assert entry.table is not None
            number = row_column(entry)
            known = pl.col(by[0]).is_not_null()
            if len(by) == 1:
                known &= pl.col("passing_id").is_null()
            names = (number, *by, "passing_id")
            frame = _columns(self._dumps[at].tables, entry.table.name, *names)
            row = pl.col(number).cast(pl.Int64) + self._first_ids[at][entry.name]
            return frame.filter(known).select(row.alias(name), *by)

        def part(at: int) -> pl.LazyFrame:
            pairs = [
                ends(before, START, by)
                .join(ends(at, END, by), on=by)
                .select(START, END)
                for before, by in self._before[at]
            ]
            none = pl.LazyFrame(schema={START: pl.Int64, END: pl.Int64})
            return pl.concat([none, *pairs])

        self._add_link(SURVIVED, part)

    def add_continued(self) -> None:
        """Write the relationships from dumps to later ones of their processes."""

        def part(at: int) -> pl.LazyFrame:
            before = [self._first_ids[one]["Dump"] for one, _ in self._before[at]]
            pairs = {START: before, END: [self._first_ids[at]["Dump"]] * len(before)}
            return pl.LazyFrame(pairs, schema={START: pl.Int64, END: pl.Int64})

        self._add_link(CONTINUED, part)

    def _add_link(self, link: Link, part: Callable[[int], pl.LazyFrame]) -> None:
        name = f"{link.label}-{link.name}-{link.label}"
        header = [":START_ID", ":END_ID"]
        self._add(f"--relationships={link.name}", name, header, part)

    def add_fleet(self, fleet: FleetFrames) -> None:
        """Write the graphs of fleets."""
        ids = {}
        for entry in FLEET_LABELS:
            frame = fleet.nodes[entry.name].with_row_index(":ID", self._free_id)
            self._free_id += frame.height
            ids[entry.name] = frame.select(pl.col(entry.key).alias("key"), ":ID")
            header = [":ID", *map(_typed, entry.properties)]
            paths = self._write(entry.name, frame.lazy())
            self._name(f"--nodes={entry.name}", entry.name, header, [paths])
        for relation in FLEET_RELATIONSHIPS:
            frame = fleet.relationships[relation.name]
            for column, end in ((START, relation.start), (END, relation.end)):
                known = ids[end].rename({"key": column, ":ID": f"{column} id"})
                frame = frame.join(known, on=column, maintain_order="left")
            names = [column.name for column in relation.properties]
            frame = frame.select(f"{START} id", f"{END} id", *names)
            header = [":START_ID", ":END_ID", *map(_typed, relation.properties)]
            paths = self._write(relation.name, frame.lazy())
            argument = f"--relationships={relation.name}"
            self._name(argument, relation.name, header, [paths])

    def _absent(self, table: Table | None) -> frozenset[str]:
        """Columns that none of the dumps has."""
        if table is None:
            return frozenset()
        each = (dump.tables.absent(table.name) for dump in self._dumps)
        return frozenset.intersection(*each)

    @cached_property
    def _before(self) -> list[list[tuple[int, tuple[str, ...]]]]:
        """For each dump, the earlier ones of its process, and columns of shared ids."""
        moments = [_moment(dump) for dump in self._dumps]
        found: list[list[tuple[int, tuple[str, ...]]]] = [[] for _ in moments]
        for at, other in permutations(range(len(moments)), 2):
            mine, its = moments[at], moments[other]
            shared = its.shares_with(mine) if its.is_before(mine) else None
            if shared is not None and (
                shared.is_proved
                or _is_one_numbering(
                    self._dumps[other].tables, self._dumps[at].tables, shared.by[0]
                )
            ):
                found[at].append((other, shared.by))
        return found

    def _add(
        self,
        argument: str,
        name: str,
        header: list[str],
        part: Callable[[int], pl.LazyFrame],
    ) -> None:
        paths = []
        for at, dump in enumerate(self._dumps):
            paths.append(self._write(f"{name}-{dump.number}", part(at)))
            self._done += 1
            self._progress("write import files", self._done, self._total)
        self._name(argument, name, header, paths)

    def _write(self, name: str, frame: pl.LazyFrame) -> _Files:
        """Write rows without a header; rows of several lines get a file of their own.

        The importer reads rows of several lines with one thread, and takes half a
        second to open each such file.
        """
        schema = frame.collect_schema()
        texts = [key for key in schema if schema[key] in (pl.String, _TEXTS)]
        several = None
        if texts:
            frame = frame.with_columns(pl.col(_TEXTS).list.join(LIST_SEPARATOR))
            ends = pl.any_horizontal(pl.col(texts).str.contains(_LINE_END)).fill_null(
                value=False
            )
            length = pl.sum_horizontal(pl.col(texts).str.len_bytes()).max()
            found = frame.select(ends.any().alias("several"), length.alias("longest"))
            has_several, longest = found.collect(engine="streaming").row(0)
            self._longest_bytes = max(self._longest_bytes, longest or 0)
            if has_several:
                several = self._write_csv(f"{name}-lines", frame.filter(ends))
                frame = frame.filter(~ends)
        return _Files(self._write_csv(name, frame), several)

    def _write_csv(self, name: str, frame: pl.LazyFrame) -> Path | None:
        """Write a file without a header; none if there are no rows."""
        path = self._folder / f"{name}.csv"
        write_csv(frame, path, header=False)
        if path.stat().st_size:
            return path
        path.unlink()
        return None

    def _name(
        self, argument: str, name: str, header: list[str], files: Sequence[_Files]
    ) -> None:
        """Name files to the importer in few arguments: each one costs it time."""
        plain = [each.plain for each in files if each.plain is not None]
        several = [each.several for each in files if each.several is not None]
        self._several += several
        for paths, kind in ((plain, ""), (several, "-lines")):
            if paths:
                first = self._folder / f"{name}{kind}-header.csv"
                first.write_text(",".join(header) + "\n", encoding="utf-8")
                names = ",".join(path.name for path in (first, *paths))
                self.arguments.append(f"{argument}={names}")


def _as_imported(name: str, dtype: DType) -> pl.Expr:
    """A property as the importer reads it, which spells infinity as Java does."""
    if dtype is not FLOAT:
        return pl.col(name)
    text = pl.col(name).cast(pl.String)
    return text.str.replace("inf", "Infinity", literal=True)


def _more_labels(row: pl.Expr, dump: DumpToImport) -> pl.Expr:
    """The additional labels of the objects of a dump, in the importer's format."""
    labels: dict[int, str] = {}
    reachable_bytes = cast("int", dump.properties["reachable_bytes"])
    for name, rows in rows_by_size(dump.tables, reachable_bytes).items():
        for at in rows:
            labels[at] = LIST_SEPARATOR.join(filter(None, (labels.get(at), name)))
    more = row.replace_strict(labels, default=None, return_dtype=pl.String)
    return more.alias(":LABEL")


def _moment(dump: DumpToImport) -> Moment:
    values = {name: dump.properties.get(name) for name in Moment._fields}
    values |= {"runtime": values["runtime"] or "", "number": dump.number}
    return Moment(**cast("dict[str, Any]", values))


def _is_one_numbering(older: Tables, newer: Tables, by: str) -> bool:
    """Whether objects that are equal in a column are the same objects."""

    def told(tables: Tables, step: int) -> pl.LazyFrame:
        types = _columns(tables, "types", "type", "name", "value_kind")
        objects = _columns(tables, "objects", by, "type", "value", "passing_id")
        some = objects.gather_every(step).filter(pl.col("passing_id").is_null())
        return some.join(types, on="type").select(
            by,
            "name",
            text=pl.when(pl.col("value_kind") == "string").then("value"),
        )

    step = sample_step(newer.rows("objects"))
    both = told(newer, step).join(told(older, 1), on=by, suffix="_then")
    equal = pl.col("text") == pl.col("text_then")
    counts = both.select(
        pl.len(),
        types=(pl.col("name") == pl.col("name_then")).sum(),
        texts=equal.count(),
        equal_texts=equal.sum(),
    )
    evidence = SharedIds(*counts.collect(engine="streaming").row(0))
    return evidence.is_of_one_numbering


def _columns(tables: Tables, name: str, *columns: str) -> pl.LazyFrame:
    """Columns of a table, null where it does not have them."""
    known = table(name).schema
    absent = tables.absent(name)
    return tables.lazy(name).select(
        pl.lit(None, known[one]).alias(one) if one in absent else one for one in columns
    )


def _typed(column: Column) -> str:
    return f"{column.name}:{column.dtype.importer}"


def _dump_row(
    first: int, properties: Mapping[str, object], entry: Label
) -> pl.LazyFrame:
    def text(value: object) -> str | None:
        if isinstance(value, list):
            return LIST_SEPARATOR.join(map(str, value))
        return None if value is None else str(value)

    cells = {
        column.name: text(properties.get(column.name)) for column in entry.properties
    }
    schema = {":ID": pl.Int64, **dict.fromkeys(cells, pl.String)}
    return pl.LazyFrame({":ID": [first], **{k: [v] for k, v in cells.items()}}, schema)
