"""Print reports as JSON: every rule with its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from json import dumps
from typing import Any

from kapy.testing.conformance.findings import Finding, Report, Result


def json(reports: Sequence[Report]) -> str:
    """Format all reports as one object; the text ends with a newline."""
    result = {"releases": [_report(report) for report in reports]}
    return dumps(result, indent=2, ensure_ascii=False) + "\n"


def _report(report: Report) -> dict[str, Any]:
    worst = report.worst.value if report.worst else None
    return {
        "name": report.name,
        "worst": worst,
        "trouble": report.trouble,
        "remains": list(map(asdict, report.leftovers)),
        "results": list(map(_result, report.results)),
    }


def _result(result: Result) -> dict[str, Any]:
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
        "findings": list(map(_finding, result.findings)),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """Return a finding with the key `mend` for its remedy, which readers of reports know."""
    result = asdict(finding)
    result["mend"] = result.pop("remedy")
    return result
