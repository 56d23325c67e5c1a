"""The fault tier: good providers come through bad days; what is wrong on those alone is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.run import judged
from kapy.testing.conformance.subject import Subject
from tests.testing.conformance.behaviour.providers import in_memory
from tests.testing.conformance.test_by_hand import CHECKS, broken, subject

SEEDS: Final = range(4)
GOOD: Final[dict[str, Callable[[], Subject]]] = {
    "bootstrap": partial(subject, "bootstrap-config"),
    "control plane": partial(subject, "control-plane"),
    "ipam": partial(subject, "ipam"),
    "in memory": in_memory,
}
WRONG: Final = [
    ("bootstrap-config", "once"),
    ("control-plane", "once"),
    ("ipam", "release: forgets"),
]
"""Wrong in a way that no day without faults shows."""


async def on_bad_days(provider: Subject, *, light: bool = True) -> Report:
    return await judged(provider, [], light=light, seeds=SEEDS)


@pytest.mark.parametrize("name", GOOD)
async def test_a_good_provider_comes_through_bad_days(name: str) -> None:
    report = await on_bad_days(GOOD[name]())
    assert {one.rule.id: one.findings for one in report.of(State.BROKEN)} == {}
    passed = [one for one in report.of(State.PASSED) if one.rule.name in ("once", "unique")]
    assert {one.reason for one in passed} == {f"{len(SEEDS)} looked at"}


@pytest.mark.parametrize(("role", "wrong"), WRONG)
async def test_what_only_bad_days_show(role: str, wrong: str) -> None:
    assert broken(await judged(subject(role, wrong), CHECKS[role], light=True)) == set()
    assert broken(await on_bad_days(subject(role, wrong))) == {wrong.partition(":")[0]}


async def test_a_bad_day_can_be_had_again() -> None:
    days = [await on_bad_days(subject("control-plane", "once")) for _ in range(2)]
    told = [[finding.evidence for one in day.results for finding in one.findings] for day in days]
    assert told[0] == told[1] != []
