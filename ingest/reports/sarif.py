"""What the gate found as SARIF 2.1.0, for code scanning.

A leak has no line of source. Its place is the baseline, where it can be accepted: the
same file in every run. Its path through the heap is a logical location. Services match
results of two runs by ``partialFingerprints``.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from ingest import __version__
from ingest.gate.baseline import DEFAULT_NAME
from ingest.gate.findings import Rule

if TYPE_CHECKING:
    from ingest.gate.findings import Finding
    from ingest.reports.findings import Verdict

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KEY = "heapPath/v1"


def as_sarif(verdict: Verdict) -> str:
    """The log file of one run; known findings are suppressed ones."""
    rules = [
        {
            "id": rule.value,
            "shortDescription": {"text": f"{rule.meaning}."},
            "fullDescription": {"text": f"{rule.meaning}."},
            "help": {"text": "`ingest why` and `ingest what-if` show what to change."},
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
        "results": results,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(finding: Finding, place: str) -> dict[str, object]:
    text = f"{finding.message} {finding.place}"
    if finding.note:
        text += f" ({finding.note})"
    return {
        "ruleId": finding.rule.value,
        "ruleIndex": list(Rule).index(finding.rule),
        "level": "error",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": place},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": finding.place, "kind": "member"}
                ],
            }
        ],
        "partialFingerprints": {_KEY: finding.fingerprint},
    }
