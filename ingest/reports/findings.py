"""The findings of the gate, in all their output formats.

JUnit XML has a test for each rule and each finding.

Source: the format that Jenkins, GitLab and others read, which has no standard. The
strictest schema in use is that of the Jenkins xUnit plugin.

SARIF 2.1.0 is for code scanning. The place of a finding is the line of source that
makes or holds its objects. If the dump does not say it, it is the baseline, where the
finding can be accepted, and which is the same file in every run. Its path through the
heap is a logical location. Services match results of two runs by
``partialFingerprints``.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from ingest import __version__
from ingest.gate.baseline import DEFAULT_NAME
from ingest.gate.findings import Rule
from ingest.reports.paths import path_text
from ingest.reports.render import folded, markdown_text
from ingest.words.command_line import command
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from ingest.gate.baseline import BaselineComparison
    from ingest.gate.findings import Finding, Judged, SourcePlace


JSON_VERSION = 1
"""Version of `as_json`: raised if a member or its meaning changes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check, to be reported.

    Attributes:
        judged: The findings, and the dumps.
        compared: The findings compared with the baseline.
        baseline: The baseline's file; empty if there is none.
        strict: Whether entries of the baseline that are not found are an error.
        allow_incomplete: Whether incomplete dumps may be judged.
    """

    judged: Judged
    compared: BaselineComparison
    baseline: str = ""
    strict: bool = False
    allow_incomplete: bool = False

    @property
    def is_conclusive(self) -> bool:
        """Whether the dumps allow a verdict."""
        return self.allow_incomplete or not self.judged.incomplete

    @property
    def is_clean(self) -> bool:
        """Whether the check passes."""
        return (
            self.is_conclusive
            and not self.compared.new
            and not (self.strict and self.compared.unused)
        )

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        new, known = len(self.compared.new), len(self.compared.known)
        text = f"{new:,} finding{'s' * (new != 1)}" if new else "No findings"
        if not self.is_conclusive:
            text = (
                f"No verdict, because a dump is incomplete: {text[0].lower()}{text[1:]}"
            )
        if known:
            text += f", {known:,} known from the baseline"
        if self.strict and self.compared.unused:
            text += f", {len(self.compared.unused):,} unused in the baseline"
        return text + "."

    @property
    def prune_advice(self) -> str:
        """How an entry of the baseline is removed; empty if it may still be true.

        One dump, or a part of one, does not show that a leak is gone.
        """
        is_shown = not self.judged.incomplete and len(self.judged.dumps) > 1
        return "; --prune removes it" if is_shown else ""

    @property
    def remarks(self) -> list[str]:
        """Notes on the comparison, and on the baseline."""
        unused = [
            f"{self.baseline} has an entry that no longer occurs: "
            f"{key} ({entry.path}){self.prune_advice}"
            for key, entry in self.compared.unused.items()
        ]
        first = [] if self.is_conclusive else [_TAKE_ANOTHER]
        return [*first, *self.judged.notes, *unused]


_TAKE_ANOTHER = (
    "Take the dump again, or judge what there is with --allow-incomplete. A leak in "
    "what is missing is not found then."
)


def _dumps(verdict: Verdict) -> list[str]:
    return [
        f"{dump.name}: {counted(dump.reachable_count, 'objects')}, "
        f"{human_bytes(dump.reachable_bytes)} reachable"
        for dump in verdict.judged.dumps
    ]


def as_text(verdict: Verdict) -> str:
    """The verdict for a terminal."""
    text = "".join(folded(printable(line), "") for line in verdict.judged.incomplete)
    text += "\n" * bool(text)
    text += folded(verdict.headline, "")
    for number, finding in enumerate(verdict.compared.new, start=1):
        text += "\n" + folded(
            f"{number}. {finding.rule.meaning}. {printable(finding.told)}",
            hanging="   ",
        )
        text += folded(printable(finding.place), "     ", "  ")
        if finding.source is not None:
            text += folded(f"source {printable(_source(finding.source))}", "     ")
        text += folded(f"fingerprint {finding.fingerprint}", "     ")
        if finding.example:
            text += folded("For example:", "     ") + path_text(finding.example, None)
        if finding.note:
            text += folded(printable(finding.note), "     ")
    for finding in verdict.compared.known:
        reason = f" ({printable(finding.note)})" if finding.note else ""
        text += "\n" + folded(f"Known{reason}: {printable(finding.place)}")
    text += "\n" + "".join(folded(printable(line), "") for line in _dumps(verdict))
    for remark in verdict.remarks:
        text += "\n" + folded(f"note: {printable(remark)}", "")
    return text


def as_markdown(verdict: Verdict) -> str:
    """The verdict as a comment for a pull request."""
    mark = "✅" if verdict.is_clean else "❌"
    lines = [f"### {mark} Heap check: {markdown_text(verdict.headline)}", ""]
    for line in verdict.judged.incomplete:
        lines += [markdown_text(line), ""]
    if verdict.compared.new:
        lines += ["| finding | path |", "| --- | --- |"]
        for finding in verdict.compared.new:
            note = f" {markdown_text(finding.note)}" if finding.note else ""
            steps = "<br>".join(map(markdown_text, finding.path))
            lines.append(
                f"| **{finding.rule.meaning}.** {markdown_text(finding.told)}"
                f"{note}<br>`{finding.fingerprint}` | {steps} |"
            )
        lines.append("")
    lines += [f"- {markdown_text(line)}" for line in _dumps(verdict)]
    lines += [f"- Note: {markdown_text(line)}" for line in verdict.remarks]
    if verdict.compared.known:
        known = len(verdict.compared.known)
        lines += ["", f"<details><summary>{known:,} known</summary>", ""]
        for finding in verdict.compared.known:
            reason = f": {markdown_text(finding.note)}" if finding.note else ""
            lines.append(f"- {markdown_text(finding.place)}{reason}")
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def as_json(verdict: Verdict) -> str:
    """The verdict for programs; see `JSON_VERSION`."""
    facts = {
        "schema": "heaproots-check",
        "version": JSON_VERSION,
        "tool_version": __version__,
        "clean": verdict.is_clean,
        "dumps": [
            {
                "name": dump.name,
                "format": dump.format_name,
                "sha256": None if dump.identity is None else dump.identity.sha256,
                "part": None if dump.identity is None else dump.identity.part,
                "reachable_objects": dump.reachable_count,
                "reachable_bytes": dump.reachable_bytes,
                "incomplete": dump.incomplete or None,
            }
            for dump in verdict.judged.dumps
        ],
        "conclusive": verdict.is_conclusive,
        "incomplete": list(verdict.judged.incomplete),
        "findings": [_fact(finding) for finding in verdict.compared.new],
        "known": [_fact(finding) for finding in verdict.compared.known],
        "unused_baseline": sorted(verdict.compared.unused),
        "notes": verdict.judged.notes,
    }
    return json.dumps(facts, indent=2) + "\n"


def _fact(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule.value,
        "fingerprint": finding.fingerprint,
        "path": list(finding.path),
        "message": finding.message,
        "sentence": finding.sentence,
        "counts": list(finding.counts),
        "confidence": finding.confidence,
        "below": list(finding.below),
        "note": finding.note,
        "source": None if finding.source is None else finding.source._asdict(),
        "example": list(finding.example),
    }


def as_annotations(verdict: Verdict) -> str:
    """Workflow commands of GitHub that annotate the run.

    Source: GitHub, "Workflow commands for GitHub Actions".
    """
    level = "warning" if verdict.is_conclusive else "error"
    lines = [
        f"::{level} title=Incomplete dump::{_data(line)}"
        for line in verdict.judged.incomplete
    ]
    lines += [
        f"::error {_annotated(finding.source)}"
        f"title={_property(finding.rule.meaning)}::"
        + _data(f"{finding.told} {finding.place} [{finding.fingerprint}]")
        for finding in verdict.compared.new
    ]
    lines += [f"::warning::{_data(remark)}" for remark in verdict.remarks]
    lines.append(f"::notice::{_data(verdict.headline)}")
    return "\n".join(lines) + "\n"


def _annotated(source: SourcePlace | None) -> str:
    """The file and line of an annotation; empty if unknown."""
    if source is None:
        return ""
    uri = _property(unquote(_uri(source.file)))
    return f"file={uri},line={max(source.line, 1)},"


def _source(source: SourcePlace) -> str:
    """A place as text, with the file relative to this folder if it is in it."""
    numbers = [str(number) for number in (source.line, source.column) if number]
    return ":".join((unquote(_uri(source.file)), *numbers))


def _uri(file: str) -> str:
    """The address of a source file, relative to this folder if it is in it."""
    name = unquote(file.removeprefix("file://")) if "file://" in file[:7] else file
    if "://" in name:
        return name
    path, here = PurePath(name), Path.cwd()
    if not path.is_absolute():
        return quote(name.replace("\\", "/"))
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return path.as_uri()


def _data(text: str) -> str:
    """Escape text of a workflow command, so that it cannot begin another command."""
    text = printable(text).replace("%", "%25")
    return text.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(verdict: Verdict) -> str:
    """One suite; a rule without findings is a test that passed."""
    new, known = verdict.compared.new, verdict.compared.known
    unused = verdict.compared.unused if verdict.strict else {}
    suite = ElementTree.Element("testsuite", name="heaproots check")
    tests = len(verdict.judged.incomplete)
    for line in verdict.judged.incomplete:
        case = _case(suite, "incomplete", _text(line))
        if verdict.is_conclusive:
            ElementTree.SubElement(case, "skipped", message=_text(line))
        else:
            ElementTree.SubElement(case, "error", message=_text(line))
    for rule in Rule:
        of_rule = [finding for finding in new if finding.rule is rule]
        accepted = [finding for finding in known if finding.rule is rule]
        for finding in (*of_rule, *accepted):
            case = _case(suite, rule.value, finding.place)
            if finding in of_rule:
                failure = ElementTree.SubElement(
                    case, "failure", message=_text(finding.told), type=rule.value
                )
                failure.text = _text(
                    "\n".join((*finding.path, finding.fingerprint, finding.note))
                )
            else:
                why = _text(finding.note or "in the baseline")
                ElementTree.SubElement(case, "skipped", message=why)
        if not of_rule and not accepted:
            _case(suite, rule.value, rule.meaning)
        tests += max(len(of_rule) + len(accepted), 1)
    for key, entry in unused.items():
        case = _case(suite, "baseline", entry.path or key)
        message = _text(f"{key} no longer occurs{verdict.prune_advice}")
        ElementTree.SubElement(case, "failure", message=message, type="baseline")
    suite.set("tests", str(tests + len(unused)))
    suite.set("failures", str(len(new) + len(unused)))
    lacking = len(verdict.judged.incomplete)
    suite.set("errors", str(0 if verdict.is_conclusive else lacking))
    suite.set("skipped", str(len(known) + (lacking if verdict.is_conclusive else 0)))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + (
        ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def _case(suite: ElementTree.Element, rule: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=f"heaproots.{rule}", name=_text(name), time="0"
    )


def _text(text: str) -> str:
    """Text without characters that XML cannot have."""
    return _NO_XML.sub("�", "\n".join(map(printable, text.split("\n"))))


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KEY = "heapPath/v1"


def as_sarif(verdict: Verdict) -> str:
    """The SARIF log of one run; known findings are suppressed."""
    rules = [
        {
            "id": rule.value,
            "shortDescription": {"text": f"{rule.meaning}."},
            "fullDescription": {"text": f"{rule.meaning}."},
            "help": {"text": f"`{command('what-if', 'DUMP')}` shows what to change."},
            "defaultConfiguration": {"level": "error"},
        }
        for rule in Rule
    ]
    place = quote(PurePath(verdict.baseline or DEFAULT_NAME).name)
    results = [_result(finding, place) for finding in verdict.compared.new]
    for finding in verdict.compared.known:
        why = finding.note or "in the baseline"
        suppression = {"kind": "external", "justification": why}
        results.append(_result(finding, place) | {"suppressions": [suppression]})
    run = {
        "tool": {
            "driver": {
                "name": "heaproots",
                "version": __version__,
                "rules": rules,
            }
        },
        "automationDetails": {"id": "heaproots/check/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": verdict.is_conclusive,
                "toolExecutionNotifications": [
                    {
                        "level": "warning" if verdict.is_conclusive else "error",
                        "message": {"text": line},
                    }
                    for line in verdict.judged.incomplete
                ],
            }
        ],
        "results": results,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(finding: Finding, place: str) -> dict[str, object]:
    text = f"{finding.told} {finding.place}"
    if finding.note:
        text += f" ({finding.note})"
    uri, region = place, {"startLine": 1}
    if (source := finding.source) is not None:
        uri, region = _uri(source.file), {"startLine": max(source.line, 1)}
        if source.column:
            region["startColumn"] = source.column
    return {
        "ruleId": finding.rule.value,
        "ruleIndex": list(Rule).index(finding.rule),
        "level": "error",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": region,
                },
                "logicalLocations": [
                    {"fullyQualifiedName": finding.place, "kind": "member"}
                ],
            }
        ],
        "partialFingerprints": {_KEY: finding.fingerprint},
    }
