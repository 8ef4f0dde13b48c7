"""The baseline: known findings, in a file that is easy to merge.

It has one table per entry, sorted by fingerprint, and changes only when a finding comes
or goes: it contains no sizes, no dates of writing, no counts::

    version = 1

    [2-0c6e…]
    rule = "growth"
    path = "static -> ScoreChangedEventHandler -> Object[] -> LevelScreen"
    reason = "the event is cleared when the game ends"
    issue = "https://example.com/issues/12"
    expires = 2027-01-31
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ingest.analysis.fingerprints import RULE_VERSION, rule_of
from ingest.errors import IngestError
from ingest.gate.rules import user_toml
from ingest.system.files import output_file
from ingest.words.command_line import command
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ingest.gate.findings import Finding

VERSION = 1
DEFAULT_NAME = "heaproots-baseline.toml"

_HEAD = f"""\
# Known leaks. `{command("check", "FIRST", "SECOND", "--update-baseline")}`
# adds what it finds, and --prune removes what is gone. Write a reason; issue and
# expires (a date) are optional.
"""
_KEYS = ("rule", "path", "reason", "issue", "expires")
_FINGERPRINT = re.compile(r"([0-9]{1,9})-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One known finding.

    Attributes:
        rule, path: Rule and path of the finding, for people.
        reason: Why it is accepted.
        issue: A link to an issue.
        expires: The last day on which it is accepted; ``None`` for ever.
    """

    rule: str
    path: str
    reason: str = ""
    issue: str = ""
    expires: datetime.date | None = None


Baseline = dict[str, Entry]
"""Entries by fingerprint."""


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """Findings against a baseline.

    Attributes:
        new: Findings that the baseline does not have, or no longer accepts.
        known: Findings that it accepts.
        unused: Entries without a finding.
    """

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    unused: Mapping[str, Entry]


def read_baseline(path: Path, *, prune: bool = False) -> Baseline:
    """The entries of a file.

    Args:
        path: The file.
        prune: Whether entries that are not found will be removed; then entries of an
            earlier rule of fingerprints are accepted.

    Raises:
        IngestError: The file is broken, has the marks of a merge conflict, is of a
            newer version, or has fingerprints of another rule.
    """
    try:
        table = user_toml(path)
    except IngestError as error:
        if re.search(r"^(<<<<<<<|=======|>>>>>>>)", _text(path), re.MULTILINE):
            raise IngestError(
                f"{path} has the marks of a merge conflict; keep the entries of both "
                "sides"
            ) from error
        raise
    version = table.pop("version", None)
    if type(version) is not int:
        raise IngestError(f"{path} is not a baseline: it has no version")
    if version > VERSION:
        raise IngestError(
            f"{path} has version {version}, of a later heaproots; this one reads "
            f"version {VERSION}"
        )
    found = {key: _entry(path, key, value) for key, value in table.items()}
    for rule in sorted({rule_of(key) for key in found}):
        if rule > RULE_VERSION:
            raise IngestError(
                f"{path} has fingerprints of rule {rule}, of a later heaproots; this "
                f"one has rule {RULE_VERSION}"
            )
        if rule < RULE_VERSION and not prune:
            raise IngestError(
                f"{path} has fingerprints of rule {rule}, and this version has rule "
                f"{RULE_VERSION}: run once with --update-baseline --prune, and copy "
                "the reasons from the old file"
            )
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _entry(path: Path, key: str, value: object) -> Entry:
    if not _FINGERPRINT.fullmatch(key):
        raise IngestError(f"{path}: {key!r} is not a fingerprint")
    if not isinstance(value, dict):
        raise IngestError(f"{path}: {key} is not a table")
    for name, found in value.items():
        if name not in _KEYS:
            raise IngestError(
                f"{path}: unknown key {name!r} in {key}; known are {', '.join(_KEYS)}"
            )
        wanted = datetime.date if name == "expires" else str
        if not isinstance(found, wanted) or isinstance(found, datetime.datetime):
            what = "a date, such as 2027-01-31" if name == "expires" else "a text"
            raise IngestError(f"{path}: {name} of {key} must be {what}")
    return Entry(**{"rule": "", "path": "", **value})


def compared(
    findings: Iterable[Finding], baseline: Baseline, today: datetime.date
) -> BaselineComparison:
    """Tell new findings from known ones."""
    new, known, met = [], [], set()
    for finding in findings:
        entry = baseline.get(finding.fingerprint)
        if entry is None:
            new.append(finding)
            continue
        met.add(finding.fingerprint)
        if entry.expires is not None and entry.expires < today:
            note = f"the baseline accepted it until {entry.expires}"
            new.append(replace(finding, note=note))
        else:
            known.append(replace(finding, note=entry.reason))
    unused = {key: entry for key, entry in baseline.items() if key not in met}
    return BaselineComparison(tuple(new), tuple(known), unused)


def updated(
    baseline: Baseline, found: BaselineComparison, *, add: bool, prune: bool
) -> Baseline:
    """The baseline with new findings, or without unused entries.

    An existing entry keeps its reason; an expired one is not renewed.
    """
    entries = {
        key: entry
        for key, entry in baseline.items()
        if not (prune and key in found.unused)
    }
    if add:
        for finding in found.new:
            place = printable(finding.place)
            entries.setdefault(finding.fingerprint, Entry(finding.rule.value, place))
    return entries


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Replace the whole file, or nothing.

    Raises:
        IngestError: It cannot be written.
    """
    lines = [_HEAD, f"version = {VERSION}\n"]
    for key, entry in sorted(baseline.items()):
        lines.append(f"\n[{key}]\n")
        for name in _KEYS:
            value = getattr(entry, name)
            if name == "expires" and value is not None:
                lines.append(f"expires = {value.isoformat()}\n")
            elif value or name == "reason":
                text = json.dumps(printable(value), ensure_ascii=False)
                lines.append(f"{name} = {text}\n")
    with output_file(path, force=True, private=False) as file:
        file.write("".join(lines).encode("utf-8", "replace"))
