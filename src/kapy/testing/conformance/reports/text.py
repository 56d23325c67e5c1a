"""Print reports for people: broken rules and rules that were not run; the rest as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kapy.testing.conformance.findings import UNSEEN, Finding, Report, Result, State
from kapy.testing.conformance.rules import Level


def text(reports: Sequence[Report]) -> str:
    """Format all reports; the text ends with a newline."""
    return "\n".join("\n".join(_lines(one)) + "\n" for one in reports)


def _lines(report: Report) -> Iterator[str]:
    yield report.name
    broken = report.with_state(State.BROKEN)
    for level in Level:
        for result in broken:
            if result.rule.level is level:
                yield from _broken(result)
    unknown = [one for one in report.with_state(State.NOT_RUN) if one.reason != UNSEEN]
    for result in unknown:
        yield ""
        yield f"  not run  {result.rule.id}: {result.reason}"
    for one in report.leftovers:
        yield ""
        yield f"  not removed  {one.object}"
        yield f"        → {one.remedy}"
    yield ""
    yield f"  {_summary(report)}"


def _broken(result: Result) -> Iterator[str]:
    rule = result.rule
    yield ""
    yield f"  {rule.level.value}  {rule.id}: {rule.says}"
    yield f"        {rule.address}"
    for remedy, found in groupby(result.findings, key=lambda one: one.remedy):
        yield from (f"      - {_told(one)}" for one in found)
        yield f"        → {remedy}"


def _told(one: Finding) -> str:
    return f"{one.place}: {one.evidence}"


def _summary(report: Report) -> str:
    counted = Counter(one.state for one in report.results)
    levels = Counter(one.rule.level for one in report.with_state(State.BROKEN))
    broken = ", ".join(f"{levels[one]} {one.value}" for one in Level if levels[one])
    text = {state: f"{counted[state]} {state.value}" for state in State}
    if broken:
        text[State.BROKEN] += f" ({broken})"
    return "; ".join(text.values())
