"""The folder of a fleet: its datasets, and the work that is not finished.

::

    DIR/
      dumps/program=shop/part-4f….parquet       the datasets: what others read
      types/…  type_paths/…  suspects/…
      README.md                                 describes their columns
      _work/                                    no dataset: ignored by Spark and DuckDB
        lock                                    held while results are published
        staged-…/DUMP_ID/dumps.arrow …          complete results of one dump
        tmp/…                                   incomplete ones
        attempts/ADDRESS_DIGEST                 how often a dump was tried
        publishing.json                         what is being published

A worker writes a dump's results into ``tmp`` and moves the folder to ``staged-…``. That
name has the versions of the schema and of the rule of fingerprints, since only the same
version of heaproots may publish them. Results are published many at a time, so that
10,000 dumps do not make 40,000 files: each dataset and program gets one file, whose
name follows from the dumps in it; `DUMPS` comes last. If a process is killed meanwhile,
it leaves ``publishing.json``, and the next one repeats its work with the same names.

The rule that the fingerprints of a fleet's dumps follow.

Fingerprints of different rules are never equal. So a leak would count twice if dumps of
two rules were in one fleet, and an old leak as new.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ingest.analysis.fingerprints import RULE_VERSION, rule_of
from ingest.errors import IngestError
from ingest.fleet.datasets import (
    DATASETS,
    DUMPS,
    FAILED,
    LIGHT,
    SCHEMA_VERSION,
    VERSION_KEY,
    datasets_markdown,
    partition,
)
from ingest.fleet.sources import program_of
from ingest.system.files import file_lock, replaced_file, temporary_folder
from ingest.tables.parquet import as_os_errors
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from contextlib import AbstractContextManager
    from pathlib import Path

    from filelock import BaseFileLock

    from ingest.fleet.datasets import Dataset
    from ingest.heap.read_options import ReadOptions


_ROW_GROUP_ROWS = 1 << 16
_DUMPS_IN_A_FILE = 50
"""Dumps of a published file, whose rows are in memory while it is sorted."""

_POLL_S = 0.002
"""Each worker holds the lock for a millisecond, a dozen times a second."""

_WORK, _TMP = "_work", "tmp"
_STAGED = f"staged-{SCHEMA_VERSION}-{RULE_VERSION}"
_LOCK, _JOURNAL, _ADDRESS = "lock", "publishing.json", "address"
_FAILED_FILE = "failed.parquet"


class ReadAs(NamedTuple):
    """How a dump of a fleet was read.

    Attributes:
        options: The options, from `ingest.heap.read_options.ReadOptions.recorded`.
        part: Number of the dump in its file; ``None`` if its format has only one.
    """

    options: str
    part: int | None

    def differs(self, options: ReadOptions) -> bool:
        """Whether these options would read something else."""
        if options.part not in (None, self.part):
            return True
        return self.options != options.recorded()


@dataclass(frozen=True, slots=True)
class Known:
    """What a fleet has already.

    Attributes:
        dump_ids: Ids of all dumps that were read, with how each was read.
        sources: The same by address and version of each file that was tried; ``None``
            for files that could not be added.
        failed: Addresses of files that could not be added.
    """

    dump_ids: dict[str, ReadAs]
    sources: dict[tuple[str, str], ReadAs | None]
    failed: frozenset[str]


@dataclass(frozen=True, slots=True)
class DumpBatch:
    """Dumps of a program that are published together, as one file per dataset.

    Attributes:
        folder: Folder of the fleet.
        partition: The program's folder in a dataset.
        names: The dumps.
        new: The dumps of these that no published file has yet.
    """

    folder: Path
    partition: str
    names: tuple[str, ...]
    new: tuple[str, ...]


def merge_batch(batch: DumpBatch) -> None:
    """Write the missing files of a batch.

    Raises:
        OSError: the fleet's folder cannot be written.
    """
    FleetFolder(batch.folder).merge(batch)


class FleetFolder:
    """The folder of a fleet.

    Args:
        folder: The folder, made when something is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._work = folder / _WORK
        self._staged = self._work / _STAGED

    # ------------------------------------------------------------ what the fleet has

    def exists(self) -> bool:
        """Whether there is a fleet, complete dumps or not."""
        return any(self.files(DUMPS))

    def files(self, dataset: Dataset) -> Iterator[Path]:
        """The files of a dataset."""
        return iter(sorted((self.folder / dataset.name).glob("program=*/*.parquet")))

    def known(self) -> Known:
        """The dumps that were added, published or not.

        Raises:
            IngestError: a newer version of heaproots has written to the folder.
        """
        ids, failed = dict[str, ReadAs](), set()
        sources = dict[tuple[str, str], ReadAs | None]()
        columns = [
            "dump_id", "source", "source_version", "state", "read_options", "part",
        ]  # fmt: skip
        self.check_version()
        frames = [pl.read_parquet(path, columns=columns) for path in self.files(DUMPS)]
        frames.append(self._rows(DUMPS, self.staged()).select(columns))
        for frame in frames:
            for dump_id, source, version, state, options, part in frame.iter_rows():
                if state != FAILED:
                    ids[dump_id] = sources[source, version] = ReadAs(
                        options or "", part
                    )
                else:
                    sources[source, version] = None
                    failed.add(source)
        return Known(ids, sources, frozenset(failed))

    def check_version(self) -> None:
        """Make sure that no newer version of heaproots has written to the datasets.

        Raises:
            IngestError: a newer version has.
        """
        for path in self.files(DUMPS):
            version = int(pl.read_parquet_metadata(path).get(VERSION_KEY, "1"))
            if version > SCHEMA_VERSION:
                raise IngestError(
                    f"{path}: a newer version of heaproots has written it (schema "
                    f"{version}, this one knows {SCHEMA_VERSION}); update heaproots"
                )

    def staged(self) -> list[str]:
        """Dumps whose results are complete and not published."""
        return sorted(path.name for path in self._staged.glob("*"))

    def _rows(self, dataset: Dataset, names: Iterable[str]) -> pl.DataFrame:
        """Rows of staged dumps; missing dumps are skipped."""
        frames = [pl.DataFrame(schema=dataset.schema)]
        for name in names:
            path = self._staged / name / f"{dataset.name}.arrow"
            if path.is_file():
                frames.append(pl.read_ipc_stream(path))
        return pl.concat(frames, how="diagonal")

    # ------------------------------------------------------------ what workers do

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            IngestError: it has files but is no fleet, or cannot be written or locked.
        """
        try:
            names = {path.name for path in self.folder.glob("*")}
            if names and _WORK not in names:
                raise IngestError(
                    f"{self.folder} has files but is not a fleet; name another folder"
                )
            self._staged.mkdir(parents=True, exist_ok=True)
            (self._work / _TMP).mkdir(exist_ok=True)
            self.locked()  # fails before any dump is read in vain
            readme = self.folder / "README.md"
            if not readme.exists():
                with replaced_file(readme, private=False) as file:
                    file.write(_readme().encode())
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise IngestError(f"{self.folder} cannot be written ({why})") from error

    def new_folder(self) -> AbstractContextManager[Path]:
        """A folder for the results of one dump, removed unless `stage` takes it."""
        return temporary_folder(self._work / _TMP / secrets.token_hex(8))

    def attempts(self, address: str) -> int:
        """How often a file was tried without being finished."""
        try:
            return int(self._attempts(address).read_text("utf-8"))
        except (OSError, ValueError):
            return 0

    def count_attempt(self, address: str, number: int) -> None:
        """Record that a file is being tried."""
        path = self._attempts(address)
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(number), encoding="utf-8")

    def forget_attempts(self, address: str) -> None:
        """Forget the attempts of a file that is finished or set aside."""
        self._attempts(address).unlink(missing_ok=True)

    def _attempts(self, address: str) -> Path:
        digest = hashlib.sha256(address.encode()).hexdigest()[:16]
        return self._work / "attempts" / digest

    def stage(self, folder: Path, dump_id: str, address: str) -> bool:
        """Accept the complete results of a dump.

        If another file had the same dump, the address that comes first in the alphabet
        is kept, whichever file came first.

        Returns:
            Whether no other file had the same dump.
        """
        (folder / _ADDRESS).write_text(address, encoding="utf-8")
        final = self._staged / dump_id
        with self.locked():
            before = (final / _ADDRESS).read_text("utf-8") if final.exists() else ""
            if not before or address < before:
                shutil.rmtree(final, ignore_errors=True)
                folder.rename(final)
        return before in ("", address)

    def locked(self) -> BaseFileLock:
        """The lock that a publishing process holds.

        Raises:
            IngestError: the file system has no locks.
        """
        return file_lock(self._work / _LOCK, poll_s=_POLL_S)

    # ------------------------------------------------------------ publishing

    def publish(
        self, on_workers: Callable[[Sequence[DumpBatch]], None] = lambda _: None
    ) -> int:
        """Publish the staged dumps.

        Args:
            on_workers: Writes batches, or some of them, while this process has the
                lock; this process writes the rest.

        Returns:
            How many dumps were published.

        Raises:
            IngestError: the folder cannot be written.
        """
        try:
            with self.locked():
                self._finish(on_workers)
                names = self.staged()
                if not names:
                    return 0
                with replaced_file(self._work / _JOURNAL, private=False) as file:
                    file.write(json.dumps(names).encode())
                self._finish(on_workers)
                return len(names)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise IngestError(f"{self.folder} cannot be written ({why})") from error

    def forget_failures(self, addresses: Collection[str]) -> None:
        """Remove failures of files whose dumps were added from other files."""
        with self.locked():
            self._write_failures({}, addresses)

    def _finish(self, on_workers: Callable[[Sequence[DumpBatch]], None]) -> None:
        """Do what ``publishing.json`` says, for the first time or again."""
        journal = self._work / _JOURNAL
        if not journal.exists():
            return
        names = [
            name
            for name in json.loads(journal.read_text("utf-8"))
            if (self._staged / name / f"{DUMPS.name}.arrow").is_file()
        ]
        if names:
            self._write(names, on_workers)
            for name in names:
                shutil.rmtree(self._staged / name)
        journal.unlink()

    def _write(
        self, names: Sequence[str], on_workers: Callable[[Sequence[DumpBatch]], None]
    ) -> None:
        published = self._published_ids()
        good: dict[str, list[str]] = {}
        failed: dict[str, list[str]] = {}
        read: set[str] = set()
        rows = self._rows(DUMPS, names).select("labels", "source")  # one row of each
        for name, (labels, source) in zip(names, rows.iter_rows(), strict=True):
            folder = partition(program_of(json.loads(labels)))
            if name.startswith(FAILED):
                failed.setdefault(folder, []).append(name)
            else:
                good.setdefault(folder, []).append(name)
                read.add(source)
        batches = []
        for folder, of_program in sorted(good.items()):
            of_program.sort()
            for begin in range(0, len(of_program), _DUMPS_IN_A_FILE):
                some = tuple(of_program[begin : begin + _DUMPS_IN_A_FILE])
                new = tuple(name for name in some if name not in published)
                batches.append(DumpBatch(self.folder.absolute(), folder, some, new))
        if len(batches) > 1:
            on_workers(batches)
        for batch in batches:
            self.merge(batch)
        self._write_failures(failed, read)

    def merge(self, batch: DumpBatch) -> None:
        """Write the missing files of a batch, one per dataset.

        Raises:
            OSError: a file cannot be written.
        """
        digest = hashlib.sha256(" ".join(batch.names).encode()).hexdigest()[:16]
        for dataset in (*DATASETS[1:], DUMPS):
            if dataset.is_heavy:
                self._move(dataset, batch.partition, batch.new)
                continue
            target = self.folder / dataset.name / batch.partition
            target /= f"part-{digest}.parquet"
            if not target.exists():
                self._merge(dataset, batch.new, target)

    def _published_ids(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self.files(DUMPS):
            found |= set(pl.read_parquet(path, columns=["dump_id"])["dump_id"])
        return frozenset(found)

    def _move(self, dataset: Dataset, folder: str, names: Sequence[str]) -> None:
        for name in names:
            staged = self._staged / name / f"{dataset.name}.parquet"
            if staged.is_file():
                target = self.folder / dataset.name / folder / f"{name}.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.rename(target)

    def _merge(self, dataset: Dataset, names: Sequence[str], target: Path) -> None:
        if names:
            rows = self._rows(dataset, names).sort(dataset.order)
            self._sink(dataset, rows.lazy(), target, names)

    def _sink(
        self,
        dataset: Dataset,
        frame: pl.LazyFrame,
        target: Path,
        needed: Sequence[str] = (),
    ) -> None:
        """Write a file under a temporary name, and rename it.

        A worker may outlive the process that publishes. Then the next process does the
        work, and removes what was staged. So a file that contains less than is
        ``needed`` is not kept.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        part = self._work / _TMP / f"{target.name}-{secrets.token_hex(4)}"
        try:
            sink(dataset, frame, part)
            if all((self._staged / name).is_dir() for name in needed):
                part.rename(target)
        finally:
            part.unlink(missing_ok=True)

    def _write_failures(
        self, failed: Mapping[str, Sequence[str]], read: Collection[str]
    ) -> None:
        """Add files that could not be read, and remove those that now could.

        Args:
            failed: Names of staged rows, by the folder of their program.
            read: Addresses of files that were read.
        """
        new = {folder: self._rows(DUMPS, names) for folder, names in failed.items()}
        old = {
            path.parent.name: path
            for path in self.files(DUMPS)
            if path.name == _FAILED_FILE
        }
        for folder in sorted({*new, *old}):
            frames = [new[folder]] if folder in new else []
            if folder in old:
                frames.append(pl.read_parquet(old[folder]))
            merged = pl.concat(frames, how="diagonal").unique("dump_id", keep="first")
            merged = merged.filter(~pl.col("source").is_in(sorted(read)))
            target = self.folder / DUMPS.name / folder / _FAILED_FILE
            if merged.height:
                self._sink(DUMPS, merged.sort("dump_id").lazy(), target)
            else:
                target.unlink(missing_ok=True)


