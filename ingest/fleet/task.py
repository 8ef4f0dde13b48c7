"""Turning one dump into rows, on this machine or on those of a cluster."""

from __future__ import annotations

import errno
import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from ingest.dumps import Opener
from ingest.errors import DumpError, IngestError
from ingest.fleet.datasets import DUMPS, FAILED, HEAVY, INCOMPLETE, LIGHT, READY
from ingest.fleet.sources import local_copy, seconds_of, time_of
from ingest.fleet.workplace import FleetFolder, sink, write_rows
from ingest.heap.read_options import DEFAULTS, ReadOptions
from ingest.readers import stem
from ingest.readers.digests import digest_of

if TYPE_CHECKING:
    from ingest.fleet.sources import FleetSource

ADDED, SKIPPED = "added", "skipped"
ATTEMPTS = 3
"""How often a dump is tried if it ends its process, is slow, or cannot be fetched."""

_PAUSE_S = 1.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


@dataclass(frozen=True, slots=True)
class Job:
    """Settings that are the same for all dumps of a run.

    Attributes:
        folder: Folder of the fleet.
        known: Ids of dumps that the fleet has already.
        options: How to read dumps.
        heavy: Names of further datasets to write.
    """

    folder: Path
    known: frozenset[str] = frozenset()
    options: ReadOptions = DEFAULTS
    heavy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    Attributes:
        address: Address of the file.
        state: `ADDED`, `SKIPPED` if the fleet has the same dump, or ``failed``.
        dump_id: As in the datasets; empty if the dump could not be read.
        object_count: Objects in the dump.
        seconds: How long it took.
        error: Why it failed.
        incomplete: Why the dump is not the whole heap; empty if nothing speaks against
            it.
    """

    address: str
    state: str
    dump_id: str = ""
    object_count: int = 0
    seconds: float = 0.0
    error: str = ""
    incomplete: str = ""


def try_dump(source: FleetSource, job: Job) -> Outcome:
    """Add one file, and set it aside with its error if that fails too often.

    Attempts are counted in files of the fleet's folder, so that a dump that ends every
    process which reads it is set aside, too.

    Raises:
        IngestError: the fleet's disk is full, which is not the file's fault.
    """
    try:
        return _tried(source, job)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        FleetFolder(job.folder).forget_attempts(source.address)
        why = error.strerror or type(error).__name__
        raise IngestError(f"{job.folder} cannot be written ({why})") from error


def _tried(source: FleetSource, job: Job) -> Outcome:
    fleet = FleetFolder(job.folder)
    begun = time.monotonic()
    why = "each process that read it has ended"
    for attempt in range(fleet.attempts(source.address) + 1, ATTEMPTS + 1):
        fleet.count_attempt(source.address, attempt)
        try:
            outcome = add_dump(source, job)
        except MemoryError:
            why = "not enough memory"
            break
        except (OSError, IngestError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise
            why = str(error)
            time.sleep(_PAUSE_S * attempt)
        except Exception as error:  # one dump of thousands must not end the others
            why = f"internal error ({type(error).__name__}: {error})"
            break
        else:
            fleet.forget_attempts(source.address)
            return outcome
    fleet.forget_attempts(source.address)
    return refuse(source, job, why, time.monotonic() - begun)


def add_dump(source: FleetSource, job: Job) -> Outcome:
    """Read and analyse one file, and stage its rows to be published.

    A file that is no dump, or a damaged one, is a row in `DUMPS` with its error.

    Raises:
        OSError: the file or the fleet's folder cannot be read or written; another
            attempt may succeed.
        IngestError: likewise; not an error of the dump itself.
    """
    begun = time.monotonic()
    fleet = FleetFolder(job.folder)
    with fleet.new_folder() as work:
        try:
            with local_copy(source, work) as path:
                if job.known:  # else the file would be read twice for nothing
                    digest = digest_of(str(path))
                    dump_id = "" if digest is None else digest[:32]
                    if dump_id in job.known:
                        seconds = time.monotonic() - begun
                        return Outcome(source.address, SKIPPED, dump_id, 0, seconds)
                options = job.options.of_dump(source.address)
                dump = Opener(options=options, origins=True).open(str(path))
                count = dump.graph.object_count
        except DumpError as error:
            # The path of a copy says nothing; the row has the address.
            return refuse(source, job, _reason(error, source), time.monotonic() - begun)
        tables, identity = dump.take_tables(), dump.identity
        assert identity is not None
        dump_id = identity.sha256[:32]
        about: dict[str, object] = {
            "dump_id": dump_id,
            "state": READY,
            "large_datasets": sorted(job.heavy),
        }
        about |= asdict(identity)
        about |= tables.dump()
        if about["incomplete"]:
            about["state"] = INCOMPLETE
        for dataset in LIGHT:
            part = tables.part(dataset.name, 0, tables.rows(dataset.name))
            write_rows(dataset, part.with_columns(dump_id=pl.lit(dump_id)), work)
        for dataset in HEAVY:
            if dataset.name in job.heavy and tables.rows(dataset.name):
                rows = tables.lazy(dataset.name).with_columns(dump_id=pl.lit(dump_id))
                sink(dataset, rows, work / f"{dataset.name}.parquet")
        seconds = time.monotonic() - begun
        _write_row(source, work, about, seconds)
        is_new = fleet.stage(work, dump_id, source.address)
    state = ADDED if is_new else SKIPPED
    incomplete = cast("str", about["incomplete"] or "")
    return Outcome(
        source.address, state, dump_id, count, seconds, incomplete=incomplete
    )


def refuse(source: FleetSource, job: Job, error: str, seconds: float) -> Outcome:
    """Record that a file could not be added."""
    fleet = FleetFolder(job.folder)
    digest = hashlib.sha256(source.address.encode()).hexdigest()[:16]
    dump_id = f"{FAILED}-{digest}"
    about: dict[str, object] = {"dump_id": dump_id, "state": FAILED, "error": error}
    with fleet.new_folder() as work:
        _write_row(source, work, about, seconds)
        fleet.stage(work, dump_id, source.address)
    return Outcome(source.address, FAILED, "", 0, seconds, error)


def _write_row(
    source: FleetSource, work: Path, about: dict[str, object], seconds: float
) -> None:
    from ingest import __version__

    labels = source.labels
    row = {
        "name": stem(source.address),
        "source": source.address,
        "source_bytes": source.size_bytes,
        "source_version": source.version,
        "version": labels.get("version") or None,
        "host": labels.get("host") or None,
        "taken_at": time_of(labels.get("time")),
        "uptime_s": seconds_of(labels.get("uptime")),
        "labels": json.dumps(dict(sorted(labels.items()))),
        "read_s": round(seconds, 3),
        "tool_version": __version__,
        **about,
    }
    frame = pl.DataFrame(
        {name: [row.get(name)] for name in DUMPS.schema}, schema=DUMPS.schema
    )
    write_rows(DUMPS, frame, work)


def _reason(error: IngestError, source: FleetSource) -> str:
    """The message of an error, without the path at its beginning."""
    text = str(error)
    name = source.address.rpartition("/")[2]
    at = text.find(f"{name}: ")
    return text[at + len(name) + 2 :] if at >= 0 else text
