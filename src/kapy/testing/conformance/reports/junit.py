"""Print reports as JUnit XML: a suite per release, a case per rule that a program can check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kapy.testing.conformance.findings import Report, Result, State

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(reports: Sequence[Report]) -> str:
    """Format all reports as one XML document; the text ends with a newline."""
    root = Element("testsuites")
    for report in reports:
        _suite(root, report)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, report: Report) -> None:
    judged = [element for element in report.results if element.state is not State.AUTHOR]
    broken = len(report.with_state(State.BROKEN))
    passed = len(report.with_state(State.PASSED))
    errors = list(_errors(report))
    suite = SubElement(
        root,
        "testsuite",
        name=_clean(report.name),
        tests=str(len(judged) + len(errors)),
        failures=str(broken),
        errors=str(len(errors)),
        skipped=str(len(judged) - broken - passed),
    )
    for item in judged:
        _case(suite, item)
    for name, message in errors:
        case = SubElement(suite, "testcase", classname="conformance", name=name)
        SubElement(case, "error", message=_clean(message))


def _errors(report: Report) -> Iterator[tuple[str, str]]:
    """Return the errors that are not results of rules."""
    if report.trouble:
        yield "runs", report.trouble
    for leftover in report.leftovers:
        yield f"removed: {_clean(leftover.object)}", f"{leftover.object}: {leftover.remedy}"


def _case(suite: Element, result: Result) -> None:
    rule = result.rule
    case = SubElement(suite, "testcase", classname=rule.document, name=rule.id)
    if result.state is State.BROKEN:
        failure = SubElement(case, "failure", type=rule.level.value, message=rule.says)
        lines = [
            f"{finding.place}: {finding.evidence} → {finding.remedy}" for finding in result.findings
        ]
        failure.text = _clean("\n".join([*lines, rule.address]))
    elif result.state is not State.PASSED:
        SubElement(case, "skipped", message=_clean(f"{result.state.value}: {result.reason}"))


def _clean(text: str) -> str:
    """Remove characters that XML does not allow."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
