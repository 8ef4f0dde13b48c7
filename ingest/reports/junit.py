"""What the gate found as JUnit XML: a test for each rule and each finding.

Source: the form that Jenkins, GitLab and others read; it has no standard. The schema of
the Jenkins xUnit plugin is the strictest in use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ingest.gate.findings import Rule
from ingest.text import printable

if TYPE_CHECKING:
    from ingest.reports.findings import Verdict

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(verdict: Verdict) -> str:
    """One suite; a rule without findings is a test that passed."""
    new, known = verdict.compared.new, verdict.compared.known
    unused = verdict.compared.unused if verdict.strict else {}
    suite = ElementTree.Element("testsuite", name="heaproots check")
    tests = 0
    for rule in Rule:
        of_rule = [finding for finding in new if finding.rule is rule]
        accepted = [finding for finding in known if finding.rule is rule]
        for finding in (*of_rule, *accepted):
            case = _case(suite, rule.value, finding.place)
            if finding in of_rule:
                failure = ElementTree.SubElement(
                    case, "failure", message=_text(finding.message), type=rule.value
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
        message = _text(f"{key} is not found any more; --prune removes it")
        ElementTree.SubElement(case, "failure", message=message, type="baseline")
    suite.set("tests", str(tests + len(unused)))
    suite.set("failures", str(len(new) + len(unused)))
    suite.set("errors", "0")
    suite.set("skipped", str(len(known)))
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
