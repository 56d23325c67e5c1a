"""Print reports as one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from kapy.testing.conformance.findings import Finding, Report, Result, State

_HEAD: Final = """\
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


def html(reports: Sequence[Report]) -> str:
    """Format all reports; the text ends with a newline."""
    parts = "".join("".join(_report(report)) for report in reports)
    page = f"{_HEAD}{parts}</body>\n</html>\n"
    return page.encode("utf-8", "replace").decode()


def _report(report: Report) -> Iterator[str]:
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
        yield from map(_row, report.with_state(state))
    yield "</table>\n"


def _row(result: Result) -> str:
    rule, state = result.rule, result.state
    value = "".join(map(_item, result.findings))
    text = f"<ul>{value}</ul>" if value else escape(result.reason)
    return (
        f'<tr class="{state.value.replace(" ", "-")}">'
        f'<td><a href="{escape(rule.address)}">{escape(rule.id)}</a><br>{escape(rule.says)}</td>'
        f"<td>{rule.level.value}</td><td>{state.value}</td><td>{text}</td></tr>\n"
    )


def _item(finding: Finding) -> str:
    return (
        f"<li>{escape(finding.place)}: {escape(finding.evidence)} → {escape(finding.remedy)}</li>"
    )
