"""The formats of a conformance report: for people, for programs, for CI and for browsers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from itertools import groupby
from json import dumps
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kapy.testing.conformance.findings import UNSEEN, Finding, Report, Result, State
from kapy.testing.conformance.rules import Level

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HTML_HEAD: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Conformance</title>
<style>
body { font: 15px/1.4 sans-serif; margin: 2em; }
table { border-collapse: collapse; }
td, th { border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top; }
.broken { background: #fdd; }
.passed { background: #dfd; }
</style>
</head>
<body>
<h1>Conformance</h1>
"""


def text(reports: Sequence[Report]) -> str:
    """Format reports for people; the text ends with a newline.

    Broken rules and rules that were not run are listed, the rest is counted.
    """
    return "\n".join("\n".join(_report_lines(report)) + "\n" for report in reports)


def _report_lines(report: Report) -> Iterator[str]:
    yield report.name
    broken = report.with_state(State.BROKEN)
    for level in Level:
        for result in broken:
            if result.rule.level is level:
                yield from _failure_lines(result)
    unknown = [item for item in report.with_state(State.NOT_RUN) if item.reason != UNSEEN]
    for result in unknown:
        yield ""
        yield f"  not run  {result.rule.id}: {result.reason}"
    for leftover in report.leftovers:
        yield ""
        yield f"  not removed  {leftover.object}"
        yield f"        → {leftover.remedy}"
    yield ""
    yield f"  {_summary(report)}"


def _failure_lines(result: Result) -> Iterator[str]:
    rule = result.rule
    yield ""
    yield f"  {rule.level.value}  {rule.id}: {rule.says}"
    yield f"        {rule.address}"
    for remedy, group in groupby(result.findings, key=lambda finding: finding.remedy):
        yield from (f"      - {_finding_line(finding)}" for finding in group)
        yield f"        → {remedy}"


def _finding_line(finding: Finding) -> str:
    return f"{finding.place}: {finding.evidence}"


def _summary(report: Report) -> str:
    counted = Counter(item.state for item in report.results)
    levels = Counter(item.rule.level for item in report.with_state(State.BROKEN))
    broken = ", ".join(f"{levels[level]} {level.value}" for level in Level if levels[level])
    counts = {state: f"{counted[state]} {state.value}" for state in State}
    if broken:
        counts[State.BROKEN] += f" ({broken})"
    return "; ".join(counts.values())


def json(reports: Sequence[Report]) -> str:
    """Format reports as one JSON object with every rule; the text ends with a newline."""
    result = {"releases": [_json_report(report) for report in reports]}
    return dumps(result, indent=2, ensure_ascii=False) + "\n"


def _json_report(report: Report) -> dict[str, Any]:
    worst = report.worst.value if report.worst else None
    return {
        "name": report.name,
        "worst": worst,
        "trouble": report.trouble,
        "remains": list(map(asdict, report.leftovers)),
        "results": list(map(_json_result, report.results)),
    }


def _json_result(result: Result) -> dict[str, Any]:
    rule = result.rule
    return {
        "rule": rule.id,
        "section": rule.section,
        "level": rule.level.value,
        "says": rule.says,
        "when": rule.when,
        "address": rule.address,
        "checked": rule.checked.value,
        "state": result.state.value,
        "reason": result.reason,
        "findings": list(map(_json_finding, result.findings)),
    }


def _json_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding with the key `mend` for its remedy, which readers of reports know."""
    result = asdict(finding)
    result["mend"] = result.pop("remedy")
    return result


def junit(reports: Sequence[Report]) -> str:
    """Format reports as JUnit XML; the text ends with a newline.

    There is a suite for each release, and a case for each rule that a program can check.
    """
    root = Element("testsuites")
    for report in reports:
        _junit_suite(root, report)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _junit_suite(root: Element, report: Report) -> None:
    judged = [element for element in report.results if element.state is not State.AUTHOR]
    broken = len(report.with_state(State.BROKEN))
    passed = len(report.with_state(State.PASSED))
    errors = list(_junit_errors(report))
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
        _junit_case(suite, item)
    for name, message in errors:
        case = SubElement(suite, "testcase", classname="conformance", name=name)
        SubElement(case, "error", message=_clean(message))


def _junit_errors(report: Report) -> Iterator[tuple[str, str]]:
    """Return the errors that are not results of rules."""
    if report.trouble:
        yield "runs", report.trouble
    for leftover in report.leftovers:
        yield f"removed: {_clean(leftover.object)}", f"{leftover.object}: {leftover.remedy}"


def _junit_case(suite: Element, result: Result) -> None:
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


def _clean(value: str) -> str:
    """Remove characters that XML does not allow."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value)


def html(reports: Sequence[Report]) -> str:
    """Format reports as one self-contained HTML page; it ends with a newline."""
    parts = "".join("".join(_html_report(report)) for report in reports)
    page = f"{_HTML_HEAD}{parts}</body>\n</html>\n"
    return page.encode("utf-8", "replace").decode()


def _html_report(report: Report) -> Iterator[str]:
    counted = Counter(item.state for item in report.results)
    summary = "; ".join(f"{counted[state]} {state.value}" for state in State)
    yield f"<h2>{escape(report.name)}</h2>\n<p>{summary}</p>\n"
    if report.trouble:
        yield f"<p>Not everything was looked at: {escape(report.trouble)}</p>\n"
    for leftover in report.leftovers:
        yield f"<p>Not removed: {escape(leftover.object)} → {escape(leftover.remedy)}</p>\n"
    yield "<table>\n"
    yield "<tr><th>rule</th><th>level</th><th>state</th><th></th></tr>\n"
    for state in State:
        yield from map(_html_row, report.with_state(state))
    yield "</table>\n"


def _html_row(result: Result) -> str:
    rule, state = result.rule, result.state
    value = "".join(map(_html_item, result.findings))
    content = f"<ul>{value}</ul>" if value else escape(result.reason)
    return (
        f'<tr class="{state.value.replace(" ", "-")}">'
        f'<td><a href="{escape(rule.address)}">{escape(rule.id)}</a><br>{escape(rule.says)}</td>'
        f"<td>{rule.level.value}</td><td>{state.value}</td><td>{content}</td></tr>\n"
    )


def _html_item(finding: Finding) -> str:
    return (
        f"<li>{escape(finding.place)}: {escape(finding.evidence)} → {escape(finding.remedy)}</li>"
    )


FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {
    "text": text,
    "json": json,
    "junit": junit,
    "html": html,
}
