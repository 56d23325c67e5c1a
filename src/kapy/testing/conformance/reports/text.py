"""Print reports for people: broken rules and rules that were not run; the rest as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kapy.testing.conformance.findings import UNSEEN, Finding, Report, Result, State
from kapy.testing.conformance.rules import Level


def text(reports: Sequence[Report]) -> str:
    """Format all reports; the text ends with a newline."""
    return "\n".join("\n".join(_lines(report)) + "\n" for report in reports)


def _lines(report: Report) -> Iterator[str]:
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
    text = {state: f"{counted[state]} {state.value}" for state in State}
    if broken:
        text[State.BROKEN] += f" ({broken})"
    return "; ".join(text.values())
