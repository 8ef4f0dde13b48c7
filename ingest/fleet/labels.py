"""Labels of a fleet's dumps that were corrected after they were read.

The datasets keep the labels with which the dumps were added. A file beside them has the
corrected ones, which questions use.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ingest.errors import IngestError
from ingest.fleet.datasets import DUMPS, NO_PROGRAM
from ingest.fleet.sources import manifest_labels, program_of, seconds_of, time_of
from ingest.system.files import replaced_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.fleet.sources import LabelPattern
    from ingest.fleet.workplace import FleetFolder

_NAME = "labels.json"

COLUMNS = {
    "source": "VARCHAR",
    "program": "VARCHAR",
    "version": "VARCHAR",
    "host": "VARCHAR",
    "taken_at": "TIMESTAMP",
    "uptime_s": "DOUBLE",
    "labels": "VARCHAR",
}
"""The columns of `rows` and their SQL types; together they are a dump's labels."""


class Relabelled(NamedTuple):
    """What was corrected.

    Attributes:
        changed_count: Dumps with other labels than before.
        dump_count: Dumps of the fleet.
    """

    changed_count: int
    dump_count: int


def corrected(fleet: FleetFolder) -> dict[str, dict[str, str]]:
    """The corrected labels, by address; empty if none were corrected."""
    try:
        text = (fleet.folder / _NAME).read_text("utf-8")
    except FileNotFoundError:
        return {}
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def rows(fleet: FleetFolder) -> list[tuple[object, ...]]:
    """The corrected labels as values of `COLUMNS`."""
    return [
        (
            source,
            program_of(labels) or NO_PROGRAM,
            labels.get("version") or None,
            labels.get("host") or None,
            time_of(labels.get("time")),
            seconds_of(labels.get("uptime")),
            json.dumps(dict(sorted(labels.items()))),
        )
        for source, labels in sorted(corrected(fleet).items())
    ]


def relabel(
    fleet: FleetFolder, pattern: LabelPattern | None, manifest: Path | None
) -> Relabelled:
    """Correct labels without reading any dump; other labels stay.

    Args:
        fleet: The fleet.
        pattern: Finds labels in the addresses of its dumps.
        manifest: As for `ingest.fleet.sources.find_sources`; its labels prevail.

    Raises:
        IngestError: the fleet has no dumps, or no label is for any of them.
    """
    listed = {} if manifest is None else manifest_labels(manifest)
    with fleet.locked():
        before = _labels(fleet)
        if not before:
            raise IngestError(f"{fleet.folder} has no fleet with dumps")
        found: dict[str, Mapping[str, str]] = {
            source: (pattern.match(source) if pattern else {}) | listed.get(source, {})
            for source in before
        }
        if not any(found.values()):
            raise IngestError(
                pattern.matches_none(sorted(before))
                if pattern
                else f"{manifest}: no source of it is a dump of the fleet, such as "
                f"{min(before)}"
            )
        after = {source: {**before[source], **found[source]} for source in before}
        changed = {s: labels for s, labels in after.items() if labels != before[s]}
        text = json.dumps(corrected(fleet) | changed, indent=1, sort_keys=True)
        with replaced_file(fleet.folder / _NAME, private=False) as file:
            file.write(text.encode())
    return Relabelled(len(changed), len(before))


def _labels(fleet: FleetFolder) -> dict[str, dict[str, str]]:
    """The labels of all dumps, by address."""
    found: dict[str, dict[str, str]] = {}
    for path in fleet.files(DUMPS):
        frame = pl.read_parquet(path, columns=["source", "labels"])
        found |= {source: json.loads(text or "{}") for source, text in frame.rows()}
    return found | {k: v for k, v in corrected(fleet).items() if k in found}
