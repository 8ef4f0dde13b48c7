"""New dumps: each is added to a fleet once it is finished, and reported.

A dump is finished if it has not changed since the previous look, and no process has it
open for writing. Runtimes write a dump under its final name, large ones for minutes.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from ingest.fleet.add import Workers, add
from ingest.fleet.datasets import DUMPS, FAILED, INCOMPLETE, LIGHT
from ingest.fleet.sources import find_sources, is_remote
from ingest.fleet.workplace import FleetFolder
from ingest.words.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.fleet.sources import FleetSource, LabelPattern
    from ingest.heap.read_options import ReadOptions

ANSWER_BYTES = 1024
"""The largest JSON answer, in bytes: what an alert can carry."""

_SUSPECTS = next(dataset for dataset in LIGHT if dataset.name == "suspects")
_LONGEST = 240
"""The most characters of a text in a JSON answer."""


@dataclass(slots=True)
class Watch:
    """Looks for dumps repeatedly.

    Attributes:
        given: Files, folders, patterns and addresses, as of `find_sources`.
        folder: Folder of the fleet.
        options: How to read dumps.
        workers: What reads the dumps.
        pattern: Finds labels in addresses.
        keep: How many files of added dumps to keep; ``None`` for all. Files in object
            stores stay.
        removed: Paths of the files that were removed.
    """

    given: Sequence[str]
    folder: Path
    options: ReadOptions
    workers: Workers
    pattern: LabelPattern | None = None
    keep: int | None = None
    removed: list[str] = field(default_factory=list)
    _before: dict[str, tuple[int, str]] = field(default_factory=dict)
    _done: set[tuple[str, str]] = field(default_factory=set)

    def look(self) -> list[dict[str, Any]]:
        """Add the dumps that were finished since the last look.

        Returns:
            An answer for each, see `answer_for`.

        Raises:
            IngestError: a folder is missing, or the fleet cannot be written.
        """
        found = find_sources(self.given, self.pattern, must_find=False)
        ready = [
            source
            for source in found
            if (source.address, source.version) not in self._done
            and self._before.get(source.address) == (source.size_bytes, source.version)
            and not is_being_written(source)
        ]
        self._before = {
            source.address: (source.size_bytes, source.version) for source in found
        }
        if not ready:
            return []
        fleet = FleetFolder(self.folder)
        known = fleet.known().sources if fleet.exists() else {}
        new = [one for one in ready if (one.address, one.version) not in known]
        add(ready, self.folder, self.options, self.workers)
        self._done.update((source.address, source.version) for source in ready)
        answers = [answer_for(fleet, source) for source in new]
        self._remove_old(fleet, found)
        return answers

    def _remove_old(self, fleet: FleetFolder, found: Iterable[FleetSource]) -> None:
        """Remove the oldest files whose dumps the fleet has."""
        if self.keep is None:
            return
        kept = _rows(fleet, DUMPS).filter(pl.col("state") != FAILED)
        added = set(kept.select("source", "source_version").iter_rows())
        mine = [
            source
            for source in found
            if not is_remote(source.address)
            and (source.address, source.version) in added
        ]
        mine.sort(key=lambda source: int(source.version))
        for source in mine[: max(0, len(mine) - self.keep)]:
            with suppress(OSError):  # another process may have removed it
                Path(source.address).unlink()
                self.removed.append(source.address)


def is_being_written(source: FleetSource) -> bool:
    """Whether a process that this user may inspect has the file open for writing."""
    if is_remote(source.address) or not Path("/proc/self/fdinfo").is_dir():
        return False
    try:
        own = Path(source.address).stat()
    except OSError:
        return True  # it is gone, or will be found again
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError, ValueError, IndexError):
            other = descriptor.stat()
            if (other.st_dev, other.st_ino) == (own.st_dev, own.st_ino):
                info = descriptor.parent.with_name("fdinfo") / descriptor.name
                flags = int(info.read_text().split("flags:")[1].split()[0], 8)
                if flags & os.O_ACCMODE != os.O_RDONLY:
                    return True
    return False


def answer_for(fleet: FleetFolder, source: FleetSource) -> dict[str, Any]:
    """What a fleet knows about a dump that was added.

    Returns:
        ``name``, ``source``, ``state``, ``error`` or ``incomplete`` if there is one,
        ``object_count``, ``reachable_bytes``, and ``suspects``, each with ``sentence``,
        ``retained_bytes``, ``share``, ``fingerprint``, and ``is_new`` if no other dump
        of the fleet has it. Also ``same_as`` if the fleet has the same dump under
        another name.
    """
    rows = _rows(fleet, DUMPS).filter(pl.col("source") == source.address)
    if rows.is_empty():
        return {"source": source.address, "state": "known"}
    about = rows.sort("source_version").row(-1, named=True)
    answer = {"name": about["name"], "source": source.address, "state": about["state"]}
    for name in ("error", "incomplete"):
        if about[name]:
            answer[name] = about[name]
    if about["state"] == FAILED:
        return answer
    answer |= {name: about[name] for name in ("object_count", "reachable_bytes")}
    every = _rows(fleet, _SUSPECTS)
    is_own = pl.col("dump_id") == about["dump_id"]
    others = set(every.filter(~is_own)["fingerprint"].to_list())
    answer["suspects"] = [
        {
            "sentence": row["sentence"],
            "retained_bytes": row["retained_bytes"],
            "share": round(row["share"], 3),
            "fingerprint": row["fingerprint"],
            "is_new": row["fingerprint"] not in others,
        }
        for row in every.filter(is_own).sort("rank").iter_rows(named=True)
    ]
    return answer


def _rows(fleet: FleetFolder, dataset: Any) -> pl.DataFrame:  # noqa: ANN401
    """All rows of a small dataset."""
    columns = [column.name for column in dataset.columns]
    frames = [
        pl.read_parquet(path, glob=False, hive_partitioning=False)
        for path in fleet.files(dataset)
    ]
    found = pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
    absent = [name for name in columns if name not in found.columns]
    return found.with_columns(pl.lit(None).alias(name) for name in absent)


def in_a_line(answer: dict[str, Any]) -> str:
    """An answer for a person."""
    name = answer.get("name") or answer["source"]
    if answer["state"] == FAILED:
        return printable(f"{name}: cannot be read: {answer['error']}")
    if answer["state"] == "known":
        return printable(f"{name}: the fleet has this dump under another name")
    size = human_bytes(cast("int", answer["reachable_bytes"]))
    said = f"{name}: {size} reachable"
    if answer["state"] == INCOMPLETE:
        said += f", incomplete ({answer['incomplete']})"
    suspects = answer["suspects"]
    if not suspects:
        return printable(f"{said}; no leak suspects")
    first = suspects[0]
    is_new = " New in this fleet." if first["is_new"] else ""
    more = f" And {len(suspects) - 1} more." if len(suspects) > 1 else ""
    return printable(f"{said}; {first['sentence']}{is_new}{more}")


def in_json(answer: dict[str, Any]) -> str:
    """An answer as a JSON object of at most `ANSWER_BYTES`.

    Long texts are cut; ``left_out`` counts the suspects that do not fit.
    """
    short = {name: _cut(value) for name, value in answer.items() if name != "suspects"}
    suspects = [
        {name: _cut(value) for name, value in one.items()}
        for one in answer.get("suspects", ())
    ]
    for count in range(len(suspects), -1, -1):
        if "suspects" in answer:
            short["suspects"] = suspects[:count]
        if count < len(suspects):
            short["left_out"] = len(suspects) - count
        text = json.dumps(short)
        if len(text) <= ANSWER_BYTES:
            break
    else:  # a name or a path with many escapes
        short = {"state": answer["state"], "left_out": len(suspects)}
        text = json.dumps(short)
    return text


def _cut(value: object) -> object:
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    return value