def write_rows(dataset: Dataset, frame: pl.DataFrame, folder: Path) -> None:
    """Write the rows of one dump, to be merged with those of others later.

    It is a stream of Arrow, which takes a quarter of the time of a Parquet file.

    Raises:
        OSError: they cannot be written.
    """
    with as_os_errors():
        frame.write_ipc_stream(folder / f"{dataset.name}.arrow", compression="zstd")


def sink(dataset: Dataset, frame: pl.LazyFrame, path: Path) -> None:
    """Write a dataset's file, with the version of the schema in its metadata.

    Raises:
        OSError: it cannot be written.
    """
    with as_os_errors():
        given = frame.collect_schema().names()
        frame.select(name for name in dataset.schema if name in given).sink_parquet(
            path,
            compression="zstd",
            compression_level=1,  # files are smaller than at 3, the default
            row_group_size=_ROW_GROUP_ROWS,
            statistics=True,
            metadata={VERSION_KEY: str(SCHEMA_VERSION)},
        )


def _readme() -> str:
    return f"""\
# A fleet of heap dumps

Each folder here is a dataset of Parquet files, partitioned by program. For DuckDB:

    SELECT program, version, count(*) FROM read_parquet('dumps/*/*.parquet',
      hive_partitioning = true, union_by_name = true) GROUP BY ALL

A dump is complete when `dumps` has its row; join with it. Times are in UTC.

{datasets_markdown()}"""


