"""The datasets of a large fleet, written without any dump: ``DIR DUMPS PATHS``.

Each dump has as many suspects, types and paths as usual ones; which leak is in which
share of the dumps follows a power law, and some come with a version.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from ingest.analysis.fingerprints import RULE_VERSION
from ingest.fleet.datasets import DATASETS, DUMPS, READY, partition
from ingest.fleet.workplace import FleetFolder, sink

PROGRAMS, VERSIONS, HOSTS = 20, 10, 200
LEAKS, TYPES, PATHS = 40, 100, 400
"""Different ones of each program."""

SUSPECTS_OF_A_DUMP, TYPES_OF_A_DUMP = 3, 100
_DATASETS = {dataset.name: dataset for dataset in DATASETS}


def write_rows(folder: Path, dumps: int, paths: int) -> None:
    """Write a fleet of so many dumps, with so many rows of ``type_paths`` together."""
    fleet = FleetFolder(folder)
    fleet.prepare()
    rng = np.random.default_rng(1)
    for program in range(PROGRAMS):
        count = dumps // PROGRAMS + (program < dumps % PROGRAMS)
        tables = _program(rng, program, count, paths // dumps)
        for name, frame in tables.items():
            target = folder / name / partition(f"program{program}") / "part-1.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            dataset = _DATASETS[name]
            frame = frame.sort([n for n in dataset.order if n in frame.columns])
            kinds = pl.DataFrame(schema=dataset.schema).select(frame.columns).schema
            sink(dataset, frame.cast(dict(kinds)).lazy(), target)  # type: ignore[arg-type]


def print_of(program: int, number: int) -> str:
    """The fingerprint of a leak or a path."""
    return f"{RULE_VERSION}-{program:016x}{number:016x}"


def _program(
    rng: np.random.Generator, program: int, count: int, paths: int
) -> dict[str, pl.DataFrame]:
    name = f"program{program}"
    ids = np.array([f"{program:08x}{number:024x}" for number in range(count)])
    version = rng.integers(0, VERSIONS, count)
    size = rng.lognormal(19, 0.5, count).astype(np.int64)
    hours = rng.integers(0, 24 * 365, count)
    begin = datetime(2026, 1, 1)
    dumps = pl.DataFrame(
        {
            "dump_id": ids,
            "name": [f"dump{number}" for number in range(count)],
            "source": [f"/dumps/{name}/dump{number}.hprof" for number in range(count)],
            "source_bytes": size,
            "source_version": ["1"] * count,
            "version": [f"1.{number}" for number in version.tolist()],
            "host": [f"host{n}" for n in rng.integers(0, HOSTS, count).tolist()],
            "taken_at": [begin + timedelta(hours=int(hour)) for hour in hours],
            "uptime_s": rng.uniform(60, 1e6, count),
            "labels": [json.dumps({"program": name})] * count,
            "state": [READY] * count,
            "format": ["hprof"] * count,
            "sha256": np.char.add(ids, ids),
            "object_count": size // 50,
            "reachable_bytes": size,
        }
    )
    per = SUSPECTS_OF_A_DUMP
    # Leak n came with version n / 8; each dump has three of those of its version.
    which = np.minimum(rng.geometric(0.15, (count, per)) - 1, LEAKS - 1)
    which = np.minimum(which, 8 * version[:, None] + 7).ravel()
    share = rng.uniform(0.1, 0.3, count * per)
    suspects = pl.DataFrame(
        {
            "dump_id": np.repeat(ids, per),
            "suspect": np.tile(np.arange(per), count),
            "type": which % TYPES_OF_A_DUMP,
            "rank": np.tile(np.arange(1, per + 1), count),
            "type_name": [f"Leaked{leak}" for leak in which.tolist()],
            "object_count": rng.integers(10, 100_000, count * per),
            "retained_bytes": (np.repeat(size, per) * share).astype(np.int64),
            "share": share,
            "pattern": ["list"] * len(which),
            "holder": [f"{name}.Holder{leak}" for leak in which.tolist()],
            "reference": ["items"] * len(which),
            "fingerprint": [print_of(program, leak) for leak in which.tolist()],
            "sentence": [
                f"Leaked{leak} are held in a list." for leak in which.tolist()
            ],
        }
    )
    kinds = np.tile(np.arange(TYPES_OF_A_DUMP), count)
    part = (np.repeat(size, TYPES_OF_A_DUMP) / (kinds + 2) ** 1.3).astype(np.int64)
    types = pl.DataFrame(
        {
            "dump_id": np.repeat(ids, TYPES_OF_A_DUMP),
            "type": kinds,
            "name": np.char.add(f"{name}.Type", kinds.astype(str)),
            "reachable_count": part // 48,
            "reachable_bytes": part,
        }
    )
    places = np.sort(rng.random((count, PATHS)).argpartition(paths - 1)[:, :paths])
    prints = np.array([print_of(program, LEAKS + place) for place in range(PATHS)])
    bytes_ = (np.repeat(size, paths) / (places.ravel() + 2)).astype(np.int64)
    type_paths = pl.DataFrame(
        {
            "dump_id": np.repeat(ids, paths),
            "path": np.tile(np.arange(paths), count),
            "tree": ["dominators"] * (count * paths),
            "name": np.char.add("Type", (places.ravel() % TYPES).astype(str)),
            "fingerprint": prints[places.ravel()],
            "depth": places.ravel() % 12,
            "object_count": bytes_ // 64,
            "total_bytes": bytes_,
        }
    )
    return {"types": types, "type_paths": type_paths, "suspects": suspects,
            DUMPS.name: dumps}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("dumps", type=int)
    parser.add_argument("paths", type=int)
    chosen = parser.parse_args()
    write_rows(chosen.folder, chosen.dumps, chosen.paths)
