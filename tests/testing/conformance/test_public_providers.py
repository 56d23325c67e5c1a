"""The committed report on public providers says what the program finds, no more and no less."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from kapy.testing.conformance.check import check_releases
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.rules import CheckMethod
from tests.oracle.recorded import PROVIDERS, ROOT

pytestmark = pytest.mark.recorded

PAGE: Final = ROOT / "docs" / "reference" / "conformance-report.md"
_KEPT: Final = re.compile(r"^\| (\S+ v\S+) \| (\d+) \| (\d+) \| (\d+) \| [\d.]+ \|$", re.MULTILINE)
_FINDING: Final = re.compile(r"^\| (\S+ v\S+) \| (\S+/\S+) \| (\w+) \| (\d+) \|", re.MULTILINE)


@cache
def reports() -> list[Report]:
    return check_releases(PROVIDERS)


def called(report: Report) -> str:
    return report.name.replace("/", " ")


def test_the_report_matches_the_findings() -> None:
    page = PAGE.read_text()
    states = (State.PASSED, State.BROKEN, State.NOT_APPLICABLE)
    counts = {
        (called(report), *(str(len(report.with_state(state))) for state in states))
        for report in reports()
    }
    assert set(_KEPT.findall(page)) == counts
    results = {
        (called(report), result.rule.id, result.rule.level.value, str(len(result.findings)))
        for report in reports()
        for result in report.with_state(State.BROKEN)
    }
    assert set(_FINDING.findall(page)) == results


def test_every_static_rule_of_public_providers_could_be_judged() -> None:
    not_run = {
        (called(report), item.rule.id)
        for report in reports()
        for item in report.with_state(State.NOT_RUN)
        if item.rule.checked is CheckMethod.STATIC
    }
    assert not_run == set()
