"""The rule that the fingerprints of a fleet's dumps follow.

Fingerprints of different rules are never equal: beside dumps of another rule, each leak
would count as another one, and an old one as new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.analysis.fingerprints import RULE_VERSION, rule_of
from ingest.errors import IngestError
from ingest.fleet.datasets import LIGHT, partition

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ingest.fleet.workplace import FleetFolder

_COLUMN = "fingerprint"
_DATASETS = [dataset for dataset in LIGHT if _COLUMN in dataset.schema]


def check_new_dumps(fleet: FleetFolder) -> None:
    """Make sure that dumps of this version can be added.

    Raises:
        IngestError: those that are there have fingerprints of another rule.
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
    """Make sure that leaks of dumps can be compared.

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
            "old leaks would count as new: add the files to another folder with "
            "ingest fleet add"
        )
    return rules[0] if rules else 0


def _rules(paths: Iterable[Path]) -> set[int]:
    found = set[int]()
    for path in paths:
        file = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        if _COLUMN in file.collect_schema():
            # Where there are several rules, the first and the last are two of them.
            column = pl.col(_COLUMN)
            ends = file.select(a=column.min(), b=column.max()).collect().row(0)
            found |= {rule_of(end) for end in ends if end is not None}
    return found - {0}


def _named(rules: list[int]) -> str:
    words = [str(rule) for rule in rules]
    if len(words) == 1:
        return f"rule {words[0]}"
    return f"rules {', '.join(words[:-1])} and {words[-1]}"