_COLUMN = "fingerprint"
_DATASETS = [dataset for dataset in LIGHT if _COLUMN in dataset.schema]


def check_new_dumps(fleet: FleetFolder) -> None:
    """Make sure that this version can add dumps.

    Raises:
        IngestError: the fleet's dumps have fingerprints of another rule.
    """
    found = set[int]()
    for dataset in _DATASETS:
        found |= _rules(fleet.files(dataset))
    if others := sorted(found - {RULE_VERSION}):
        raise IngestError(
            f"{fleet.folder} has fingerprints of {_named(others)}, and this version "
            f"makes those of rule {RULE_VERSION}, so that no leak would be found "
            "again: name another folder with --to, and add the earlier files there too"
        )


def check_one_rule(fleet: FleetFolder, program: str | None) -> int:
    """Make sure that the leaks of a fleet's dumps can be compared.

    Args:
        fleet: The folder.
        program: Only its dumps count; ``None`` for all.

    Returns:
        The rule of their fingerprints; 0 if they have none.

    Raises:
        IngestError: their fingerprints have different rules.
    """
    chosen = None if program is None else partition(program)
    found = set[int]()
    for dataset in _DATASETS:
        found |= _rules(
            path for path in fleet.files(dataset) if chosen in (None, path.parent.name)
        )
    rules = sorted(found)
    if len(rules) > 1:
        whose = "dumps" if program is None else f"dumps of {program}"
        raise IngestError(
            f"{fleet.folder} has {whose} with fingerprints of {_named(rules)}, so that "
            "old leaks would count as new: add the files to another folder: "
            f"{command('fleet', 'add', 'FILE', '--to', 'DIR')}"
        )
    return rules[0] if rules else 0


def _rules(paths: Iterable[Path]) -> set[int]:
    found = set[int]()
    for path in paths:
        file = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        if _COLUMN in file.collect_schema():
            # If there are several rules, the smallest and the largest differ.
            column = pl.col(_COLUMN)
            ends = file.select(a=column.min(), b=column.max()).collect().row(0)
            found |= {rule_of(end) for end in ends if end is not None}
    return found - {0}


def _named(rules: list[int]) -> str:
    words = [str(rule) for rule in rules]
    if len(words) == 1:
        return f"rule {words[0]}"
    return f"rules {', '.join(words[:-1])} and {words[-1]}"
